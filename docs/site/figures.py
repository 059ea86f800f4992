"""Reads bench/figures.json, and writes its tables into docs/benchmarks.md.

    python docs/site/figures.py          fails if a table on the page differs from the figures
    python docs/site/figures.py --write  writes the tables anew

The plots of the site are drawn from the same figures (plots.py).
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "bench" / "figures.json"
PAGE = ROOT / "docs" / "benchmarks.md"
OURS = "mcpool"
TABLE = re.compile(r"(?<=<!-- run (\w):begin -->\n).*?(?=<!-- run \1:end -->)", re.DOTALL)


@dataclass(frozen=True)
class Figure:
    """What one contestant needed, or the word for what happened in place of an end."""

    by: str
    where: str
    value: float | None
    word: str
    note: str


@dataclass(frozen=True)
class Row:
    """One work in one language, or in all."""

    work: str
    language: str
    unit: str
    better: str
    ratio: str
    note: str
    figures: tuple[Figure, ...]

    def measured(self, figure: Figure) -> str:
        """A figure with its unit, as people write it."""
        if figure.value is None:
            return figure.word
        space = "" if self.unit.startswith("/") else " "
        return f"{number(figure.value)}{space}{self.unit}"


@dataclass(frozen=True)
class Run:
    """One run of the benchmark; docs/benchmarks.md says when and of which build."""

    letter: str
    others: str
    rows: tuple[Row, ...]


def number(value: float) -> str:
    """A number with a space between thousands."""
    return f"{value:,.10g}".replace(",", " ")


def runs() -> list[Run]:
    """All runs, in the order of the page."""
    content = json.loads(FIGURES.read_text(encoding="utf-8"))
    return [Run(run["run"], run["others"], tuple(map(row_of, run["rows"]))) for run in content["runs"]]


def row_of(row: dict[str, Any]) -> Row:
    """A row as it is in the file."""
    figures = [
        Figure(one["by"], one.get("in", ""), one.get("value"), one.get("word", ""), one.get("note", ""))
        for one in row["figures"]
    ]
    options = (row.get("language", ""), row["unit"], row["better"], row.get("ratio", ""), row.get("note", ""))
    return Row(row["work"], *options, tuple(figures))


def table(run: Run) -> str:
    """The Markdown table of a run."""
    ratios = any(row.ratio for row in run.rows)
    head = ["work", OURS, run.others, *(["ratio"] if ratios else [])]
    lines = [" | ".join(head), "|".join(["---"] * len(head))]
    for row in run.rows:
        ours = ", ".join(said(row, one, OURS) for one in row.figures if one.by == OURS)
        others = ", ".join(said(row, one, run.others) for one in row.figures if one.by != OURS)
        work = f"{row.language}, {row.work}" if row.language else row.work
        note = f"; {row.note}" if row.note else ""
        lines.append(" | ".join([work, ours + note, others, *([row.ratio] if ratios else [])]))
    head_line, separator, *body = lines
    return f"| {head_line} |\n|{separator}|\n" + "".join(f"| {line} |\n" for line in body)


def said(row: Row, figure: Figure, column: str) -> str:
    """A figure in a cell; whom the head of the column names is not named again."""
    who = "" if figure.by == column else figure.by
    note = f"({figure.note})" if figure.note else ""
    return " ".join(part for part in (who, figure.where, row.measured(figure), note) if part)


def page_with_tables(page: str) -> str:
    """The page with all tables as the figures have them."""
    tables = {run.letter: table(run) for run in runs()}
    found = [match[1] for match in TABLE.finditer(page)]
    if found != list(tables):
        raise SystemExit(f"{PAGE.name} has tables for the runs {found}, {FIGURES.name} has {list(tables)}")
    return TABLE.sub(lambda match: tables[match[1]], page)


def main() -> None:
    """Checks or writes the page."""
    page = PAGE.read_text(encoding="utf-8")
    right = page_with_tables(page)
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(right, encoding="utf-8")
    elif page != right:
        raise SystemExit(
            "docs/benchmarks.md differs from bench/figures.json: run `python docs/site/figures.py --write`"
        )


if __name__ == "__main__":
    main()
