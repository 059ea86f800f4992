"""Knows which crates are linked into the binaries that we publish, on any platform that we publish for.

Crates that only run while something is built (build scripts, macros, tests) are no part of a binary.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# The program, the Python extension and the Node extension.
BINARIES = ["mcpool", "mcpool-python", "mcpool-node"]
# One target per platform whose dependencies can differ.
TARGETS = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
]


# Name and version of a crate.
Key = tuple[str, str]


@dataclass(frozen=True, order=True)
class Crate:
    """A crate of the registry, as unpacked by cargo."""

    name: str
    version: str
    licence: str
    authors: tuple[str, ...]
    description: str
    repository: str
    checksum: str
    source: Path
    dependencies: tuple[Key, ...]

    @property
    def key(self) -> Key:
        return self.name, self.version


@dataclass(frozen=True)
class Linked:
    """What the binaries consist of, besides our own code."""

    version: str
    crates: list[Crate]
    direct: tuple[Key, ...]


def cargo(*arguments: str) -> str:
    """What cargo prints; the lock file stays as it is."""
    command = ["cargo", arguments[0], "--locked", *arguments[1:]]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def linked_on(target: str) -> set[Key]:
    """The crates that are linked for a target, without our own."""
    packages = [argument for name in BINARIES for argument in ("-p", name)]
    edges = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    lines = cargo("tree", *packages, "--target", target, *edges).splitlines()
    # A line is "name v1.2.3", or "name v1.2.3 (/path)" for a crate of ours; "(*)" marks a repetition.
    words = [line.removesuffix(" (*)").split() for line in lines if line]
    return {(name, version.removeprefix("v")) for name, version, *path in words if not path}


def linked() -> Linked:
    """The crates that are linked on any platform, in order."""
    wanted = set().union(*(linked_on(target) for target in TARGETS))
    metadata = json.loads(cargo("metadata", "--format-version", "1"))
    packages = {package["id"]: package for package in metadata["packages"]}
    checksums = locked_checksums()
    crates, direct, version = [], set(), ""
    for node in metadata["resolve"]["nodes"]:
        package = packages[node["id"]]
        used = {key_of(packages[edge["pkg"]]) for edge in node["deps"] if is_linked(edge)} & wanted
        if key_of(package) in wanted:
            crates.append(crate_of(package, checksums[key_of(package)], tuple(sorted(used))))
        elif package["name"] in BINARIES:
            direct |= used
            version = package["version"]
    missing = wanted - {crate.key for crate in crates}
    assert not missing, f"cargo metadata does not have {sorted(missing)}"
    return Linked(version, sorted(crates), tuple(sorted(direct)))


def locked_checksums() -> dict[Key, str]:
    """The SHA-256 of each crate's archive."""
    entry = r'^name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"$'
    found = re.findall(entry, (ROOT / "Cargo.lock").read_text(), re.MULTILINE)
    return {(name, version): checksum for name, version, checksum in found}


def key_of(package: dict[str, Any]) -> Key:
    return package["name"], package["version"]


def is_linked(edge: dict[str, Any]) -> bool:
    """Whether a dependency is a normal one, neither for the build nor for tests."""
    return any(kind["kind"] is None for kind in edge["dep_kinds"])


def crate_of(package: dict[str, Any], checksum: str, dependencies: tuple[Key, ...]) -> Crate:
    # Cargo still accepts a slash for OR, which SPDX does not know.
    licence = " OR ".join((package["license"] or "").split("/"))
    return Crate(
        name=package["name"],
        version=package["version"],
        licence=" ".join(licence.split()),
        authors=tuple(package["authors"]),
        description=" ".join((package["description"] or "").split()),
        repository=package["repository"] or "",
        checksum=checksum,
        source=Path(package["manifest_path"]).parent,
        dependencies=dependencies,
    )
