"""The approval of a person whom a framework asks. The core remembers the wish and decides.

Whoever asks for approval once, on any way from a manager's tools to an agent, gets it on every way: an agent
may have the same tool on two ways, one of them without asking. A way that cannot ask calls with
`execute_unasked`, or with `execute` of `_parts`, which refuse such calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._error_classes import NotApprovedError
from .._errors import McpoolError
from .._output import ToolOutput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._base import ManagerBase
    from .._native import Tool


def ask_about(manager: ManagerBase, needs_approval: bool) -> None:
    """Remembers what an adapter was told about the tools of a manager."""
    if needs_approval:
        manager._native.require_framework_approval()


def is_asked(manager: ManagerBase) -> bool:
    """Whether anybody asked for approval."""
    return manager._native.requires_framework_approval()


def needs_approval(tool: Tool) -> bool:
    """Whether a person has to approve a call of the tool: as it was handed over, or as it is now."""
    return tool._needs_framework_approval()


def refusal(tool: Tool, reason: str | None = None) -> ToolOutput:
    """The output of a call that a person refused."""
    try:
        tool._raise_not_approved(reason)
    except NotApprovedError as error:
        return ToolOutput(tool, None, error)


def refusal_without_asking(tool: Tool) -> ToolOutput | None:
    """The output of a call that needs approval, where nobody can be asked."""
    try:
        tool._check_framework_approval()
    except McpoolError as error:
        return ToolOutput(tool, None, error)
    return None


async def execute_unasked(tool: Tool, arguments: Any, meta: Mapping[str, Any] | None = None) -> ToolOutput:
    """Calls a tool where nobody can be asked: a call that needs approval is refused."""
    return refusal_without_asking(tool) or await tool.execute(arguments, meta=meta)


def execute_unasked_blocking(tool: Tool, arguments: Any) -> ToolOutput:
    """The same for a thread without an event loop."""
    return refusal_without_asking(tool) or tool.execute_blocking(arguments)
