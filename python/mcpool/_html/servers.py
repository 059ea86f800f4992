"""Servers in a notebook: the status table, how connecting went, an error."""

from __future__ import annotations

import time
from collections import Counter

from .frame import count, duration, fact_table, frame, table, text

TYPE_CHECKING = False  # Not from typing: showing something stays cheap.
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._errors import McpoolError
    from .._events import Signal
    from .._status import Calls, ConnectReport, ServerStatus

_HEADS = (
    "Server",
    "State",
    "Transport",
    "#Tools",
    "#Uptime",
    "#Restarts",
    "#Calls",
    "#p50",
    "#p99",
    "Source",
)
_LONG = 500
_NONE = "\N{EN DASH}"


def state_dot(state: str) -> str:
    """A state: its word, and a dot whose colour and shape say it again."""
    return f'<span class="mcpool-dot mcpool-{text(state)}" aria-hidden="true"></span>{text(state)}'


def status(statuses: Sequence[ServerStatus]) -> str:
    """Servers as a whole output."""
    moment = time.strftime("%H:%M:%S")
    return frame(status_table(statuses, f" at {moment}"))


def status_table(statuses: Sequence[ServerStatus], when: str = "") -> str:
    """The table alone."""
    states = Counter(one.state for one in statuses)
    tally = ", ".join(f"{number} {text(state)}" for state, number in states.items())
    caption = f"{count(len(statuses), 'server')}{': ' + tally if tally else ''}{when}"
    return table(caption, _HEADS, (_rows(one) for one in statuses))


def _rows(one: ServerStatus) -> str:
    itself = " ".join(part for part in (one.server_name, one.server_version) if part)
    name = f"{text(one.name, 80)}{_dim(text(itself, 80)) if itself else ''}"
    up, since = _NONE, ""
    if one.uptime_ms is not None:
        up = duration(one.uptime_ms)
    if one.connected_since is not None:
        since = f' data-since="{int(one.connected_since.timestamp() * 1000)}"'
    where = text(one.source.provider, 40)
    if one.source.path:
        where += _dim(text(one.source.path, 200))
    cells = (
        f'<th scope="row">{name}</th>'
        f'<td class="mcpool-state">{state_dot(one.state)}{_dim(_outlook(one))}</td>'
        f"<td>{text(one.transport or _NONE)}</td>"
        f'<td class="mcpool-number">{one.tool_count}</td>'
        f'<td class="mcpool-number"{since}>{up}</td>'
        f'<td class="mcpool-number">{one.restarts}</td>'
        f'<td class="mcpool-number">{_calls(one.calls)}</td>'
        f'<td class="mcpool-number">{_ms(one.calls.p50_ms)}</td>'
        f'<td class="mcpool-number">{_ms(one.calls.p99_ms)}</td>'
        f"<td>{where}</td>"
    )
    below = ""
    if one.error is not None:
        said = problem(one.error, code=True)
        below = f'<tr class="mcpool-below"><td colspan="{len(_HEADS)}">{said}</td></tr>'
    return f"<tr>{cells}</tr>{below}"


def _outlook(one: ServerStatus) -> str:
    """The next step for a server that is not up."""
    parts = []
    if one.connected_since is None and one.attempt > 1:
        parts.append(f"attempt {one.attempt}")
    if one.next_retry_ms is not None:
        due = int(time.time() * 1000 + one.next_retry_ms)
        parts.append(f'next in <span data-due="{due}">{duration(one.next_retry_ms + 999)}</span>')
    return ", ".join(parts)


def _calls(calls: Calls) -> str:
    done = calls.ok + calls.error + calls.timeout
    odd = [
        f"{number} {word}"
        for number, word in (
            (calls.error, "failed"),
            (calls.timeout, "timed out"),
            (calls.in_flight, "under way"),
        )
        if number
    ]
    return f"{done}{_dim(', '.join(odd))}"


def _ms(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:.1f} ms" if value < 100 else f"{value:.0f} ms" if value < 10_000 else duration(value)


def _dim(content: str) -> str:
    return f'<span class="mcpool-dim mcpool-block">{content}</span>' if content else ""


def problem(error: McpoolError, *, code: bool = False) -> str:
    """What happened and what to do about it."""
    head = f"<strong>{text(error.code)}</strong> " if code else ""
    hint = f'<span class="mcpool-block">→ {text(error.hint, _LONG)}</span>' if error.hint else ""
    # The last lines say most.
    output = "".join(f"{name}:<pre>{text(words[-_LONG:])}</pre>" for name, words in _output(error))
    return f'<div class="mcpool-problem">{head}{text(error.message, _LONG)}{hint}{output}</div>'


def _output(error: McpoolError) -> list[tuple[str, str]]:
    """What the server's process wrote, by stream."""
    streams = (("stdout", error.stdout), ("stderr", error.stderr))
    return [(name, words) for name, words in streams if words]


def signal_notes(signals: Sequence[Signal]) -> str:
    """What in a server's texts looks like instructions to a model."""
    lines = [f"{text(one.kind, 80)}: {text(one.excerpt, 300)}" for one in signals[:10]]
    return "".join(f'<div class="mcpool-problem">Tries to give orders, {line}</div>' for line in lines)


def error(one: McpoolError) -> str:
    """An error that is displayed, not raised."""
    rows = [("Message", text(one.message, 4000))]
    if one.hint:
        rows.append(("Hint", text(one.hint, 4000)))
    if one.server:
        rows.append(("Server", text(one.server, 200)))
    if one.stage:
        rows.append(("Stage", text(one.stage)))
    if one.executed:
        rows.append(("Executed", text(one.executed)))
    numbers = (("Exit code", one.exit_code), ("Signal", one.signal), ("HTTP status", one.http_status))
    rows += [(name, text(number)) for name, number in numbers if number is not None]
    rows += [(name, f"<pre>{text(words)}</pre>") for name, words in _output(one)]
    if one.rpc is not None:
        rows.append(("Server's answer", f"{one.rpc.code}: {text(one.rpc.message, 4000)}"))
    if one.restart is not None:
        due = one.restart.next_retry_ms
        rest = "" if due is None else f", next in {duration(due + 999)}"
        rows.append(("Restart", f"attempt {one.restart.attempt}{rest}"))
    if one.retry_after_ms is not None:
        rows.append(("Retry after", duration(one.retry_after_ms + 999)))
    return frame(fact_table(f"<strong>{text(one.code)}</strong>", rows))


def report(one: ConnectReport) -> str:
    """How connecting went: a row for each server."""
    rows = []
    for word, names in (
        ("connected", one.connected),
        ("deferred", one.deferred),
        ("pending", one.pending),
        ("failed", list(one.failed)),
        ("blocked", one.blocked),
        ("disabled", one.disabled),
    ):
        for name in names:
            error = one.failed.get(name) if word == "failed" else None
            took = one.durations_ms.get(name)
            rows.append(
                f'<tr><th scope="row">{text(name, 80)}</th><td>{state_dot(word)}</td>'
                f'<td class="mcpool-number">{_ms(took)}</td>'
                f"<td>{problem(error, code=True) if error else ''}</td></tr>"
            )
    caption = f"{len(one.connected)} of {count(len(rows), 'server')} connected"
    return frame(table(caption, ("Server", "State", "#Took", "Error"), rows))
