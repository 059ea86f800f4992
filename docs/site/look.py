"""Looks at the built site in a browser: light and dark, narrow and wide, and searches.

    PYTHONPATH=tests/python python docs/site/look.py target/site

Fails on an error in the console, on a page that scrolls sideways, on anything fetched from elsewhere, and if
a search finds nothing. The screenshots in target/screenshots are for people.
"""

from __future__ import annotations

import functools
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from browser import Watched, watched

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
THEME = {"light": "default", "dark": "slate"}
WIDTHS = {"narrow": 390, "wide": 1400}
PAGES = [
    "index",
    "configuration",
    "lifecycle",
    "promises",
    "benchmarks",
    "reference/python",
    "reference/schema",
]
# Tenths of a second
PATIENCE = 300
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


class Handler(SimpleHTTPRequestHandler):
    """Serves the site without a word."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def look(seen: Watched, home: str, scheme: Literal["light", "dark"]) -> None:
    """Every page in every width."""
    for size, width in WIDTHS.items():
        seen.page.set_viewport_size({"width": width, "height": 900})
        for name in PAGES:
            seen.page.goto(f"{home}{name}.html", wait_until="load")
            seen.page.wait_for_selector(f'body[data-md-color-scheme="{THEME[scheme]}"]')
            assert not seen.page.evaluate(SIDEWAYS), f"{name} scrolls sideways at {width} pixels"
            seen.screenshot(f"site-{name.replace('/', '-')}-{scheme}-{size}")
        # The whole page, with all plots
        seen.page.goto(f"{home}benchmarks.html", wait_until="load")
        seen.screenshot(f"site-plots-{scheme}-{size}", full_page=True)


def search(seen: Watched, home: str) -> None:
    """Types a word into the search and follows the first result."""
    seen.page.goto(f"{home}index.html", wait_until="load")
    box = seen.page.locator("input[role=combobox]")
    box.wait_for(state="attached")
    # The key does nothing before the script of the page has begun to listen.
    for _ in range(PATIENCE):
        if box.evaluate("input => input.getRootNode().activeElement === input"):
            break
        seen.page.keyboard.press("Control+k")
        seen.page.wait_for_timeout(100)
    seen.page.keyboard.type("timeout")
    result = seen.page.locator("a", has_text="imeout").filter(visible=True).first
    result.wait_for()
    seen.screenshot("site-search")
    result.click()
    seen.page.wait_for_url(lambda url: not url.startswith(f"{home}index.html"))


def switch(seen: Watched, home: str) -> None:
    """The button for colours goes from the system's to the light ones, and on to the dark ones."""
    seen.page.goto(f"{home}index.html", wait_until="load")
    for scheme in ("default", "slate"):
        seen.page.locator('label[for^="__palette"]').filter(visible=True).first.click()
        seen.page.wait_for_selector(f'body[data-md-color-scheme="{scheme}"]')


def main() -> None:
    """Serves the site for a moment and looks at it."""
    handler = functools.partial(Handler, directory=sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    for scheme in SCHEMES:
        with watched(home, scheme) as seen:
            look(seen, home, scheme)
            if scheme == "light":
                search(seen, home)
                switch(seen, home)
            assert not seen.complaints, seen.complaints
            assert not seen.outside, seen.outside
    print(f"{len(PAGES)} pages, light and dark, narrow and wide; the screenshots are in target/screenshots")


if __name__ == "__main__":
    main()
