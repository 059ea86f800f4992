"""Anthropic SDK: tools for its tool runner, sync and async."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import (
    BetaAsyncBuiltinFunctionTool,
    BetaBuiltinFunctionTool,
    ToolError,
)

from ..blocking import Manager as BlockingManager
from ._approval import execute_unasked, execute_unasked_blocking
from .anthropic import content

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaFunctionToolResultType
    from anthropic.types.beta import BetaToolParam

    from .._base import ManagerBase
    from .._native import Tool
    from .._output import ToolOutput


class RunnerTools(list[Any]):
    """The tools of a manager for one runner."""

    def __init__(self, manager: ManagerBase) -> None:
        self._manager = manager
        self._kind = BlockingTool if isinstance(manager, BlockingManager) else AsyncTool
        super().__init__(self._kind(tool) for tool in manager.get_tools())

    def refresh(self, runner: Any) -> None:
        """Tells the runner what is new, different or gone, for its next request; call it between two turns.

        The runner says it in the conversation, which needs the beta that its `add_tools` names.
        """
        current = {tool.name: tool for tool in self._manager.get_tools()}
        known = {tool.name: tool.tool.fingerprint for tool in self}
        gone = [name for name in known if name not in current]
        new = [self._kind(tool) for name, tool in current.items() if known.get(name) != tool.fingerprint]
        if gone:
            runner.remove_tools(*gone)
        if new:
            runner.add_tools(*new)
        self[:] = [self._kind(tool) for tool in current.values()]


class AsyncTool(BetaAsyncBuiltinFunctionTool):
    """For the runner of an async client."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def to_dict(self) -> BetaToolParam:
        return _definition(self.tool)

    async def call(self, input: Any) -> BetaFunctionToolResultType:
        return _answer(await execute_unasked(self.tool, input))


class BlockingTool(BetaBuiltinFunctionTool):
    """For the runner of a sync client."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def to_dict(self) -> BetaToolParam:
        return _definition(self.tool)

    def call(self, input: Any) -> BetaFunctionToolResultType:
        return _answer(execute_unasked_blocking(self.tool, input))


def _definition(tool: Tool) -> BetaToolParam:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.object_schema}


def _answer(output: ToolOutput) -> list[Any]:
    blocks = content(output.text, output.model_images)
    if output.is_error:
        raise ToolError(blocks)
    return blocks
