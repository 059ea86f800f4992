"""Pydantic AI: a toolset for `Agent(toolsets=[…])`, which lists the tools on each step of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._public import public_names
from ._approval import ask_about, execute_unasked
from ._approval import needs_approval as needs_approval_now
from ._parts import execute, missing_package, output_record, tool_metadata, tools_by_name
from ._sampling import sampling_callback

try:
    from pydantic_ai import BinaryContent, ToolDefinition, ToolFailed, ToolReturn
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ImportError as _error:
    raise missing_package("pydantic-ai-slim", __name__) from _error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pydantic_ai.models import Model

    from .._base import ManagerBase
    from .._native import Tool
    from ._sampling import Sampling

__all__ = ["PoolToolset", "sampling", "toolset"]


def __dir__() -> list[str]:
    return public_names(globals())


# The server validates the arguments; here they only have to be an object.
OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


def toolset(manager: ManagerBase, *, id: str | None = None, needs_approval: bool = False) -> PoolToolset:
    """The tools of the manager; each step of a run has them as they are then.

    With `needs_approval`, a run ends with `DeferredToolRequests` for the tools that the manager marks as
    requiring approval. It holds for all tools of the manager from then on.
    """
    return PoolToolset(manager, id=id, needs_approval=needs_approval)


def sampling(
    model: Model | str,
    *,
    choose: Callable[[list[str]], Model | str | None] | None = None,
    ignore: Collection[str] = (),
) -> Sampling:
    """A callback for `on_sampling` of a manager: servers get their messages from a model, or one by name.

    `choose` gets the names of models that a server would like, and returns another model, or None for this
    one. What cannot be asked of the model is refused, with a warning in the log; `ignore` names members of
    requests that are left out instead, such as "temperature".
    """
    from ._pydantic_ai_sampling import ask

    return sampling_callback(ask, model, choose, ignore)


class PoolToolset(AbstractToolset[Any]):
    """The tools of a manager under their names there. Its owner connects and closes.

    A failure is `ToolFailed`: the model is told, and it costs no retry. What the server sent is in the
    metadata of the return.
    """

    def __init__(self, manager: ManagerBase, *, id: str | None = None, needs_approval: bool = False) -> None:
        self._manager = manager
        self._id = id
        ask_about(manager, needs_approval)
        # A tool that is gone is still found: the model gets the error of its call.
        self._seen: dict[str, Tool] = {}

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: Any) -> dict[str, Any]:
        current = tools_by_name(self._manager)
        self._seen.update(current)
        return {
            name: ToolsetTool(
                toolset=self,
                tool_def=self._definition(tool),
                max_retries=ctx.max_retries,
                args_validator=OBJECT,
            )
            for name, tool in current.items()
        }

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        # A run that continues from a saved state has seen no tools yet.
        seen = self._seen.get(name) or tools_by_name(self._manager).get(name)
        if seen is None:
            output = await execute(self._manager, name, tool_args)
        elif ctx.tool_call_approved:
            output = await seen.execute(tool_args)
        else:
            output = await execute_unasked(seen, tool_args)
        if output.is_error:
            raise ToolFailed(output.text)
        shown = [BinaryContent(image.decode(), media_type=image.mime_type) for image in output.model_images]
        return ToolReturn([output.text, *shown] if shown else output.text, metadata=output_record(output))

    def _definition(self, tool: Tool) -> ToolDefinition:
        return ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=tool.object_schema,
            return_schema=tool.output_schema,
            strict=False,  # Strict mode needs a rewritten schema.
            kind="unapproved" if needs_approval_now(tool) else "function",
            metadata=tool_metadata(tool),
        )
