"""LlamaIndex: tools for agents, and a retriever by which an agent has them as they are on each step."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .._public import public_names
from ._approval import ask_about, execute_unasked, execute_unasked_blocking, refusal
from ._approval import needs_approval as needs_approval_now
from ._parts import missing_package
from ._sampling import sampling_callback

try:
    from llama_index.core.base.llms.types import ImageBlock, TextBlock
    from llama_index.core.objects import ObjectRetriever
    from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput
    from llama_index.core.workflow import HumanResponseEvent, InputRequiredEvent
except ImportError as _error:
    raise missing_package("llama-index-core", __name__) from _error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from llama_index.core.llms import LLM
    from llama_index.core.schema import QueryType
    from llama_index.core.tools import BaseTool
    from llama_index.core.workflow import Context

    from .._base import ManagerBase
    from .._native import Tool
    from .._output import ToolOutput as Output
    from ._sampling import Sampling

__all__ = ["Approval", "ApprovalRequired", "PoolTool", "ToolRetriever", "sampling", "tools"]


def __dir__() -> list[str]:
    return public_names(globals())


# The name under which an agent passes its context; no tool has an argument of this name.
CONTEXT = "llama_index_context"


def tools(manager: ManagerBase, *, needs_approval: bool = False) -> list[BaseTool | Callable[..., Any]]:
    """The tools as they are now, for calls with and without asyncio. They stay valid when a server restarts.

    With `needs_approval`, a run streams `ApprovalRequired` for the tools that the manager marks as requiring
    approval, and waits for the answer. Outside of a run there is nobody to ask: they are refused. It holds
    for all tools of the manager from then on.
    """
    ask_about(manager, needs_approval)
    return [PoolTool(manager, tool) for tool in manager.get_tools()]


def sampling(
    llm: LLM,
    *,
    choose: Callable[[list[str]], LLM | None] | None = None,
    ignore: Collection[str] = (),
) -> Sampling:
    """A callback for `on_sampling` of a manager: servers get their messages from an LLM.

    `choose` gets the names of models that a server would like, and returns another LLM, or None for this one.
    What cannot be asked of the model is refused, with a warning in the log; `ignore` names members of
    requests that are left out instead, such as "temperature".
    """
    from ._llama_index_sampling import ask

    return sampling_callback(ask, llm, choose, ignore)


class ToolRetriever(ObjectRetriever[Any]):
    """For `tool_retriever` of an agent, which asks before every step and call: the tools as they are then.

    With `k`, not all of them but those that suit the message best.
    """

    def __init__(self, manager: ManagerBase, k: int | None = None, *, needs_approval: bool = False) -> None:
        self._manager = manager
        self._k = k
        ask_about(manager, needs_approval)

    def retrieve(self, str_or_query_bundle: QueryType) -> list[PoolTool]:
        asked: Any = getattr(str_or_query_bundle, "query_str", str_or_query_bundle)
        found: list[Tool] = self._manager.get_tools()
        if self._k is not None:
            # An agent that is about to call a tool asks by its name.
            named = [tool for tool in found if tool.name == asked]
            found = named or self._manager.search_tools(asked, self._k)
        return [PoolTool(self._manager, tool) for tool in found]

    async def aretrieve(self, str_or_query_bundle: QueryType) -> list[PoolTool]:
        return self.retrieve(str_or_query_bundle)


class ApprovalRequired(InputRequiredEvent):
    """An agent waits for the `Approval` of this question before it calls a tool."""

    question: str
    tool: str
    arguments: dict[str, Any]


class Approval(HumanResponseEvent):
    """The user's answer to a question."""

    question: str
    approved: bool


SAME_CALL = "the same call of this turn is waiting for approval; call it again after it"

# What a run has asked and not been answered yet, by the store that its steps share.
_open_questions: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


class PoolTool(FunctionTool):
    """A tool of a manager. `raw_output` is the whole result as the server sent it, None if there was none."""

    _manager: ManagerBase | None = None

    def __init__(self, manager: ManagerBase, tool: Tool) -> None:
        metadata = RawMetadata(tool.description, tool.name, None, schema=tool.object_schema)
        super().__init__(fn=self.call, async_fn=self.acall, metadata=metadata)
        self._manager = manager
        self._tool = tool
        self.ctx_param_name = CONTEXT

    @property
    def requires_context(self) -> bool:
        """Whether an agent has to pass its context, by which a person is asked."""
        return self._manager is not None and needs_approval_now(self._tool)

    @requires_context.setter
    def requires_context(self, _found: bool) -> None:
        """What the framework finds in the signature of our functions does not matter."""

    # Keywords only, so that no parameter of ours conflicts with an argument of a tool.
    def __call__(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override, unused-ignore]
        return self.call(**arguments)

    def call(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override, unused-ignore]
        return self._output(arguments, execute_unasked_blocking(self._tool, arguments))

    async def acall(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override, unused-ignore]
        context = arguments.pop(CONTEXT, None)
        if context is None or not self.requires_context:
            return self._output(arguments, await execute_unasked(self._tool, arguments))
        answer = await self._answer(context, arguments)
        if answer is None:
            return self._output(arguments, refusal(self._tool, SAME_CALL))
        if answer.approved is not True:
            return self._output(arguments, refusal(self._tool))
        return self._output(arguments, await self._tool.execute(arguments))

    async def _answer(self, context: Context, arguments: dict[str, Any]) -> Approval | None:
        """The answer to the question about this call, or None if the same question waits for another call."""
        # The step runs again when the answer is there: the same call has to ask the same question.
        question = f"{self._tool.name} {json.dumps(arguments, sort_keys=True)}"
        open_questions = _open_questions.setdefault(context.store, set())
        try:
            answer: Approval = await context.wait_for_event(
                Approval,
                waiter_event=ApprovalRequired(question=question, tool=self._tool.name, arguments=arguments),
                waiter_id=question,
                requirements={"question": question},
            )
        except asyncio.TimeoutError:
            open_questions.discard(question)
            raise
        except Exception:
            # This ends the step. A second one would take the place of the first, which would wait for ever.
            if question in open_questions:
                return None
            open_questions.add(question)
            raise
        open_questions.discard(question)
        return answer

    def _output(self, arguments: dict[str, Any], output: Output) -> ToolOutput:
        shown = [
            ImageBlock(image=image.decode(), image_mimetype=image.mime_type) for image in output.model_images
        ]
        return ToolOutput(
            tool_name=self._tool.name,
            blocks=[TextBlock(text=output.text), *shown],
            raw_input=arguments,
            raw_output=output.result and output.result.raw,
            is_error=output.is_error,
            exception=output.error,
        )


@dataclass
class RawMetadata(ToolMetadata):
    """Metadata whose schema is the server's own, not one that went through a model class."""

    schema: dict[str, Any] = field(default_factory=dict)

    def get_parameters_dict(self) -> dict[str, Any]:
        return self.schema

    @property
    def fn_schema_str(self) -> str:
        return json.dumps(self.schema, ensure_ascii=False)
