"""Knows every place that repeats the version, and changes them together.

    python release/version.py show
    python release/version.py set 0.2.0 [--root DIRECTORY]
    python release/version.py check-tag v0.2.0
    python release/version.py notes v0.2.0

The version is that of Cargo.toml's workspace; maturin reads it from there, and so do the crates.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+(-rc\.\d+)?")
CRATES = ["mcpool", "mcpool-fixture", "mcpool-node", "mcpool-python"]


def current(root: Path) -> str:
    """The version of the workspace."""
    found = re.search(r'^\[workspace\.package\]\nversion = "(.+)"$', read(root / "Cargo.toml"), re.MULTILINE)
    assert found, "Cargo.toml has no version below [workspace.package]"
    return found[1]


def set_version(root: Path, new: str) -> None:
    """Writes the version into every manifest and lock file, and begins its entry of the changelog."""
    old = current(root)
    replace(
        root / "Cargo.toml",
        f'[workspace.package]\nversion = "{old}"',
        f'[workspace.package]\nversion = "{new}"',
    )
    for lock, crates in {"Cargo.lock": CRATES, "fuzz/Cargo.lock": ["mcpool"]}.items():
        for crate in crates:
            head = f'name = "{crate}"\nversion = '
            replace(root / lock, f'{head}"{old}"', f'{head}"{new}"')
    for manifest in ["package.json", "package-lock.json"]:
        write(root / manifest, npm_manifest(json.loads(read(root / manifest)), new))
    write(root / "CHANGELOG.md", with_entry(read(root / "CHANGELOG.md"), new))


def npm_manifest(manifest: dict[str, Any], new: str) -> str:
    """An npm manifest or lock file with the new version, also of the packages that hold our binaries."""
    locked: dict[str, dict[str, Any]] = manifest.get("packages", {})
    ours = [
        package for path, package in locked.items() if not path or path.startswith("node_modules/@mcpool/")
    ]
    for package in [manifest, *ours]:
        package["version"] = new
        binaries = package.get("optionalDependencies", {})
        binaries.update({name: new for name in binaries if name.startswith("@mcpool/")})
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def with_entry(changelog: str, new: str) -> str:
    """The changelog with what was unreleased as the entry of a version; an entry that exists stays."""
    if f"\n## [{new}]" in changelog:
        return changelog
    assert "\n## [Unreleased]\n" in changelog, "CHANGELOG.md has no section [Unreleased]"
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return changelog.replace("\n## [Unreleased]\n", f"\n## [Unreleased]\n\n## [{new}] - {today}\n", 1)


def check_tag(root: Path, tag: str) -> str | None:
    """What is wrong with a tag. Asked before anything is published, since no version can be replaced."""
    version = current(root)
    if tag != f"v{version}":
        return f"the tag is {tag}, but Cargo.toml has {version}"
    if not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", read(root / "CHANGELOG.md"), re.MULTILINE
    ):
        return f"CHANGELOG.md has no dated entry for {version}; `make set-version VERSION={version}` makes it"
    if "repository" not in json.loads(read(root / "package.json")):
        return "package.json names no repository, without which npm refuses provenance"
    if "is not released yet" in read(root / "README.md"):
        return "README.md says that the version is not released yet"
    return None


def notes(root: Path, tag: str) -> str:
    """What the changelog says about the version of a tag."""
    entry = rf"^## \[{re.escape(tag.removeprefix('v'))}\].*\n((?:(?!## |\[.+\]: ).*\n)*)"
    found = re.search(entry, read(root / "CHANGELOG.md"), re.MULTILINE)
    assert found, f"CHANGELOG.md has no entry for {tag}"
    return found[1].strip()


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def replace(path: Path, old: str, new: str) -> None:
    """Replaces what must be there exactly once."""
    text = read(path)
    assert text.count(old) == 1, f"{path.name} has {old!r} {text.count(old)} times"
    write(path, text.replace(old, new))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["show", "set", "check-tag", "notes"])
    parser.add_argument("value", nargs="?", default="", help="the version, or the tag")
    parser.add_argument("--root", type=Path, default=ROOT)
    asked = parser.parse_args()
    if asked.action == "show":
        print(current(asked.root))
        return
    if asked.action == "check-tag":
        sys.exit(check_tag(asked.root, asked.value))
    if asked.action == "notes":
        print(notes(asked.root, asked.value))
        return
    if not VERSION.fullmatch(asked.value):
        parser.error(f"{asked.value!r} is not a version like 0.2.0 or 0.2.0-rc.1")
    set_version(asked.root, asked.value)


if __name__ == "__main__":
    main()
