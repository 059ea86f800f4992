"""What every test needs: the fixture's program, a cache of its own, and nothing left behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixture_server import PROGRAM, ROOT


def pytest_sessionstart(session: pytest.Session) -> None:
    if not PROGRAM.is_file():
        pytest.exit(f"{PROGRAM} is missing: build it with `cargo build -p mcpool-fixture`", returncode=1)


@pytest.fixture(scope="session", autouse=True)
def caches() -> Iterator[Path]:
    """No test reads or writes the user's own cache, nor does any process that a test starts."""
    # A host that a test has left behind may still be writing.
    with tempfile.TemporaryDirectory(prefix="mcpool-test-cache-", ignore_cleanup_errors=True) as folder:
        os.environ["MCPOOL_CACHE_DIR"] = folder
        yield Path(folder)


@pytest.fixture(autouse=True)
def cache(caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each test: a server that another test has left there is not waited for when it is late."""
    monkeypatch.setenv("MCPOOL_CACHE_DIR", tempfile.mkdtemp(dir=caches))


@pytest.fixture(scope="session")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The tour of `examples`, executed in a kernel."""
    import nbformat
    from notebooks import execute, use_kernel

    content = nbformat.read(ROOT / "examples" / "tour.ipynb", 4)  # type: ignore[no-untyped-call]
    with pytest.MonkeyPatch.context() as patch:
        use_kernel(tmp_path_factory.mktemp("tour"), patch)
        return execute(content, ROOT / "examples")
