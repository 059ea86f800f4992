"""There is one version: every manifest, lock file and program says that of the workspace's Cargo.toml."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import mcpool
import pytest
from fixture_server import ROOT

CRATES = {"mcpool", "mcpool-fixture", "mcpool-node", "mcpool-python"}
FILES = [
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "fuzz/Cargo.lock",
    "package-lock.json",
    "package.json",
]


def workspace_version(root: Path) -> str:
    found = re.search(r'^version = "(.+)"$', (root / "Cargo.toml").read_text(), re.MULTILINE)
    assert found
    return found[1]


def versions(root: Path) -> dict[str, str]:
    """Each place that has the version."""
    found = {}
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"]:
        for name, version in re.findall(
            r'^name = "(.+)"\nversion = "(.+)"$', (root / lock).read_text(), re.MULTILINE
        ):
            if name in CRATES:
                found[f"{lock}: {name}"] = version
    package = json.loads((root / "package.json").read_text())
    lock = json.loads((root / "package-lock.json").read_text())
    found["package.json"] = package["version"]
    found["package-lock.json"] = lock["version"]
    for place, manifest in {
        "package.json": package,
        "package-lock.json: packages": lock["packages"][""],
    }.items():
        found[place] = manifest["version"]
        for name, version in manifest.get("optionalDependencies", {}).items():
            if name.startswith("@mcpool/"):
                found[f"{place}: {name}"] = version
    released = re.findall(r"^## \[(\d.*)\]", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    # Before the first release the changelog has no version.
    if released:
        found["CHANGELOG.md"] = released[0]
    return found


def test_every_manifest_has_the_version_of_the_workspace() -> None:
    found = versions(ROOT)
    assert {place.removeprefix("Cargo.lock: ") for place in found} >= CRATES
    assert set(found.values()) == {workspace_version(ROOT)}, found


def test_the_python_package_takes_its_version_from_cargo() -> None:
    project = (ROOT / "pyproject.toml").read_text().partition("[project.")[0]
    assert 'dynamic = ["version"]' in project
    assert "\nversion" not in project


def test_the_installed_package_says_the_version() -> None:
    version = workspace_version(ROOT)
    assert mcpool.__version__ == version
    assert importlib.metadata.version("mcpool") == version.replace("-rc.", "rc")
    command = [sys.executable, "-m", "mcpool", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"mcpool {version}\n"


def script(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "release/version.py"), *arguments, "--root", str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for file in FILES:
        if (ROOT / file).exists():
            (tmp_path / file).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def test_one_command_changes_every_place(copied: Path) -> None:
    assert script(copied, "set", "7.8.9").stderr == ""
    assert workspace_version(copied) == "7.8.9"
    found = versions(copied)
    assert set(found.values()) == {"7.8.9"}, found
    assert script(copied, "show").stdout == "7.8.9\n"
    assert found.keys() == versions(ROOT).keys() | {"CHANGELOG.md"}
    assert re.search(
        r"^## \[Unreleased\]\n\n## \[7\.8\.9\] - [\d-]+$", (copied / "CHANGELOG.md").read_text(), re.MULTILINE
    )


def test_a_version_that_is_none_is_refused(copied: Path) -> None:
    refused = script(copied, "set", "7.8")
    assert refused.returncode != 0
    assert "'7.8' is not a version" in refused.stderr
    assert versions(copied) == versions(ROOT)


def test_a_tag_must_be_that_of_the_version_and_of_the_changelog(copied: Path) -> None:
    script(copied, "set", "7.8.9")
    manifest = json.loads((copied / "package.json").read_text())
    manifest.pop("repository", None)
    (copied / "package.json").write_text(json.dumps(manifest))
    assert "names no repository" in script(copied, "check-tag", "v7.8.9").stderr
    (copied / "package.json").write_text(json.dumps({**manifest, "repository": "an address"}))
    (copied / "README.md").write_text("Version 7.8.9 is not released yet.")
    assert "not released yet" in script(copied, "check-tag", "v7.8.9").stderr
    (copied / "README.md").write_text("# mcpool")
    assert script(copied, "check-tag", "v7.8.9").returncode == 0
    assert "the tag is v7.8.8, but Cargo.toml has 7.8.9" in script(copied, "check-tag", "v7.8.8").stderr
    changelog = copied / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("\n## [7.8.9]", "\n## [7.8.7]"))
    assert "has no dated entry for 7.8.9" in script(copied, "check-tag", "v7.8.9").stderr


def test_the_notes_of_a_release_are_its_entry_of_the_changelog(copied: Path) -> None:
    (copied / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- New.\n\n## [7.8.8] - 2026-01-01\n\n- Old.\n"
    )
    script(copied, "set", "7.8.9")
    printed = script(copied, "notes", "v7.8.9").stdout
    assert printed == "### Added\n\n- New.\n"
    assert script(copied, "notes", "v7.8.8").stdout == "- Old.\n"
