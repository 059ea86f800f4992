"""Outputs of a notebook in a real browser: they work, can be read, and nothing of a server runs in them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import hostile_server
import pytest
from browser import Watched, watched
from notebooks import execute, notebook, page, use_kernel

READABLE = 4.5


def open_page(seen: Watched, content: str, folder: Path) -> None:
    file = folder / "page.html"
    file.write_text(content, encoding="utf-8")
    seen.page.goto(file.as_uri())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_tour_works_and_can_be_read(tour: Any, theme: Literal["light", "dark"], tmp_path: Path) -> None:
    content = page(tour, theme)
    with watched("file:", theme) as seen:
        open_page(seen, content, tmp_path)
        tools = seen.page.locator("[data-mcpool]")
        rows = tools.locator("tbody > tr:visible")
        box = tools.get_by_label("Search")
        assert rows.count() == 7
        box.fill("pictures wave")
        assert rows.count() == 2 and tools.get_by_role("status").inner_text() == "2 of 7"
        box.fill("no such thing")
        assert rows.count() == 0
        box.fill("")
        assert rows.count() == 7
        folded = rows.first.locator("details")
        assert not folded.locator("pre").is_visible()
        folded.locator("summary").click()
        assert '"properties"' in folded.locator("pre").inner_text()
        sizes = seen.page.evaluate("() => [...document.images].map((one) => one.naturalWidth)")
        assert sizes == [480]
        assert seen.page.locator(".mcpool table").count() == 6
        ratio, words = seen.contrast()
        assert ratio >= READABLE, words
        seen.screenshot(f"tour-{theme}", full_page=True)
        assert (seen.complaints, seen.outside) == ([], [])


def test_nothing_of_a_hostile_server_runs_or_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_kernel(tmp_path, monkeypatch)
    server = {"command": sys.executable, "args": [hostile_server.__file__]}
    cells = (
        f"import mcpool\nservers = {{'hostile': {server!r}}}\n"
        "manager = mcpool.Manager({'mcpServers': servers}, gate=20)\n"
        "await manager.connect_all()",
        "manager",
        "tools = manager.get_tools()\ntools",
        "from IPython.display import display\nfor tool in tools: display(tool)",
        "await manager.call_tool('hostile', 'tool0')",
        "await tools[0].execute()",
        "await tools[1].execute()",
        "await manager.close()",
    )
    content = page(execute(notebook(*cells), tmp_path))
    with watched("file:") as seen:
        open_page(seen, content, tmp_path)
        for summary in seen.page.locator(".mcpool summary").all():
            summary.click()
        for link in seen.page.locator(".mcpool td, .mcpool th, .mcpool figure").all():
            link.hover()
        seen.page.get_by_label("Search").fill("script")
        assert seen.page.evaluate("() => window.owned") is None
        assert seen.page.locator(".mcpool iframe, .mcpool form, .mcpool svg, .mcpool [onerror]").count() == 0
        # The picture with a script in it is shown all the same.
        sizes = seen.page.evaluate("() => [...document.images].map((one) => one.naturalWidth)")
        assert set(sizes) == {40, 1}
        seen.screenshot("hostile", full_page=True)
        assert (seen.complaints, seen.outside) == ([], [])


def test_without_scripts_the_tables_are_whole(tour: Any, tmp_path: Path) -> None:
    content = page(tour)
    with watched("file:") as seen:
        quiet = seen.page.context.browser.new_page(java_script_enabled=False)  # type: ignore[union-attr]
        bare = Watched(quiet, "file:")
        open_page(bare, content, tmp_path)
        assert quiet.locator("[data-mcpool] tbody > tr").count() == 7
        assert quiet.locator("[data-mcpool] input").count() == 0
