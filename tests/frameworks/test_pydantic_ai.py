"""Pydantic AI: agents whose model is a function, and our toolset in their own loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import all_gone, config, read_journal, stdio
from mcpool.adapters.pydantic_ai import toolset
from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from script import SLEEP, Script, Turn, after_restart, echo, give_up_in_mid_call, once_listed
from table import Ask, Loop, Seen, Told


class Model(FunctionModel):
    """Says what the script says; remembers what it was offered."""

    def __init__(self, *turns: Turn, script: Script | None = None) -> None:
        super().__init__(self._answer)
        self.script = script or Script(*turns)
        self.offered: list[dict[str, Any]] = []

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered.append({tool.name: tool.parameters_json_schema for tool in info.function_tools})
        said = await asyncio.to_thread(self.script.next)
        if isinstance(said, str):
            return ModelResponse([TextPart(said)])
        return ModelResponse([ToolCallPart(name, arguments) for name, arguments in said])


def example(script: Script) -> dict[str, Any]:
    return {"model": Model(script=script)}


@asynccontextmanager
async def connected(*knobs: str, journal: Path | None = None) -> AsyncIterator[mcpool.Manager]:
    servers = config(a=stdio(*knobs, journal=journal))
    async with mcpool.Manager(servers, pool=mcpool.Pool(), wrap=False) as manager:
        await manager.connect_all()
        yield manager


def returns(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


async def run(manager: mcpool.Manager, *turns: Turn) -> list[ToolReturnPart]:
    result = await Agent(Model(*turns), toolsets=[toolset(manager)]).run("go")
    assert result.output == turns[-1]
    return returns(result.all_messages())


async def loop(manager: mcpool.Manager, script: Script, ask: Ask | None, asks: bool = False) -> Seen:
    """An agent for the table."""
    model = Model(script=script)
    ours = toolset(manager, needs_approval=asks)
    agent: Agent[None, Any] = Agent(model, toolsets=[ours], output_type=[str, DeferredToolRequests])
    result = await agent.run("go")
    while isinstance(asked := result.output, DeferredToolRequests):
        assert ask is not None
        decided: Any = {
            call.tool_call_id: ask(call.tool_name) or ToolDenied("no") for call in asked.approvals
        }
        results = DeferredToolResults(approvals=decided)
        result = await agent.run(message_history=result.all_messages(), deferred_tool_results=results)
    assert result.output == "done"
    parts = [part for message in result.all_messages() for part in message.parts]
    told = [as_told(part) for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
    return Seen(told, [set(offered) for offered in model.offered])


def as_told(part: ToolReturnPart | RetryPromptPart) -> Told:
    if isinstance(part, RetryPromptPart):
        return Told(part.model_response(), True)
    blocks: list[Any] = part.content if isinstance(part.content, list) else [part.content]
    images = [block for block in blocks if isinstance(block, BinaryContent)]
    text = "".join(block for block in blocks if isinstance(block, str))
    record = part.metadata or {}
    return Told(text, part.outcome != "success", len(images), record.get("structured"))


LOOPS = {"Pydantic AI `toolset`": Loop(loop, partial(toolset, needs_approval=True))}


def test_a_schema_reaches_the_model_as_the_server_wrote_it() -> None:
    async def main() -> None:
        async with connected("--bad-tool") as manager:
            model = Model("done")
            await Agent(model, toolsets=[toolset(manager)]).run("go")
            assert model.offered == [{tool.name: tool.input_schema for tool in manager.get_tools()}]

    asyncio.run(main())


def test_an_agent_calls_several_tools_at_once() -> None:
    async def main() -> None:
        async with connected() as manager:
            one, two = await run(manager, [echo("hello"), ("mcp_a_add", {"a": 1, "b": 2})], "done")
            assert (one.content, one.tool_name, one.outcome) == ("hello", "mcp_a_echo", "success")
            assert two.content == "3"
            assert two.metadata["structured"] == {"sum": 3}
            assert (two.metadata["server"], two.metadata["tool"]) == ("a", "add")

    asyncio.run(main())


def test_an_agent_without_a_loop_calls_tools_of_the_blocking_manager() -> None:
    with mcpool.blocking.Manager(config(a=stdio()), pool=mcpool.Pool(), wrap=False) as manager:
        manager.connect_all()
        result = Agent(Model([echo("hello")], "done"), toolsets=[toolset(manager)]).run_sync("go")
        assert returns(result.all_messages())[0].content == "hello"


def test_the_frameworks_own_model_for_tests_calls_what_it_is_offered() -> None:
    async def main() -> None:
        async with connected() as manager:
            model = TestModel(call_tools=["mcp_a_echo", "mcp_a_add"])
            result = await Agent(model, toolsets=[toolset(manager)]).run("go")
            one, two = returns(result.all_messages())
            assert (one.tool_name, two.tool_name, two.content) == ("mcp_a_echo", "mcp_a_add", "0")

    asyncio.run(main())


def test_what_fails_is_told_and_costs_no_retry() -> None:
    async def main() -> None:
        async with connected() as manager:
            fail, exit = ("mcp_a_fail", {"message": "no luck"}), ("mcp_a_exit", {"code": 3})
            *failed, dead = await run(manager, [fail], [fail], [fail], [exit], "done")
            assert {(part.outcome, part.content) for part in failed} == {("failed", "Error: no luck")}
            assert dead.outcome == "failed"
            assert "MCP error: " in dead.content and "exited with code 3" in dead.content

    asyncio.run(main())


def test_an_image_is_binary_content() -> None:
    async def main() -> None:
        async with connected() as manager:
            (part,) = await run(manager, [("mcp_a_image", {})], "done")
            text, image = part.content
            assert "one pixel" in text
            assert isinstance(image, BinaryContent)
            assert image.media_type == "image/png" and image.data.startswith(b"\x89PNG")
            odd = {"type": "image", "data": "!no base64!", "mimeType": "image/png"}
            (part,) = await run(manager, [("mcp_a_raw", {"json": json.dumps({"content": [odd]})})], "done")
            assert isinstance(part.content, str)

    asyncio.run(main())


def test_cancelling_a_run_cancels_the_call(tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"

    async def main() -> None:
        async with connected(journal=journal) as manager:
            await give_up_in_mid_call(run(manager, [SLEEP], "never"), journal)
            assert manager.status()[0].state == "connected"

    asyncio.run(main())
    assert all_gone(journal)


def test_a_restart_between_two_turns_goes_unnoticed() -> None:
    async def main() -> None:
        async with connected() as manager:
            one, two = await run(manager, [echo("one")], after_restart(manager, echo("two")), "done")
            assert (one.content, two.content) == ("one", "two")

    asyncio.run(main())


def test_a_new_tool_is_offered_on_the_next_turn_and_called() -> None:
    async def main() -> None:
        async with connected() as manager:
            change = ("mcp_a_change_tools", {"name": "fresh"})
            late = once_listed(manager, "mcp_a_fresh", echo("wait"))
            model = Model([change], late, [("mcp_a_fresh", {})], "done")
            result = await Agent(model, toolsets=[toolset(manager)]).run("go")
            assert "mcp_a_fresh" not in model.offered[0] and "mcp_a_fresh" in model.offered[2]
            assert returns(result.all_messages())[-1].outcome == "success"

    asyncio.run(main())


@pytest.mark.parametrize("approved", [True, False])
def test_a_person_is_asked_if_the_application_wants(approved: bool, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"

    def called() -> bool:
        return "tools/call" in [entry.get("method") for entry in read_journal(journal)]

    async def main() -> None:
        async with connected(journal=journal) as manager:
            agent = Agent(
                Model([echo("hello")], "done"),
                toolsets=[toolset(manager, needs_approval=True)],
                output_type=[str, DeferredToolRequests],
            )
            asked = await agent.run("go")
            assert isinstance(asked.output, DeferredToolRequests)
            (call,) = asked.output.approvals
            assert call.tool_name == "mcp_a_echo" and not called()
            word = True if approved else ToolDenied("not today")
            result = await agent.run(
                message_history=asked.all_messages(),
                deferred_tool_results=DeferredToolResults(approvals={call.tool_call_id: word}),
            )
            assert result.output == "done"
            (part,) = returns(result.all_messages())
            assert part.content == ("hello" if approved else "not today")
            assert called() is approved

    asyncio.run(main())


def test_toolsets_of_an_agent_need_names_to_be_told_apart() -> None:
    async def main() -> None:
        async with connected() as manager:
            assert toolset(manager).id is None and toolset(manager, id="tools").id == "tools"
            prefixed = toolset(manager).prefixed("x")
            result = await Agent(Model([("x_mcp_a_echo", {"text": "hi"})], "done"), toolsets=[prefixed]).run(
                "go"
            )
            assert returns(result.all_messages())[0].content == "hi"

    asyncio.run(main())
