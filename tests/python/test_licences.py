"""The list of licences and the bill of materials have every crate of the binaries, and no local path."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fixture_server import ROOT

PLATFORMS = ["x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("licences")
    write(directory)
    return directory


def write(directory: Path) -> None:
    subprocess.run([sys.executable, ROOT / "release/licences.py", directory], check=True)


def linked(platform: str) -> set[tuple[str, str]]:
    """What cargo says is linked into the two extensions."""
    command = ["cargo", "tree", "--locked", "-p", "mcpool-python", "-p", "mcpool-node", "--target", platform]
    edges = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    tree = subprocess.run([*command, *edges], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^(\S+) v(\S+)(?: \(\*\))?$", tree, re.MULTILINE))


def bill(directory: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((directory / "mcpool.cdx.json").read_text())
    return loaded


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_linked_crate_has_a_licence_text(written: Path, platform: str) -> None:
    listed, _, texts = (written / "THIRD-PARTY-LICENSES.txt").read_text().partition("\n" + "=" * 80)
    heads = re.findall(r"^((?:\S+ \d\S*(?:, |,\n)?)+)\n={80}\n\n(?=\S)", texts, re.MULTILINE)
    with_text = {name.strip() for head in heads for name in head.replace("\n", " ").split(",")}
    crates = linked(platform)
    assert len(crates) > 100
    for name, version in crates:
        assert re.search(rf"^{name} {re.escape(version)}: \S", listed, re.MULTILINE), name
        assert f"{name} {version}" in with_text


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_linked_crate_is_in_the_bill_of_materials(written: Path, platform: str) -> None:
    components = {(part["name"], part["version"]): part for part in bill(written)["components"]}
    assert linked(platform) <= components.keys()
    for part in components.values():
        assert re.fullmatch(r"[0-9a-f]{64}", part["hashes"][0]["content"])
        assert part["licenses"][0]["expression"]


def test_references_within_the_bill_have_their_component(written: Path) -> None:
    values = bill(written)
    parts = [values["metadata"]["component"], *values["components"]]
    refs = [part["bom-ref"] for part in parts]
    assert len(refs) == len(set(refs))
    assert [entry["ref"] for entry in values["dependencies"]] == refs
    assert {ref for entry in values["dependencies"] for ref in entry["dependsOn"]} <= set(refs)


def test_the_same_lock_file_gives_the_same_bytes_without_paths(written: Path, tmp_path: Path) -> None:
    write(tmp_path)
    for file in written.iterdir():
        assert file.read_bytes() == (tmp_path / file.name).read_bytes()
        assert str(Path.home()) not in file.read_text()
        assert str(ROOT) not in file.read_text()
