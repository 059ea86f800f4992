"""Writes the licences of the crates in our binaries, with their texts, and the bill of materials.

    python release/licences.py DIRECTORY

The files have no times and no paths of this machine: the same Cargo.lock gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from bill_of_materials import bill_of_materials
from linked import ROOT, Crate, Linked, linked

TEXTS = "THIRD-PARTY-LICENSES.txt"
BILL = "mcpool.cdx.json"
FILE_NAMES = re.compile(r"(un)?licen[sc]e|copying|copyright|notice", re.IGNORECASE)
# Some crates have a directory for the licences of code that they took over.
DIRECTORIES = re.compile(r"\.?licen[sc]es?", re.IGNORECASE)
RULE = "=" * 80


def texts_of(crate: Crate) -> list[str]:
    """The texts that a crate comes with, or the text of its licence if it comes with none."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in licence_files(crate.source)]
    return [text.replace("\r\n", "\n").strip() for text in texts] or [standard_text(crate)]


def licence_files(source: Path) -> Iterator[Path]:
    for path in sorted(source.iterdir()):
        if path.is_dir() and DIRECTORIES.fullmatch(path.name):
            yield from sorted(file for file in path.iterdir() if file.is_file())
        elif path.is_file() and FILE_NAMES.match(path.name):
            yield path


def standard_text(crate: Crate) -> str:
    """The text of the MIT licence, with the holders that the manifest names."""
    choices = crate.licence.split(" OR ")
    assert "MIT" in choices, f"{crate.name} {crate.version} ({crate.licence}) has no text of its licence"
    holders = ", ".join(re.sub(r" *<.*>", "", author) for author in crate.authors)
    grant = (ROOT / "LICENSE-MIT").read_text().partition("Permission is hereby granted")
    holder = holders or f"the authors of {crate.name}"
    return f"MIT License\n\nCopyright (c) {holder}\n\n{''.join(grant[1:]).strip()}"


def licence_file(parts: Linked) -> str:
    """A list of the crates, then each text once, with the crates that it belongs to."""
    # Texts that differ in white space only are one text.
    texts: dict[str, str] = {}
    users: dict[str, list[str]] = {}
    for crate in parts.crates:
        for text in texts_of(crate):
            words = " ".join(text.split())
            texts.setdefault(words, text)
            names = users.setdefault(words, [])
            name = f"{crate.name} {crate.version}"
            if name not in names:
                names.append(name)
    lines = [
        f"mcpool {parts.version}: licences of third parties",
        "",
        "The binaries of mcpool contain the Rust crates below, some of them on one platform only.",
        "The texts of their licences follow the list. mcpool's own licences are not repeated here.",
        "Rust's standard library is in them too: MIT OR Apache-2.0, copyright The Rust Project Contributors.",
        "",
        *(f"{crate.name} {crate.version}: {crate.licence}" for crate in parts.crates),
    ]
    for words, text in texts.items():
        lines += ["", RULE, *wrapped(users[words]), RULE, "", text]
    return "\n".join(lines) + "\n"


def wrapped(names: list[str]) -> list[str]:
    """The names of a text's crates, in lines of readable length."""
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) > 78:
            lines.append("")
        lines[-1] += f", {name}" if lines[-1] else name
    return [line + ("," if line is not lines[-1] else "") for line in lines]


def main() -> None:
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    parts = linked()
    (directory / TEXTS).write_text(licence_file(parts), encoding="utf-8")
    bill = json.dumps(bill_of_materials(parts), indent=1, ensure_ascii=False)
    (directory / BILL).write_text(bill + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
