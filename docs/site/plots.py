"""Draws the figures of a run as bars, one plot for each work that others did too.

The plots are SVG within the page, not images: so they take the colours of the page, light or dark, by the
classes that style.css knows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from figures import OURS, Row, Run, number

# All lengths are in the units of the drawing, which is shown at about this size.
WIDTH = 370
LETTER = 7
VALUES = 68
BAR = 20
GAP = 8
AXIS = 46
TOP = 8
TICKS = 4
BETTER = {"less": "less is better", "more": "more is better"}


@dataclass(frozen=True)
class Bar:
    """One figure of a plot."""

    label: str
    value: float | None
    text: str
    ours: bool


def plots(run: Run) -> str:
    """The plots of a run as HTML; empty where nobody else took part."""
    works = list(dict.fromkeys(row.work for row in run.rows))
    drawn = [plot([row for row in run.rows if row.work == work]) for work in works]
    inner = "".join(drawn)
    return f'\n<div class="plots">\n{inner}</div>\n' if inner else ""


def plot(rows: list[Row]) -> str:
    """One work in all its languages."""
    bars = [bar for row in rows for bar in bars_of(row)]
    if all(bar.ours for bar in bars):
        return ""
    title = rows[0].work
    title = title.replace("`", "") if title.startswith("`") else title[0].upper() + title[1:].replace("`", "")
    unit = "calls per second" if rows[0].unit == "/s" else rows[0].unit
    axis = f"{unit}, {BETTER[rows[0].better]}"
    words = "; ".join(f"{bar.label}: {bar.text}" for bar in bars)
    height = TOP + len(bars) * (BAR + GAP) + AXIS
    left = 12 + LETTER * max(len(bar.label) for bar in bars)
    inner = "".join([*axis_lines(bars, axis, left, height), *bar_lines(bars, left)])
    alt = escape(f"{title}, in {axis}. {words}.")
    return (
        f'<figure class="plot"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{alt}">{inner}</svg></figure>\n'
    )


def bars_of(row: Row) -> Iterable[Bar]:
    """The bars of a row, each with the contestant and its language."""
    for figure in row.figures:
        language = row.language or figure.where
        label = f"{figure.by}, {language}" if language else figure.by
        yield Bar(label, figure.value, row.measured(figure), figure.by == OURS)


def axis_lines(bars: list[Bar], title: str, left: int, height: int) -> Iterable[str]:
    """The scale below the bars, which begin at `left`: lines at round numbers, and the unit."""
    bottom = height - AXIS
    top = max(bar.value or 0 for bar in bars)
    area = WIDTH - left - VALUES
    step = round_step(top / TICKS)
    for tick in range(math.floor(top / step) + 1):
        x = left + tick * step / top * area
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>'
        label = number(tick * step)
        yield f'<text class="tick" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{label}</text>'
    middle = left + area / 2
    yield f'<text class="axis" x="{middle}" y="{bottom + 36}" text-anchor="middle">{escape(title)}</text>'


def bar_lines(bars: list[Bar], left: int) -> Iterable[str]:
    """The bars with their names and values; a word stands where a bar would begin."""
    top = max(bar.value or 0 for bar in bars)
    area = WIDTH - left - VALUES
    for at, bar in enumerate(bars):
        y = TOP + at * (BAR + GAP) + GAP / 2
        # A bar that is too short to see is still there.
        width = 0 if bar.value is None else max(bar.value / top * area, 1.5)
        kind = "ours" if bar.ours else "theirs"
        baseline = y + BAR / 2 + 4
        yield f'<text class="name" x="{left - 8}" y="{baseline}" text-anchor="end">{escape(bar.label)}</text>'
        if bar.value is not None:
            yield f'<rect class="{kind}" x="{left}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>'
        value = "value" if bar.value is not None else "value word"
        yield f'<text class="{value}" x="{left + width + 6:.1f}" y="{baseline}">{escape(bar.text)}</text>'


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, … that is not less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * 0.999)
