"""LangChain: asks a person about one call by interrupting the graph. Imported on first use; needs langgraph.

LangGraph gives answers to a task's questions in the order in which they are asked, and runs the whole task
again for each. So an answer counts for one call only: the one that has the task for itself, as in
`create_agent`, or the one that it names. A task asks about one call in each run; otherwise the calls that
were approved first would be made again for the next answer.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from langgraph.config import get_config
from langgraph.types import interrupt

if TYPE_CHECKING:
    from collections.abc import Mapping

OTHER_ANSWER = "the answer does not name this call; it needs its tool_call_id"
OTHER_CALL = "another call of this turn is waiting for approval; call it again on its own"

# What LangGraph makes anew for each run of a task: there, a question was asked.
_asking: WeakSet[Any] = WeakSet()
_lock = Lock()


class Decision(NamedTuple):
    """The answer to a question."""

    is_approved: bool
    reason: str | None = None


def ask(name: str, arguments: dict[str, Any], tool_call_id: str | None) -> Decision | None:
    """Interrupts the graph with a question, and gives the answer to it. None: nobody can be asked."""
    try:
        config = get_config()
        is_alone = _is_own_task(config.get("metadata") or {})
        if not is_alone and not _claim(config["configurable"]):
            return Decision(False, OTHER_CALL)
        answer = interrupt(_question(name, arguments, tool_call_id))
    except (RuntimeError, KeyError):  # There is no graph, or one without a memory of its state.
        return None
    if not isinstance(answer, dict):
        return Decision(False)
    named = answer.get("tool_call_id")
    if (named is not None or not is_alone) and (tool_call_id is None or named != tool_call_id):
        return Decision(False, OTHER_ANSWER)
    message = answer.get("message")
    return Decision(answer.get("type") == "approve", None if message is None else str(message))


def _is_own_task(metadata: Mapping[str, Any]) -> bool:
    """Whether the call was sent to a task of its own, as `create_agent` does.

    The task of a `Send` has a number there, other tasks have the name of a node or the path of their caller.
    """
    path = tuple(metadata.get("langgraph_path") or ())
    return len(path) > 1 and path[0] == "__pregel_push" and isinstance(path[1], int)


def _claim(configurable: Mapping[str, Any]) -> bool:
    """Whether this call is the first of the task's run to ask."""
    run = configurable["__pregel_read"]
    with _lock:
        is_first = run not in _asking
        _asking.add(run)
    return is_first


def _question(name: str, arguments: dict[str, Any], tool_call_id: str | None) -> dict[str, Any]:
    description = f"Tool execution requires approval\n\nTool: {name}\nArgs: {arguments}"
    question = {"type": "tool_approval", "tool_call_id": tool_call_id, "name": name, "args": arguments}
    return {**question, "description": description}
