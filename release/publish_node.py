"""Publishes the npm packages of a directory, those with binaries first.

    python release/publish_node.py dist [--dry-run]

Nobody can then install the main package without a binary. A package that is published already is left out, so
that a run that broke off can be repeated.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any


def manifest_of(path: Path) -> dict[str, Any]:
    """The package.json within a package."""
    with tarfile.open(path) as archive:
        file = archive.extractfile("package/package.json")
        assert file, f"{path.name} has no package.json"
        manifest: dict[str, Any] = json.load(file)
    return manifest


def is_published(name: str, version: str) -> bool:
    """Whether the registry has this version; what it does not know at all is an error of npm's."""
    asked = subprocess.run(
        ["npm", "view", f"{name}@{version}", "version"], capture_output=True, text=True, check=False
    )
    return asked.returncode == 0 and asked.stdout.strip() == version


def publish(path: Path, version: str, dry_run: bool) -> None:
    # What is not final must not become what people get by default.
    tag = "next" if "-" in version else "latest"
    command = ["npm", "publish", str(path.resolve()), "--access", "public", "--provenance", "--tag", tag]
    subprocess.run([*command, *(["--dry-run"] if dry_run else [])], check=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--dry-run", action="store_true")
    asked = parser.parse_args()
    packages = [(manifest_of(path), path) for path in sorted(asked.directory.glob("*.tgz"))]
    manifests = {manifest["name"]: manifest for manifest, _ in packages}
    # Some package managers refuse a package if one that it names does not exist.
    wanted = {"mcpool", *manifests.get("mcpool", {}).get("optionalDependencies", {})}
    if manifests.keys() != wanted:
        sys.exit(f"{asked.directory} needs exactly {sorted(wanted)}, but has {sorted(manifests)}")
    for manifest, path in sorted(packages, key=lambda package: package[0]["name"] == "mcpool"):
        name, version = manifest["name"], manifest["version"]
        if is_published(name, version):
            print(f"{name} {version} is published already", flush=True)
        else:
            print(f"{name} {version}: {path.name}", flush=True)
            publish(path, version, asked.dry_run)


if __name__ == "__main__":
    main()
