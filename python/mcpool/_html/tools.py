"""Tools in a notebook: a table that can be searched, and one tool in full."""

from __future__ import annotations

from .frame import Budget, count, document, fact_table, frame, note, searchable, table, text
from .servers import signal_notes, state_dot

TYPE_CHECKING = False  # Not from typing: showing something stays cheap.
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._native import Tool

_HEADS = ("Name", "Server", "Description", "State", "Approval", "Arguments")
_ROWS = 1000
_DESCRIPTION = 400
_SCHEMA = 4_000
_SCHEMAS = 400_000


def tool_list(tools: Sequence[Tool]) -> str:
    """Tools as a whole output."""
    return frame(searchable(tool_table(tools)))


def tool_table(tools: Sequence[Tool]) -> str:
    """The table alone; it stays of a size that a page can carry."""
    rows = []
    left = _SCHEMAS
    for tool in tools[:_ROWS]:
        schema = tool.input_schema
        line = signature(schema)
        folded = document(line, schema, Budget(_SCHEMA), folded=True) if left > 0 else text(line)
        left -= len(folded)
        rows.append(_row(tool, folded))
    more = len(tools) - len(rows)
    rest = note(f"{count(more, 'more tool')}: show a part of the list.") if more else ""
    return table(count(len(tools), "tool"), _HEADS, rows) + rest


def _row(tool: Tool, folded: str) -> str:
    title = tool.title
    named = f'<span class="mcpool-dim mcpool-block">{text(title, 80)}</span>' if title else ""
    return (
        f'<tr><th scope="row"><code>{text(tool.name, 128)}</code>{named}</th><td>{text(tool.server, 80)}</td>'
        f'<td class="mcpool-prose">{text(tool.description, _DESCRIPTION)}{signal_notes(tool.signals)}</td>'
        f"<td>{state_dot(tool.state)}</td><td>{'needed' if tool.requires_approval else 'no'}</td>"
        f"<td>{folded}</td></tr>"
    )


def signature(schema: Any) -> str:
    """The arguments in one line; a question mark for what may be left out."""
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(fields, dict) or not fields:
        return "none"
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    words = [name if name in needed else f"{name}?" for name in list(fields)[:20]]
    line = ", ".join(words)
    return line if len(line) <= 80 else f"{line[:79]}…"


def tool(one: Tool) -> str:
    """One tool in full."""
    rows = [("Server", text(one.server, 80)), ("Server's name", f"<code>{text(one.raw_name, 200)}</code>")]
    if one.title:
        rows.append(("Title", text(one.title, 200)))
    rows += [
        (
            "Description",
            f'<div class="mcpool-prose">{text(one.description, 20_000)}{signal_notes(one.signals)}</div>',
        ),
        ("State", state_dot(one.state)),
        ("Approval", "needed" if one.requires_approval else "no"),
        ("Provider", text(one.provider, 200)),
    ]
    for name, value in (
        ("Arguments", one.input_schema),
        ("Results", one.output_schema),
        ("Annotations", one.annotations),
    ):
        if value is not None:
            summary = signature(value) if name != "Annotations" else "hints of the server"
            rows.append((name, document(summary, value, Budget())))
    return frame(fact_table(f"<strong><code>{text(one.name, 128)}</code></strong>", rows))
