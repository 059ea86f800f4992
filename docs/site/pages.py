"""Turns the repository's Markdown into pages of the site.

The sources are written for a code host: links are relative paths between files of the repository. Here every
link is pointed at the page that shows its target, and what only the tests need is taken out. A link without a
target is an error.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Files outside docs/ that are pages; those of docs/ keep their place.
PAGES = {
    "README.md": "index.md",
    "docs/README.md": "index.md",
    "examples/README.md": "examples/index.md",
    "bench/README.md": "project/benchmark.md",
    "tests/scenarios/README.md": "project/scenarios.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/vulnerabilities.md",
}
# Files that are shown as a page of their text; others are copied.
LANGUAGES = {".py": "python", ".mjs": "js", ".rs": "rust"}

FENCE = re.compile(r"^( *)(```+)")
# The label may have begun on the line before.
LINK = re.compile(r"(\[[^\[\]]*)?\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
# A space within a number, or between a number and its unit
NO_BREAK = re.compile(r"(?<=\d) (?=\d{3}\b|(?:ns|µs|ms|s|kB|KiB|MB|MiB|\u00d7)(?!\w))")
# What says to the tests that a block is run
RUN_MARK = re.compile(r"^(# run|// run(: [\w -]+)?)$")
COMMENT = re.compile(r"^<!-- [\w -]+:(begin|end) -->$")


class Site:
    """The pages to write, by their path in the site, and the files to copy."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.copies: dict[str, Path] = {}

    def add(self, source: str) -> None:
        """Adds a Markdown file of the repository."""
        self.pages[place_of(source)] = self.convert((ROOT / source).read_text(encoding="utf-8"), source)

    def convert(self, text: str, source: str) -> str:
        """The Markdown of a page, with links that hold in the site."""
        lines: list[str] = []
        fence = ""
        for line in text.splitlines():
            opened = FENCE.match(line)
            if opened and fence in ("", opened[2]):
                fence = "" if fence else opened[2]
            elif fence:
                if FENCE.match(lines[-1]) and RUN_MARK.match(line):
                    continue
            elif line.startswith("<"):
                # A table needs an empty line before it; on a code host the comment is enough.
                line = COMMENT.sub("", line)
            else:
                line = indented(kept_together(self._relinked(line, source)))
            lines.append(line)
        return "\n".join(lines) + "\n"

    def _relinked(self, line: str, source: str) -> str:
        def replace(link: re.Match[str]) -> str:
            label, path, anchor = link[1] or "", link[2], link[3] or ""
            target = os.path.normpath(Path(source).parent / path)
            place = self._place_of_target(target, source)
            # A link that shows a path shows the title of the page here.
            if label.endswith((".md", ".md`")):
                label = f"[{title_of(target)}"
            return f"{label}]({os.path.relpath(place, Path(place_of(source)).parent)}{anchor})"

        return LINK.sub(replace, line)

    def _place_of_target(self, target: str, source: str) -> str:
        path = ROOT / target
        if not path.is_file():
            raise SystemExit(f"{source}: there is no file {target}")
        if path.suffix == ".md":
            return place_of(target)
        if path.suffix not in LANGUAGES or target.startswith("docs/"):
            place = place_of(target)
            self.copies[place] = path
            return place
        place = f"{target}.md"
        text = path.read_text(encoding="utf-8").rstrip()
        self.pages[place] = f"# {path.name}\n\n`{target}`\n\n```{LANGUAGES[path.suffix]}\n{text}\n```\n"
        return place


def place_of(source: str) -> str:
    """Where a file of the repository is in the site."""
    return PAGES.get(source) or source.removeprefix("docs/")


def kept_together(line: str) -> str:
    """Numbers that no line break splits; code stays as it is."""
    parts = line.split("`")
    parts[::2] = [NO_BREAK.sub("\u00a0", part) for part in parts[::2]]
    return "`".join(parts)


def title_of(source: str) -> str:
    """The first heading of a Markdown file."""
    return (ROOT / source).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")


def indented(line: str) -> str:
    """Doubles the indent within a list: code hosts nest by two spaces, the site's Markdown by four."""
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + line if line.strip() else line
