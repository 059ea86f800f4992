"""The browser that looks at pages: unpacked by the Makefile, or named by MCPOOL_BROWSER."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from fixture_server import ROOT
from playwright.sync_api import ConsoleMessage, Page, sync_playwright

FOLDER = ROOT / "target" / "browser"
PROGRAM = Path(os.environ.get("MCPOOL_BROWSER") or FOLDER / "chromium")
SCREENSHOTS = ROOT / "target" / "screenshots"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# The share of brightness between a text and what is behind it, as the accessibility guidelines measure it.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const pixel = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, below) => {
    const part = top[3] / 255;
    return [0, 1, 2].map((at) => top[at] * part + below[at] * (1 - part)).concat(255);
  };
  const light = (rgb) => {
    const parts = rgb.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const worst = [];
  for (const element of document.querySelectorAll(".mcpool *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || ["STYLE", "SCRIPT"].includes(element.tagName)) continue;
    const line = [];
    for (let at = element; at; at = at.parentElement) line.push(at);
    let behind = [255, 255, 255, 255], opacity = 1;
    for (const at of line.reverse()) {
      const style = getComputedStyle(at);
      behind = over(pixel(style.backgroundColor), behind);
      opacity *= Number(style.opacity);
    }
    const color = pixel(getComputedStyle(element).color);
    const text = over([...color.slice(0, 3), color[3] * opacity], behind);
    const [a, b] = [light(text), light(behind)].sort((x, y) => y - x);
    worst.push([(a + 0.05) / (b + 0.05), element.textContent.slice(0, 40)]);
  }
  return worst.sort((x, y) => x[0] - y[0])[0];
}"""


class Watched:
    """A page, with all that it complained of and all that it fetched from elsewhere."""

    def __init__(self, page: Page, home: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.outside: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._asked(request.url, home))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _asked(self, url: str, home: str) -> None:
        if not url.startswith((home, "data:", "blob:", home.replace("http", "ws", 1))):
            self.outside.append(url)

    def contrast(self) -> tuple[float, str]:
        """The least readable text of ours."""
        ratio, words = self.page.evaluate(CONTRAST)
        return float(ratio), str(words)

    def screenshot(self, name: str, **options: Any) -> None:
        """For people: what the test saw."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", **options)


@contextlib.contextmanager
def watched(home: str, scheme: Literal["light", "dark"] = "light") -> Iterator[Watched]:
    """An empty page of a browser of its own; `home` is how addresses begin that the page may ask."""
    assert PROGRAM.is_file(), f"{PROGRAM} is missing: `make browser` unpacks it"
    env: dict[str, str | float | bool] = {**os.environ}
    if PROGRAM.parent == FOLDER:
        env |= {"LD_LIBRARY_PATH": str(FOLDER / "al2023" / "lib"), "FONTCONFIG_PATH": str(FOLDER / "fonts")}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS, env=env, timeout=180_000)
        try:
            page = browser.new_page(color_scheme=scheme, viewport={"width": 1100, "height": 900})
            page.set_default_timeout(180_000)
            seen = Watched(page, home)
            try:
                yield seen
            except BaseException:
                seen.screenshot("failure")
                raise
        finally:
            browser.close()
