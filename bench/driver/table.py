"""From samples to rows to text: medians of per-round ratios, goals, and what is met or missed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import inf
from statistics import median

from .measure import Measured
from .model import Contestant, Metric

Series = dict[int, float | str]


@dataclass
class Row:
    """One comparison; figures are medians, the ratio is the median of the rounds' ratios ours/peer."""

    work: str
    metric: str
    unit: str
    name: str
    ours: float | str | None  # a word where there is no figure
    peer: str | None
    theirs: float | str | None
    ratio: float | None
    goal: str | None
    verdict: str | None  # "met", "missed", "no figure", or None without a goal
    failed: dict[str, str]  # who of the two, and why
    note: str = ""


def rows(measured: Measured) -> list[Row]:
    made = []
    for metric in measured.work.metrics:
        for ours in (c for c in measured.work.contestants if c.ours):
            others = [c for c in measured.work.contestants if not c.ours and c.language in (ours.language, "C")]
            peers = [] if metric.alone else others
            if not peers or (metric.key, None) in measured.work.goals:
                made.append(_row(measured, metric, ours, None))
            made += [_row(measured, metric, ours, peer) for peer in peers]
    return made


def _row(measured: Measured, metric: Metric, ours: Contestant, peer: Contestant | None) -> Row:
    mine = _series(measured, ours, metric)
    theirs = _series(measured, peer, metric) if peer else {}
    known, others = _figures(mine), _figures(theirs)
    ratios = [known[turn] / others[turn] for turn in known.keys() & others.keys() if others[turn]]
    goal = None if ours.extra else measured.work.goals.get((metric.key, peer.label if peer else None))
    value = _median(ratios) if peer else _median(mine.values())
    verdict = None
    if goal:
        verdict = "no figure" if value is None else "met" if goal.met(_as_number(value)) else "missed"
    return Row(
        work=measured.work.title,
        metric=metric.label,
        unit=metric.unit,
        name=ours.label,
        ours=_median(mine.values()),
        peer=peer.label if peer else None,
        theirs=_median(theirs.values()),
        ratio=_median(ratios),
        goal=goal.text if goal else None,
        verdict=verdict,
        failed={c.label: measured.failed[c.label] for c in (ours, peer) if c and c.label in measured.failed},
        note=_note(measured, peer or ours),
    )


def _series(measured: Measured, who: Contestant, metric: Metric) -> Series:
    samples = measured.samples.get(who.label, []) if who.label not in measured.failed else []
    return {turn: sample[metric.key] for turn, sample in enumerate(samples) if metric.key in sample}


def _figures(series: Series) -> dict[int, float]:
    return {turn: value for turn, value in series.items() if not isinstance(value, str)}


def _median(values: Iterable[float | str]) -> float | str | None:
    """A word, which stands for having no figure, counts as more than any figure."""
    known = sorted(values, key=_as_number)
    if not known or isinstance(known[len(known) // 2], str):
        return known[len(known) // 2] if known else None
    return float(median(_as_number(value) for value in known))


def _as_number(value: float | str) -> float:
    return inf if isinstance(value, str) else value


def _note(measured: Measured, who: Contestant) -> str:
    notes = {str(sample["note"]): None for sample in measured.samples.get(who.label, []) if "note" in sample}
    return "; ".join(notes)


WIDTHS = (20, 15, 12, 14, 12, 8, 14, 9, 0)


def text(all_rows: list[Row]) -> str:
    lines = [_line("", "ours", "", "peer", "", "ratio", "goal", "", "")]
    title = ""
    for row in all_rows:
        if row.work != title:
            title = row.work
            lines += ["", title]
        lines.append(
            _line(
                f"  {row.metric}",
                row.name,
                figure(row.ours, row.unit, row.name in row.failed),
                row.peer or ("(limit)" if row.goal else ""),
                figure(row.theirs, row.unit, row.peer in row.failed) if row.peer else "",
                "-" if row.ratio is None else f"{row.ratio:.3g}",
                row.goal or "",
                row.verdict or "",
                row.note,
            )
        )
    reasons: dict[str, set[str]] = {}
    for row in all_rows:
        for who, why in row.failed.items():
            reasons.setdefault(f"{who} failed: {why}", set()).add(row.work)
    if reasons:
        lines += ["", *(f"{reason} ({len(works)} of the works)" for reason, works in reasons.items())]
    count = {name: sum(row.verdict == name for row in all_rows) for name in ("met", "missed", "no figure")}
    lines += ["", "goals: " + ", ".join(f"{number} {name}" for name, number in count.items())]
    return "\n".join(lines)


def _line(*cells: str) -> str:
    numbers = {2, 4, 5}
    padded = [
        cell.rjust(width) if index in numbers else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    ]
    return "  ".join(padded).rstrip()


def figure(value: float | str | None, unit: str, failed: bool) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "failed" if failed else "-"
    short = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{short} {unit}".strip()


def as_json(all_rows: list[Row]) -> list[dict[str, object]]:
    return [asdict(row) for row in all_rows]
