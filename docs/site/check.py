"""Checks the built site: every link has a target, every page is linked, nothing is loaded from another host.

Run it with the folder of the site: `python docs/site/check.py target/site`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes by which a browser fetches something without being asked. A link is followed only by a click.
LOADED = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("object", "data"),
    ("embed", "src"),
    ("use", "href"),
    ("image", "href"),
    ("form", "action"),
}
LINKED = {("a", "href"), ("area", "href")}
FETCHING_STYLE = re.compile(r"(?:@import\s+|url\(\s*)[\"']?((?:https?:)?//[^\"')\s]+)")
# What all pages must have: the browser refuses what is loaded from elsewhere
EVERYWHERE = """<meta http-equiv="Content-Security-Policy" content="default-src 'self';"""
# What a page must have to be read, by its path
MUST_HAVE = {
    "index.html": ["md-nav__item", "md-search", "__palette"],
    "benchmarks.html": ["<svg viewBox", "aria-label"],
    "promises.html": ["Hazards"],
}


@dataclass
class Page(HTMLParser):
    """The links and anchors of a page."""

    path: Path
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    styles: str = ""
    in_style: bool = False
    unnamed_images: int = 0
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.text = self.path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        self.styles += given.get("style", "") + "\n"
        self.in_style = tag == "style"
        self.unnamed_images += tag == "img" and "alt" not in given
        for name, value in given.items():
            if (tag, name) in LOADED and not (tag == "link" and given.get("rel") == "canonical"):
                self.loads += [part.split()[0] for part in value.split(",")] if name == "srcset" else [value]
            elif (tag, name) in LINKED:
                self.links.append(value)

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.styles += data

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False


def foreign(address: str) -> bool:
    """Whether an address is on a host, which can only be another one."""
    return urlsplit(address).scheme in ("http", "https", "ws", "wss") or address.startswith("//")


def target_of(address: str, page: Page, root: Path) -> Path:
    """The file that an address within the site names."""
    path = unquote(urlsplit(address).path)
    start = root if path.startswith("/") else page.path.parent
    target = (start / path.lstrip("/")).resolve() if path else page.path
    return target / "index.html" if target.is_dir() else target


def within(address: str) -> bool:
    """Whether an address is one of the site."""
    return not foreign(address) and urlsplit(address).scheme not in ("mailto", "data", "javascript")


def check_page(page: Page, pages: dict[Path, Page], root: Path) -> list[str]:
    """What is wrong with a page."""
    wrong = [] if EVERYWHERE in page.text else ["does not keep the browser from loading from elsewhere"]
    wrong += [f"loads {address}" for address in page.loads if foreign(address)]
    wrong += [f"its style loads {address}" for address in FETCHING_STYLE.findall(page.styles)]
    wrong += ["has an image without alt text"] * page.unnamed_images
    for address in filter(within, (*page.links, *page.loads)):
        target, fragment = target_of(address, page, root), unquote(urlsplit(address).fragment)
        # A path from the root would not hold where the site is in a folder; only the 404 page may have one.
        if address.startswith("/") and page.path.name != "404.html":
            wrong.append(f"links from the root: {address}")
        if not target.is_file():
            wrong.append(f"links to {address}, which is not there")
        elif fragment and target in pages and fragment not in pages[target].anchors:
            wrong.append(f"links to {address}, which has no such anchor")
    return wrong


def unreached(pages: dict[Path, Page], root: Path) -> set[Path]:
    """The pages to which no way leads from the first one."""
    missing = set(pages) - {root / "404.html"}
    ahead = [root / "index.html"]
    while ahead:
        here = ahead.pop()
        if here in missing:
            missing.remove(here)
            ahead += [target_of(address, pages[here], root) for address in filter(within, pages[here].links)]
    return missing


def main() -> None:
    """Prints what is wrong, and fails if there is anything."""
    root = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    wrong = [
        f"{path.relative_to(root)} {what}"
        for path, page in pages.items()
        for what in check_page(page, pages, root)
    ]
    wrong += [f"{path.relative_to(root)} is linked from nowhere" for path in sorted(unreached(pages, root))]
    for style in sorted(root.rglob("*.css")):
        found = FETCHING_STYLE.findall(style.read_text(encoding="utf-8"))
        wrong += [f"{style.relative_to(root)} loads {address}" for address in found]
    for name, parts in MUST_HAVE.items():
        text = (root / name).read_text(encoding="utf-8") if (root / name).is_file() else ""
        wrong += [f"{name} has no {part}" for part in parts if part not in text]
    if wrong:
        raise SystemExit("\n".join(wrong))
    links = sum(len(page.links) + len(page.loads) for page in pages.values())
    print(f"{len(pages)} pages, {links} links: all have targets, nothing is loaded from elsewhere")


if __name__ == "__main__":
    main()
