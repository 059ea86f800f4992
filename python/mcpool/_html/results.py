"""Results in a notebook: every block as what it is, within bounds."""

from __future__ import annotations

import json

from .frame import Budget, count, document, fold, frame, long_text, note, text
from .media import media_figure
from .servers import problem, signal_notes

TYPE_CHECKING = False  # Not from typing: showing something stays cheap.
if TYPE_CHECKING:
    from typing import Any

    from .._native import ToolResult
    from .._output import ToolOutput

_BLOCKS = 100
_SCHEMES = ("https://", "http://")


def result(one: ToolResult) -> str:
    """What a tool answered, as a whole output."""
    return frame(_body(one))


def _body(one: ToolResult) -> str:
    budget = Budget()
    blocks = one.content
    structured = one.structured
    parts = [_head(one.is_error, len(blocks))]
    parts += [block(each, number, budget) for number, each in enumerate(blocks[:_BLOCKS], 1)]
    if len(blocks) > _BLOCKS:
        parts.append(note(f"{count(len(blocks) - _BLOCKS, 'more block')}, not shown."))
    if structured is not None:
        parts.append(document("structured", structured, budget))
    if not blocks and structured is None:
        parts.append(_without_blocks(one.raw.get("content"), budget))
    kind = "mcpool-result mcpool-problem" if one.is_error else "mcpool-result"
    return f'<div class="{kind}">{"".join(parts)}</div>'


def _without_blocks(content: Any, budget: Budget) -> str:
    return document("content that is no list", content, budget) if content else note("Empty.")


def output(one: ToolOutput) -> str:
    """How a call for an agent went: the result or the error, and what the model is given of it."""
    whole = f"{text(one.server, 80)} · {text(one.tool, 128)} · {text(one.provider, 200)}"
    parts = [f'<div class="mcpool-dim">{whole}</div>']
    if one.error is not None:
        parts.append(problem(one.error, code=True))
    elif one.result is not None:
        parts.append(_body(one.result))
    parts.append(signal_notes(one.signals))
    given = f"<pre>{text(one.text, 20_000)}</pre>"
    parts.append(fold("what the model is given", given))
    return frame(*parts)


def _head(is_error: bool, blocks: int) -> str:
    said = '<strong class="mcpool-badge">is_error</strong> ' if is_error else ""
    return f'<div class="mcpool-dim">{said}Result, {count(blocks, "block")}</div>'


def block(one: Any, number: int, budget: Budget) -> str:
    """One block of content."""
    kind = one.get("type") if isinstance(one, dict) else None
    if kind == "text" and isinstance(one.get("text"), str):
        return text_block(one["text"], budget)
    if kind in ("image", "audio"):
        return media_figure(one.get("data"), one.get("mimeType"), f"{kind} in block {number}", budget)
    if kind == "resource_link":
        return link(one)
    if kind == "resource" and isinstance(one.get("resource"), dict):
        return resource(one["resource"], number, budget)
    return document(f"block {number} of an unknown kind", one, budget)


def text_block(written: str, budget: Budget, what: str = "") -> str:
    """A text; one that is a JSON document is shown as such."""
    if len(written) <= budget.characters and written.lstrip()[:1] in ("{", "["):
        try:
            return document(f"{what}, JSON" if what else "JSON", json.loads(written), budget)
        except (ValueError, RecursionError):
            pass
    return long_text(written, budget.take(len(written)), what)


def link(one: dict[str, Any]) -> str:
    """A link to a resource; only what a browser may safely open can be clicked."""
    uri = str(one.get("uri") or "")
    name = text(one.get("title") or one.get("name") or uri, 200)
    kind = f", {text(one['mimeType'], 100)}" if one.get("mimeType") else ""
    about = f"<div>{text(one['description'], 400)}</div>" if one.get("description") else ""
    return f'<div>{name} <span class="mcpool-dim">{uri_link(uri)}{kind}</span>{about}</div>'


def uri_link(uri: str) -> str:
    """An address: as a link when it is one of the web, else as text."""
    shown = text(uri, 300)
    if not uri.lower().startswith(_SCHEMES) or any(one.isspace() or not one.isprintable() for one in uri):
        return f"<code>{shown}</code>"
    return f'<a href="{text(uri)}" target="_blank" rel="noopener noreferrer nofollow">{shown}</a>'


def resource(one: dict[str, Any], number: int, budget: Budget) -> str:
    """A resource that came with the result."""
    uri, kind = str(one.get("uri") or ""), one.get("mimeType")
    if isinstance(one.get("text"), str):
        return text_block(one["text"], budget, f"resource {uri[:200]}")
    where = f'<span class="mcpool-dim">{uri_link(uri)}</span>'
    return where + media_figure(one.get("blob"), kind, f"resource in block {number}", budget)
