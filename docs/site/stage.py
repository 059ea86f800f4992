"""Prepares the sources of the site: pages from the repository, and pages and plots that are made from data.

    python docs/site/stage.py target/site-source

No page is written for the site alone. The generator that follows needs only Markdown and zensical.toml.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import figures
import plots
import promises
import schema
from pages import PAGES, ROOT, Site

HERE = Path(__file__).resolve().parent
ASSETS = ["style.css", "logo.svg", "favicon.svg"]


def main() -> None:
    """Writes all sources into the folder given, which is made anew."""
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    site = Site()
    docs = [path for folder in ("docs", "docs/reference") for path in sorted((ROOT / folder).glob("*.md"))]
    sources = {*PAGES, *(str(path.relative_to(ROOT)) for path in docs)}
    # The table of pages in docs/README.md is the navigation here.
    for source in sorted(sources - {"docs/README.md"}):
        site.add(source)
    site.pages["benchmarks.md"] = site.convert(with_plots(), "docs/benchmarks.md")
    site.pages["promises.md"] = promises.page()
    site.pages["reference/schema.md"] = schema.page()
    site.copies[schema.PLACE] = schema.SCHEMA
    site.copies |= {f"{promises.FOLDER}/{path.name}": path for path in promises.SCENARIOS.glob("*.json")}
    site.copies |= {f"assets/{name}": HERE / name for name in ASSETS}
    write(site, folder / "pages")
    shutil.copy(HERE / "zensical.toml", folder)
    shutil.copytree(HERE / "overrides", folder / "overrides")


def with_plots() -> str:
    """The page of the benchmarks, with the plots of each run after its table."""
    text = figures.PAGE.read_text(encoding="utf-8")
    for run in figures.runs():
        text = text.replace(f"<!-- run {run.letter}:end -->\n", plots.plots(run))
    return text


def write(site: Site, folder: Path) -> None:
    """Writes the pages and copies the files."""
    for place, text in site.pages.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for place, source in site.copies.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


if __name__ == "__main__":
    main()
