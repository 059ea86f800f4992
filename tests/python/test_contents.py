"""No package is published without the licences and the bill of materials of its binary."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from fixture_server import ROOT

OWN = ["LICENSE-APACHE", "LICENSE-MIT"]
LINKED = ["THIRD-PARTY-LICENSES.txt", "mcpool.cdx.json"]
WHEEL = [
    *(f"mcpool-0.1.0.dist-info/licenses/{name}" for name in [*OWN, "dist/THIRD-PARTY-LICENSES.txt"]),
    "mcpool-0.1.0.dist-info/sboms/mcpool.cdx.json",
]
PACKAGES = {
    "mcpool-0.1.0-cp310-abi3-manylinux_2_17_x86_64.whl": WHEEL,
    "mcpool-0.1.0.tgz": [f"package/{name}" for name in OWN],
    "mcpool-linux-x64-gnu-0.1.0.tgz": [
        f"package/{name}" for name in [*OWN, *LINKED, "mcpool.linux-x64-gnu.node"]
    ],
    "mcpool-0.1.0.crate": [
        f"m/{name}" for name in [*OWN, "README.md", "Cargo.lock", "schema/mcpool.schema.json"]
    ],
}


def pack(path: Path, names: list[str]) -> None:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "")
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                archive.addfile(tarfile.TarInfo(name))


def check(directory: Path) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "release/contents.py"), str(directory)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stderr


def test_complete_packages_pass(tmp_path: Path) -> None:
    for name, files in PACKAGES.items():
        pack(tmp_path / name, files)
    assert check(tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("package", "lost"),
    [(name, file) for name, files in PACKAGES.items() for file in files if ".node" not in file],
)
def test_a_package_without_one_of_them_does_not(tmp_path: Path, package: str, lost: str) -> None:
    pack(tmp_path / package, [file for file in PACKAGES[package] if file != lost])
    code, said = check(tmp_path)
    assert code == 1
    assert said.startswith(f"{package} lacks ")
    assert said.strip().endswith(Path(lost).name)


def test_no_package_at_all_does_not_pass(tmp_path: Path) -> None:
    code, said = check(tmp_path)
    assert (code, said.strip().endswith("has no package")) == (1, True)
