"""The widget in JupyterLab itself: it moves with its servers, in any theme, and ends with the manager."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from browser import Watched, watched
from fixture_server import all_gone, config, processes, stdio, until
from notebooks import make_kernel, notebook

TOKEN = "test"
CELLS = (
    "import json, mcpool\nmanager = mcpool.Manager(json.loads({servers!r}), gate=20)\n"
    "await manager.connect_all()",
    "manager",
    "manager.get_tools()",
    "manager.widget()",
    "await manager.call_tool('a', 'image')",
    # The loop is held while the widget moves.
    "import pathlib, time\nwhile not pathlib.Path('stop').exists():\n    time.sleep(0.05)\n"
    "await manager.close()",
)
# A notebook that is run before its kernel is there asks which one it should be.
IDLE = "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"


@contextlib.contextmanager
def lab(folder: Path) -> Iterator[str]:
    """JupyterLab over the folder, on this machine only; gives its address."""
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    place = {"HOME": str(folder), "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")}
    env = {**os.environ, **make_kernel(folder / "place"), **place}
    options = {
        "ServerApp.root_dir": str(folder / "work"),
        "ServerApp.allow_root": True,
        "ServerApp.open_browser": False,
        "ServerApp.port": 0,
        "IdentityProvider.token": TOKEN,
        "LabApp.expose_app_in_browser": True,
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "jupyterlab", *words]
    with (
        open(folder / "lab.log", "w+") as log,
        subprocess.Popen(command, env=env, cwd=folder, stdout=log, stderr=log) as server,
    ):
        try:
            said = folder / "lab.log"
            address = re.compile(r"http://(?:localhost|127\.0\.0\.1):(\d+)/")
            assert until(lambda: address.search(said.read_text()), 180), said.read_text()
            found = address.search(said.read_text())
            assert found is not None
            yield f"http://127.0.0.1:{found[1]}/"
        finally:
            server.send_signal(signal.SIGINT)
            server.send_signal(signal.SIGINT)
            server.terminate()
            server.wait(60)


def run(seen: Watched, command: str, **arguments: object) -> None:
    """Starts a command of JupyterLab; what it does is seen in the page."""
    script = "([name, args]) => { window.jupyterapp.commands.execute(name, args); }"
    seen.page.evaluate(script, [command, arguments])


def test_the_widget_lives_in_jupyterlab(tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    work = tmp_path / "work"
    work.mkdir()
    servers = json.dumps(config(a=stdio(journal=journal), broken=stdio("--exit-at", "start")))
    content = notebook(CELLS[0].format(servers=servers), *CELLS[1:])
    nbformat.write(content, work / "live.ipynb")  # type: ignore[no-untyped-call]
    with lab(tmp_path) as home, watched(home) as seen:
        seen.page.goto(f"{home}lab/tree/live.ipynb?token={TOKEN}")
        seen.page.wait_for_function(IDLE)
        run(seen, "notebook:run-all-cells")
        widget = seen.page.locator(".widget-subarea, .jp-OutputArea-output").locator(".mcpool:has(> details)")
        row = widget.locator("tbody > tr", has=seen.page.get_by_role("rowheader", name=re.compile("^a")))
        first = row.first
        first.get_by_text("connected", exact=True).wait_for()

        # A table that a cell showed, and the search over it.
        box = seen.page.locator("[data-mcpool]").get_by_label("Search")
        box.fill("echo")
        assert seen.page.locator("[data-mcpool] tbody > tr:visible").count() == 1

        # The live one: its clock, its tools, and a server that is killed.
        up = first.locator("[data-since]")
        began = up.inner_text()
        assert until(lambda: up.inner_text() != began)
        widget.locator("summary").first.click()
        widget.get_by_label("Search").fill("echo")
        assert widget.locator("details tbody > tr:visible").count() == 1
        [pid] = [processes(journal)[0]]
        os.kill(pid, signal.SIGKILL)
        restarts = first.locator("td").nth(4)
        assert until(lambda: restarts.inner_text() == "1")
        assert until(lambda: first.get_by_text("connected", exact=True).count() == 1)
        assert widget.get_by_label("Search").input_value() == "echo"
        assert widget.locator("details tbody > tr:visible").count() == 1
        sizes = "() => [...document.querySelectorAll('.mcpool img')].map((i) => i.naturalWidth)"
        assert until(lambda: seen.page.evaluate(sizes) == [1])
        widget.scroll_into_view_if_needed()
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            run(seen, "apputils:change-theme", theme=theme)
            seen.page.wait_for_selector(f'body[data-jp-theme-name="{theme}"]', state="attached")
            assert until(lambda: seen.contrast()[0] >= 4.5), seen.contrast()
            seen.screenshot(f"lab-{theme.split()[1].lower()}")

        # The manager ends, the widget says so.
        (work / "stop").touch()
        widget.get_by_text("The manager is closed.").wait_for()
        assert all_gone(journal)
        assert (seen.complaints, seen.outside) == ([], [])
