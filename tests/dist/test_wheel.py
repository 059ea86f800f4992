"""The wheel and the sdist that `make dist-python` built, as a new user installs them."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from clean import DIST, HERE, ROOT, run, succeed

WHEELS = sorted(DIST.glob("*.whl"))
OLDEST = (3, 10)


def wheel_for(version: str) -> Path | None:
    """One wheel is for all interpreters, except those without the GIL, whose version ends with "t"."""
    tag = f"-cp{version.replace('.', '')}-" if version.endswith("t") else "-abi3-"
    return next((path for path in WHEELS if tag in path.name), None)


def interpreters() -> dict[str, Path]:
    """Every CPython on PATH and of pyenv that the package is for, one per minor version."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [Path(sys.executable), *pyenv.glob("3.*/bin/python3")]
    names = [f"python3.{minor}{flag}" for minor in range(10, 20) for flag in ("", "t")]
    candidates += [Path(path) for name in names if (path := shutil.which(name))]
    found: dict[str, Path] = {}
    for python in candidates:
        ask = "import sys; print('%d.%d' % sys.version_info[:2] + 't' * sys.abiflags.count('t'))"
        version = subprocess.run([python, "-c", ask], capture_output=True, text=True).stdout.strip()
        if version and tuple(map(int, version.rstrip("t").split("."))) >= OLDEST and wheel_for(version):
            found.setdefault(version, python)
    return dict(sorted(found.items()))


@pytest.fixture(scope="session")
def wheel() -> Path:
    abi3 = wheel_for("3")
    assert abi3, "dist/ has no wheel: run `make dist-python`"
    return abi3


def test_there_is_an_interpreter_to_test_with(wheel: Path) -> None:
    assert interpreters()


@pytest.mark.parametrize("version", interpreters())
def test_it_works_without_a_toolchain(version: str, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([interpreters()[version], "-m", "venv", venv], check=True)
    wheel = wheel_for(version)
    assert wheel
    bin_ = venv / "bin"
    install: list[str | Path] = [bin_ / "python", "-m", "pip", "install", "--quiet", "--no-index", wheel]
    succeed(install, tmp_path / "home", [bin_])
    said = succeed([bin_ / "python", HERE / "exercise.py"], tmp_path / "home", [bin_])
    assert said.startswith("done"), said


def test_the_wheel_asks_for_no_newer_libc_than_its_name_says(wheel: Path) -> None:
    if "linux" not in wheel.name or "musl" in wheel.name:
        return
    auditwheel: list[str | Path] = [ROOT / ".venv-dist/bin/auditwheel", "show", wheel]
    shown = subprocess.run(auditwheel, check=True, capture_output=True, text=True).stdout
    assert 'the following platform tag: "manylinux_2_17_' in " ".join(shown.split()), shown
    assert "manylinux_2_17_" in wheel.name


def test_the_wheel_has_what_it_needs_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    packages = {name.split("/")[0] for name in names}
    assert packages == {"mcpool", f"mcpool-{wheel.name.split('-')[1]}.dist-info"}, packages
    for needed in (
        "py.typed",
        "_native.pyi",
        "mcpool.schema.json",
        "_native.abi3.so",
        "_pyinstaller/hook-mcpool.py",
    ):
        assert f"mcpool/{needed}" in names
    assert not [name for name in names if "__pycache__" in name or "test" in name]


def test_a_wheel_that_is_not_unpacked_says_what_to_do(wheel: Path, tmp_path: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(wheel)!r}); import mcpool"
    ended = run([Path(sys.executable), "-I", "-S", "-c", program], tmp_path / "home", [])
    assert "The compiled part of mcpool does not load" in ended.stderr, ended.stderr
    assert "It cannot be imported from a zip file" in ended.stderr, ended.stderr


def test_the_sdist_has_the_sources_that_a_build_needs() -> None:
    (sdist,) = DIST.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for needed in ("pyproject.toml", "Cargo.lock", "core/src/lib.rs", "python/src/lib.rs", "README.md"):
        assert needed in names, f"{needed} is not in the sdist"
    assert not [name for name in names if name.startswith(("target/", "tests/", "node_modules/", "bench/"))]


def test_the_sdist_builds(tmp_path: Path) -> None:
    """As a development build: dependencies are the ones that other tests were built with."""
    (sdist,) = DIST.glob("*.tar.gz")
    env = {
        **os.environ,
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "MATURIN_PEP517_ARGS": "--profile dev",
        "PATH": f"{ROOT / '.venv-dist/bin'}{os.pathsep}{os.environ['PATH']}",
    }
    pip: list[str | Path] = [
        ROOT / ".venv-dist/bin/pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    ]
    built = subprocess.run([*pip, "--wheel-dir", tmp_path, sdist], env=env, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert len(list(tmp_path.glob("*.whl"))) == 1
