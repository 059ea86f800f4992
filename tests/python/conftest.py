"""What every test needs, and the tour."""

from __future__ import annotations

from typing import Any

import pytest
from every_test import cache, caches, pytest_sessionstart
from fixture_server import ROOT

__all__ = ["cache", "caches", "pytest_sessionstart"]


@pytest.fixture(scope="session")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The tour of `examples`, executed in a kernel."""
    import nbformat
    from notebooks import execute, use_kernel

    content = nbformat.read(ROOT / "examples" / "tour.ipynb", 4)  # type: ignore[no-untyped-call]
    with pytest.MonkeyPatch.context() as patch:
        use_kernel(tmp_path_factory.mktemp("tour"), patch)
        return execute(content, ROOT / "examples")
