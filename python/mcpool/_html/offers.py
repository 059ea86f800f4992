"""Resources, prompts and skills in a notebook: tables that can be searched."""

from __future__ import annotations

from .frame import count, frame, note, searchable, table, text

TYPE_CHECKING = False  # Not from typing: showing something stays cheap.
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._prompt import Prompt
    from .._resource import Resource
    from .._skill import Skill

_ROWS = 1000
_DESCRIPTION = 400


def resource_list(resources: Sequence[Resource]) -> str:
    """Resources as a whole output."""
    rows = [
        f'<tr><th scope="row"><code>{text(one.uri, 300)}</code></th>'
        f"<td>{text(one.title or one.name, 128)}</td>"
        f'<td class="mcpool-prose">{text(one.description or "", _DESCRIPTION)}</td>'
        f"<td>{text(one.mime_type or '', 80)}</td>"
        f'<td class="mcpool-number">{"" if one.size is None else one.size}</td></tr>'
        for one in resources[:_ROWS]
    ]
    heads = ("Address", "Name", "Description", "Type", "#Bytes")
    return _searchable(heads, rows, len(resources), "resource")


def skill_list(skills: Sequence[Skill]) -> str:
    """Skills as a whole output."""
    rows = [
        f'<tr><th scope="row"><code>{text(one.name, 128)}</code></th>'
        f'<td class="mcpool-prose">{text(one.description, _DESCRIPTION)}</td>'
        f"<td><code>{text(one.uri, 300)}</code></td>"
        f'<td class="mcpool-number">{"" if one.resources == "dynamic" else len(one.resources)}</td></tr>'
        for one in skills[:_ROWS]
    ]
    return _searchable(("Name", "Description", "Address", "#Files"), rows, len(skills), "skill")


def prompt_list(prompts: Sequence[Prompt]) -> str:
    """Prompts as a whole output."""
    rows = [
        f'<tr><th scope="row"><code>{text(one.name, 128)}</code></th>'
        f'<td class="mcpool-prose">{text(one.description or one.title or "", _DESCRIPTION)}</td>'
        f"<td>{text(_arguments(one), 200)}</td></tr>"
        for one in prompts[:_ROWS]
    ]
    return _searchable(("Name", "Description", "Arguments"), rows, len(prompts), "prompt")


def _arguments(prompt: Prompt) -> str:
    words = [it.name if it.required else f"{it.name}?" for it in prompt.arguments[:20]]
    return ", ".join(words) or "none"


def _searchable(heads: tuple[str, ...], rows: list[str], total: int, what: str) -> str:
    more = total - len(rows)
    rest = note(f"{count(more, f'more {what}')}: show a part of the list.") if more else ""
    return frame(searchable(table(count(total, what), heads, rows) + rest))
