"""What discovery found, in a notebook."""

from __future__ import annotations

from .frame import Budget, count, document, fold, frame, note, table, text
from .servers import problem, state_dot

TYPE_CHECKING = False  # Not from typing: showing something stays cheap.
if TYPE_CHECKING:
    from .._discover import Discovery, FoundServer


def discovery(one: Discovery) -> str:
    """Servers by source, then files, warnings and errors."""
    rows = [_server(name, server) for name, server in one.servers.items()]
    parts = [table(f"{count(len(rows), 'server')} found", ("Server", "State", "Source", "Definition"), rows)]
    if one.files:
        files = [
            f'<tr><th scope="row">{text(file.provider, 80)}</th><td><code>{text(file.path, 300)}</code></td>'
            f"<td>{text(file.level)}</td>"
            f'<td class="mcpool-number">{file.servers}</td><td>{text(file.problem or "", 400)}</td></tr>'
            for file in one.files
        ]
        caption = count(len(files), "file")
        listed = table(caption, ("Provider", "File", "Level", "#Servers", "Problem"), files)
        parts.append(fold(caption, listed))
    if one.blocked:
        blocked = [
            f'<tr><th scope="row">{text(row.name or "lists of servers", 80)}</th>'
            f"<td><code>{text(row.source.path, 300)}</code></td>"
            f"<td>{text(', '.join(server.name for server in row.servers), 300)}</td></tr>"
            for row in one.blocked
        ]
        caption = f"{len(blocked)} without effect on your servers before you trust it"
        parts.append(table(caption, ("Entry", "File", "Your servers"), blocked))
    if one.left_out:
        left = [
            f'<tr><th scope="row">{text(row.name, 80)}</th><td>{text(row.why, 300)}</td>'
            f"<td>{text(row.source.provider)}</td></tr>"
            for row in one.left_out
        ]
        caption = f"{len(left)} left out"
        parts.append(fold(caption, table(caption, ("Server", "Why", "Source"), left)))
    parts += [problem(row.error, code=True) for row in one.errors]
    parts += [note(warning) for warning in one.warnings]
    return frame(*parts)


def _server(name: str, one: FoundServer) -> str:
    state = "failed" if one.error else "enabled" if one.enabled else "disabled"
    shadows = ", ".join(source.provider for source in one.shadows)
    where = text(one.source.provider, 80)
    for line in (one.source.path, f"shadows {shadows}" if shadows else None):
        where += f'<span class="mcpool-dim mcpool-block">{text(line, 300)}</span>' if line else ""
    shown = (
        problem(one.error, code=True)
        if one.error
        else document("definition", one.config, Budget(4_000), folded=True)
    )
    return (
        f'<tr><th scope="row">{text(name, 80)}</th><td>{state_dot(state)}</td><td>{where}</td>'
        f"<td>{shown}</td></tr>"
    )
