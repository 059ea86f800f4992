"""The checks of the site find what they are for; `make docs` builds the site itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fixture_server import ROOT

POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'self';">"""
NAVIGATION = '<div class="md-nav__item md-search" id="__palette"></div>'


def checked(site: Path, extra: str = "") -> subprocess.CompletedProcess[str]:
    """What the check says of a small site, with `extra` on its first page."""
    pages = {
        "index.html": f'<a href="benchmarks.html#a">x</a><a href="promises.html">y</a>{NAVIGATION}{extra}',
        "benchmarks.html": '<h2 id="a">A</h2><svg viewBox="0 0 1 1" aria-label="a"></svg>',
        "promises.html": "Hazards",
    }
    for name, text in pages.items():
        (site / name).write_text(POLICY + text)
    command = [sys.executable, ROOT / "docs" / "site" / "check.py", site]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_site_without_faults_passes(tmp_path: Path) -> None:
    assert checked(tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ('<a href="gone.html">x</a>', "index.html links to gone.html, which is not there"),
        ('<a href="promises.html#gone">x</a>', "promises.html#gone, which has no such anchor"),
        ('<a href="#gone">x</a>', "#gone, which has no such anchor"),
        ('<a href="/promises.html">x</a>', "links from the root: /promises.html"),
        ('<script src="https://example.com/a.js"></script>', "loads https://example.com/a.js"),
        ('<link rel="stylesheet" href="//example.com/a.css">', "loads //example.com/a.css"),
        ("<style>@import url(https://example.com/a.css)</style>", "loads https://example.com/a.css"),
        ('<p style="background: url(https://example.com/a.png)">', "loads https://example.com/a.png"),
        ('<img src="index.html">', "has an image without alt text"),
    ],
)
def test_a_fault_is_found(tmp_path: Path, fault: str, said: str) -> None:
    ran = checked(tmp_path, fault)
    assert ran.returncode == 1
    assert said in ran.stderr


def test_a_page_that_nothing_links_is_found(tmp_path: Path) -> None:
    (tmp_path / "lonely.html").write_text(POLICY)
    assert "lonely.html is linked from nowhere" in checked(tmp_path).stderr


def test_the_tables_of_the_benchmarks_are_those_of_the_figures() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "docs" / "site" / "figures.py"], capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
