"""Checks that every package in a directory has the files that it must not be published without.

    python release/contents.py dist

Ends with 1 and a list if something is missing, and if there is no package at all.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

OWN = ["*LICENSE-APACHE", "*LICENSE-MIT"]
# Beside a binary: the licences of what is linked into it, and the bill of materials.
LINKED = ["*/THIRD-PARTY-LICENSES.txt", "*/mcpool.cdx.json"]


def names_of_zip(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def names_of_tar(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return archive.getnames()


def needed(path: Path, names: list[str]) -> list[str]:
    """Patterns, each of which some file of the package must match."""
    if path.suffix == ".whl":
        return [*OWN, "*.dist-info/licenses" + LINKED[0], "*.dist-info/sboms" + LINKED[1].removeprefix("*")]
    if path.suffix == ".crate":
        return [*OWN, "*/README.md", "*/Cargo.lock", "*/schema/mcpool.schema.json"]
    if any(name.endswith(".node") for name in names):
        return [*OWN, *LINKED]
    return OWN


def missing(directory: Path) -> list[str]:
    """What is wrong, one line for each file that a package lacks."""
    readers: dict[str, Callable[[Path], list[str]]] = {
        "*.whl": names_of_zip,
        "*.tar.gz": names_of_tar,
        "*.tgz": names_of_tar,
        "*.crate": names_of_tar,
    }
    packages = [(path, read) for pattern, read in readers.items() for path in sorted(directory.glob(pattern))]
    lacks = [] if packages else [f"{directory} has no package"]
    for path, read in packages:
        names = read(path)
        patterns = needed(path, names)
        lacks += [
            f"{path.name} lacks {want}" for want in patterns if not any(fnmatch(name, want) for name in names)
        ]
        print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1024:.0f} KiB")
    return lacks


if __name__ == "__main__":
    sys.exit("\n".join(missing(Path(sys.argv[1]))) or None)
