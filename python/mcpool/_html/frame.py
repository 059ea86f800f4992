"""The frame of everything that is shown in a notebook: escaping, bounds, folds, tables.

Text of a server is untrusted: it enters a page only through `text`, which escapes it and makes characters
visible that hide others or change their direction.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from zlib import crc32

TYPE_CHECKING = False  # Not from typing: showing something stays cheap.
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

STATIC = Path(__file__).parents[1] / "static"
_read: dict[str, str] = {}
# Control characters, marks of writing direction, characters without width, lone surrogates, and tag
# characters, which can hide instructions to a model from people.
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_SHORT = 600
_LINES = 12


def static(name: str) -> str:
    """A file that ships with the package."""
    if name not in _read:
        _read[name] = (STATIC / name).read_text(encoding="utf-8")
    return _read[name]


def script(*names: str) -> str:
    """Our modules as one script: in a page they cannot import each other."""
    joined = "\n".join(static(name) for name in names)
    return re.sub(r"^import .*\n+", "", joined, flags=re.MULTILINE).replace("export function", "function")


def text(value: object, limit: int | None = None) -> str:
    """Any value as text of a page, cut where it is longer than the limit."""
    plain = str(value).replace("\r\n", "\n")
    more = ""
    if limit is not None and len(plain) > limit:
        plain, more = plain[:limit], "…"
    return _ODD.sub(_visible, escape(plain, quote=True)) + more


def _visible(odd: re.Match[str]) -> str:
    return f'<span class="mcpool-odd">\\u{ord(odd[0]):04x}</span>'


def frame(*parts: str) -> str:
    """A whole output. MathJax is off: a dollar sign in a server's text is not a formula."""
    style = f"<style>{static('mcpool.css')}</style>"
    return f'<div class="mcpool mathjax_ignore tex2jax_ignore">{style}{"".join(parts)}</div>'


def searchable(content: str) -> str:
    """The content with a search box over its table, where scripts may run."""
    token = f"{crc32(content.encode('utf-8', 'replace')):08x}"
    places = f"document.querySelectorAll('[data-mcpool=\"{token}\"]')"
    search = f"{script('search.js')}\n{places}.forEach((place) => mcpoolSearch(place));"
    return f'<div data-mcpool="{token}">{content}</div><script>(() => {{\n{search}\n}})()</script>'


def table(caption: str, heads: Sequence[str], rows: Iterable[str]) -> str:
    """A table; the caption and the rows are HTML already. Heads that begin with `#` stand over numbers."""
    head = "".join(_head(name) for name in heads)
    return (
        f'<div class="mcpool-wide"><table class="mcpool-table"><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _head(name: str) -> str:
    number = ' class="mcpool-number"' if name.startswith("#") else ""
    return f'<th scope="col"{number}>{text(name.removeprefix("#"))}</th>'


def fact_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values; the caption and the values are HTML already."""
    body = "".join(f'<tr><th scope="row">{text(name)}</th><td>{value}</td></tr>' for name, value in rows)
    return (
        f'<table class="mcpool-table mcpool-facts"><caption>{caption}</caption><tbody>{body}</tbody></table>'
    )


def fold(summary: str, content: str, *, opened: bool = False) -> str:
    """A part that unfolds; both are HTML already."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>{content}</details>"


def long_text(value: str, limit: int, what: str = "") -> str:
    """A text of any length: whole when short, folded when long, cut at the limit."""
    shown = f"<pre>{text(value[:limit])}</pre>"
    if len(value) > limit:
        shown += note(f"The first {size(limit)} of {size(len(value))}; the whole is in the object.")
    if len(value) <= _SHORT and value.count("\n") < _LINES:
        return (f'<div class="mcpool-dim">{text(what)}</div>' if what else "") + shown
    first = next((line.strip() for line in value[:4000].splitlines() if line.strip()), "")
    dim = f'<span class="mcpool-dim">{text(f"{what}, " if what else "")}{size(len(value))}</span>'
    return fold(f"{text(first, 80)} {dim}", shown)


class Budget:
    """How much an output may still contain."""

    def __init__(self, characters: int = 20_000, media: int = 5_000_000) -> None:
        self.characters = characters
        self.media = media

    def take(self, wanted: int) -> int:
        """How many of the wanted characters there is room for."""
        given = max(0, min(wanted, self.characters))
        self.characters -= given
        return given


def document(summary: str, value: Any, budget: Budget, *, folded: bool = False) -> str:
    """A JSON value, folded unless it is small."""
    try:
        written = json.dumps(value, indent=2, ensure_ascii=False)
    except (TypeError, ValueError):
        written = str(value)
    room = budget.take(len(written))
    more = note(f"The first {size(room)} of {size(len(written))}.") if room < len(written) else ""
    small = len(written) <= _SHORT and written.count("\n") < _LINES
    dim = "" if small or folded else f' <span class="mcpool-dim">{size(len(written))}</span>'
    shown = f"<pre>{text(written[:room])}</pre>{more}"
    return fold(f"{text(summary)}{dim}", shown, opened=small and not folded)


def note(words: str) -> str:
    """A remark in small print."""
    return f'<p class="mcpool-dim">{text(words)}</p>'


def size(count: int) -> str:
    """A number of bytes or characters, for people."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def duration(ms: float) -> str:
    """A span of time in its two largest parts; `widget.js` counts on in the same words."""
    seconds = int(ms // 1000)
    for unit, parts, name, part in ((86400, 3600, "d", "h"), (3600, 60, "h", "min"), (60, 1, "min", "s")):
        if seconds >= unit:
            return f"{seconds // unit} {name} {seconds % unit // parts} {part}"
    return f"{seconds} s"


def count(number: int, noun: str) -> str:
    """The number and the noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}".replace(",", " ")
