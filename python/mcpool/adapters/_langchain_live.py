"""LangChain: the middleware that gives an agent the tools as they are on each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._approval import ask_about
from ._parts import execute, execute_blocking, missing_package
from .langchain import PoolTool, message_of, tools

try:
    from langchain.agents.middleware import AgentMiddleware
except ImportError as _error:
    raise missing_package("langchain", "mcpool.adapters.langchain") from _error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware import ModelRequest, ModelResponse, ToolCallRequest
    from langchain_core.messages import ToolMessage
    from langgraph.types import Command

    from .._base import ManagerBase


class LiveTools(AgentMiddleware[Any, Any]):
    """Sets the manager's tools anew before each call of the model, and finds those that it calls."""

    def __init__(self, manager: ManagerBase, needs_approval: bool = False) -> None:
        super().__init__()
        self.tools: list[Any] = []
        self._manager = manager
        ask_about(manager, needs_approval)
        # A tool that is gone is still found: the model gets the error of its call.
        self._seen: dict[str, PoolTool] = {}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return handler(self._renewed(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        return await handler(self._renewed(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        found, call = self._found(request), request.tool_call
        if found.tool is not None:
            return handler(found)
        # LangChain itself would name the tools that the agent was created with, which are not ours.
        return message_of(call, execute_blocking(self._manager, call["name"], call["args"]))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        found, call = self._found(request), request.tool_call
        if found.tool is not None:
            return await handler(found)
        return message_of(call, await execute(self._manager, call["name"], call["args"]))

    def _renewed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        current = self._current()
        others = [tool for tool in request.tools if not isinstance(tool, PoolTool)]
        return request.override(tools=[*others, *current])

    def _current(self) -> list[PoolTool]:
        current = tools(self._manager)
        self._seen.update((tool.name, tool) for tool in current)
        return current

    def _found(self, request: ToolCallRequest) -> ToolCallRequest:
        if request.tool is not None:
            return request
        name = request.tool_call["name"]
        if name not in self._seen:  # An agent that continues from a saved state has seen no tools yet.
            self._current()
        found = self._seen.get(name)
        return request if found is None else request.override(tool=found)
