"""LlamaIndex: agents whose model is scripted, and our tools in their own loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, stdio
from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ImageBlock, LLMMetadata, TextBlock
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import ToolOutput
from llama_index.core.tools.calling import call_tool
from mcpool.adapters.llama_index import Approval, ApprovalRequired, ToolRetriever, tools
from script import SLEEP, Script, Turn, after_restart, echo, once_listed, received
from table import Ask, Loop, Seen, Told


class Model(FunctionCallingLLM):
    """Says what the script says; remembers what it was told and offered."""

    script: Any
    told: list[Sequence[ChatMessage]] = []  # noqa: RUF012
    offered: list[dict[str, Any]] = []  # noqa: RUF012

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True)

    def _prepare_chat_with_tools(self, tools: Any, chat_history: Any = None, **_: Any) -> dict[str, Any]:
        functions = [tool.metadata.to_openai_tool()["function"] for tool in tools]
        self.offered.append({function["name"]: function["parameters"] for function in functions})
        return {"messages": list(chat_history or [])}

    async def achat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        self.told.append(messages)
        said = self.script.next()
        calls = [] if isinstance(said, str) else said
        content = said if isinstance(said, str) else None
        message = ChatMessage(role="assistant", content=content, additional_kwargs={"calls": calls})
        return ChatResponse(message=message)

    async def astream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> Any:
        response = await self.achat(messages)

        async def stream() -> AsyncIterator[ChatResponse]:
            yield response

        return stream()

    def get_tool_calls_from_response(self, response: ChatResponse, **_: Any) -> list[ToolSelection]:
        calls = response.message.additional_kwargs.get("calls", [])
        return [
            ToolSelection(tool_id=f"call-{number}", tool_name=name, tool_kwargs=arguments)
            for number, (name, arguments) in enumerate(calls)
        ]

    def chat(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    complete = stream_chat = stream_complete = chat

    async def acomplete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    astream_complete = acomplete


def model(*turns: Turn) -> Model:
    return model_of(Script(*turns))


def model_of(script: Script) -> Model:
    return Model(script=script, told=[], offered=[])


def example(script: Script) -> dict[str, Any]:
    """What an example in the docs takes for granted."""
    return {"model": model_of(script)}


@asynccontextmanager
async def connected(journal: Path | None = None) -> AsyncIterator[mcpool.Manager]:
    async with mcpool.Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool(), wrap=False) as manager:
        await manager.connect_all()
        yield manager


async def outputs(agent: FunctionAgent | AgentWorkflow) -> list[ToolOutput]:
    """What the tools gave that the agent called, in the order of the calls."""
    result: AgentOutput = await agent.run(user_msg="go")
    assert result.response.content == "done"
    calls: list[Any] = sorted(result.tool_calls, key=lambda call: call.tool_id)
    return [call.tool_output for call in calls]


async def loop(
    manager: mcpool.Manager, script: Script, ask: Ask | None, asks: bool = False, *, retrieves: bool
) -> Seen:
    """An agent for the table."""
    llm = model_of(script)
    given: dict[str, Any] = {"tools": [*tools(manager, needs_approval=asks)]}
    if retrieves:
        given = {"tool_retriever": ToolRetriever(manager, needs_approval=asks)}
    run = FunctionAgent(llm=llm, **given).run(user_msg="go")
    try:
        async for event in run.stream_events():
            if ask is not None and isinstance(event, ApprovalRequired):
                run.ctx.send_event(Approval(question=event.question, approved=ask(event.tool)))
        result = await run
    except asyncio.CancelledError:
        await run.cancel_run()
        raise
    assert result.response.content == "done"
    return Seen(
        [as_told(call.tool_output) for call in result.tool_calls], [set(each) for each in llm.offered]
    )


def as_told(output: ToolOutput) -> Told:
    images = [block for block in output.blocks if isinstance(block, ImageBlock)]
    record = output.raw_output if isinstance(output.raw_output, dict) else {}
    return Told(output.content, output.is_error, len(images), record.get("structuredContent"))


LOOPS = {
    "LlamaIndex `tools`": Loop(partial(loop, retrieves=False), partial(ToolRetriever, needs_approval=True)),
    "LlamaIndex `ToolRetriever`": Loop(partial(loop, retrieves=True), partial(tools, needs_approval=True)),
}


def test_a_schema_reaches_the_model_as_the_server_wrote_it() -> None:
    async def main() -> None:
        async with connected() as manager:
            llm = model("done")
            await outputs(FunctionAgent(llm=llm, tools=tools(manager)))
            assert llm.offered == [{tool.name: tool.input_schema for tool in manager.get_tools()}]
            for tool in tools(manager):
                assert json.loads(tool.metadata.fn_schema_str) == tool.metadata.get_parameters_dict()

    asyncio.run(main())


def test_an_agent_calls_several_tools_at_once() -> None:
    async def main() -> None:
        async with connected() as manager:
            llm = model([echo("one"), echo("two"), ("mcp_a_add", {"a": 1, "b": 2})], "done")
            one, two, three = await outputs(FunctionAgent(llm=llm, tools=tools(manager)))
            assert (one.content, two.content, one.is_error) == ("one", "two", False)
            assert three.raw_output["structuredContent"] == {"sum": 3}
            assert three.raw_input == {"a": 1, "b": 2}
            # The agent tells them in the order in which they came.
            assert {message.content for message in llm.told[1][-3:]} == {"one", "two", three.content}

    asyncio.run(main())


def test_a_workflow_of_agents_and_an_agent_of_text_call_tools() -> None:
    async def main() -> None:
        async with connected() as manager:
            workflow = AgentWorkflow.from_tools_or_functions(tools(manager), llm=model([echo("one")], "done"))
            (output,) = await outputs(workflow)
            assert output.content == "one"

            thinking = 'Thought: t\nAction: mcp_a_echo\nAction Input: {"text": "two"}'
            agent = ReActAgent(
                llm=model(thinking, "Thought: I can answer without using any more tools.\nAnswer: done"),
                tools=tools(manager),
            )
            result = await agent.run(user_msg="go")
            assert [call.tool_output.content for call in result.tool_calls] == ["two"]

    asyncio.run(main())


def test_tools_are_called_without_a_loop() -> None:
    with mcpool.blocking.Manager(config(a=stdio()), pool=mcpool.Pool(), wrap=False) as manager:
        manager.connect_all()
        found = {tool.metadata.name: tool for tool in tools(manager)}
        assert found["mcp_a_echo"](text="one").content == "one"
        assert call_tool(found["mcp_a_echo"], {"text": "two"}).content == "two"
        assert call_tool(found["mcp_a_fail"], {"message": "no"}).is_error


def test_an_error_of_a_tool_is_an_output() -> None:
    async def main() -> None:
        async with connected() as manager:
            turns = [[("mcp_a_fail", {"message": "no such file"}), echo("unharmed")], "done"]
            failed, other = await outputs(FunctionAgent(llm=model(*turns), tools=tools(manager)))
            assert (failed.is_error, failed.content) == (True, "Error: no such file")
            assert (other.is_error, other.content) == (False, "unharmed")

    asyncio.run(main())


def test_a_server_that_dies_is_an_output() -> None:
    async def main() -> None:
        async with connected() as manager:
            turns = [[("mcp_a_exit", {"code": 3})], [echo("back")], "done"]
            agent = FunctionAgent(llm=model(*turns), tools=tools(manager))
            result = await agent.run(user_msg="go")
            died, back = (call.tool_output for call in result.tool_calls)
            assert died.is_error and died.content.startswith("MCP error: ")
            assert isinstance(died.exception, mcpool.ConnectionLostError) and died.raw_output is None
            assert back.content == "back"

    asyncio.run(main())


def test_an_image_is_a_block_that_the_model_is_told() -> None:
    async def main() -> None:
        async with connected() as manager:
            llm = model([("mcp_a_image", {})], "done")
            (output,) = await outputs(FunctionAgent(llm=llm, tools=tools(manager)))
            text, image = output.blocks
            assert isinstance(text, TextBlock) and "[Image: image/png]" in text.text
            assert isinstance(image, ImageBlock) and image.image_mimetype == "image/png"
            assert image.resolve_image().read().startswith(b"\x89PNG")
            assert llm.told[1][-1].blocks == output.blocks

    asyncio.run(main())


def test_cancelling_a_run_cancels_the_call(tmp_path: Path) -> None:
    async def main() -> None:
        journal = tmp_path / "a.jsonl"
        async with connected(journal) as manager:
            agent = FunctionAgent(llm=model([SLEEP], "done"), tools=tools(manager))
            run = agent.run(user_msg="go")
            assert await asyncio.to_thread(received, journal, "tools/call")
            await run.cancel_run()
            assert await asyncio.to_thread(received, journal, "notifications/cancelled")
            assert (await manager.call_tool("a", "echo", {"text": "unharmed"})).text == "unharmed"

    asyncio.run(main())


def test_a_restart_between_two_turns_goes_unnoticed() -> None:
    async def main() -> None:
        async with connected() as manager:
            pid = ("mcp_a_pid", {})
            llm = model([pid], after_restart(manager, pid), "done")
            first, second = await outputs(FunctionAgent(llm=llm, tools=tools(manager)))
            assert not first.is_error and first.content != second.content
            assert second.content == str(manager.status()[0].pid)

    asyncio.run(main())


def test_a_new_tool_is_offered_on_the_next_turn() -> None:
    async def main() -> None:
        async with connected() as manager:
            change, fresh = ("mcp_a_change_tools", {"name": "fresh"}), "mcp_a_fresh"
            llm = model([change], once_listed(manager, fresh, echo("wait")), [(fresh, {})], "done")
            agent = FunctionAgent(llm=llm, tool_retriever=ToolRetriever(manager))
            *_, called = await outputs(agent)
            assert not called.is_error
            first, _, *later = (fresh in offered for offered in llm.offered)
            assert not first and later == [True, True]

    asyncio.run(main())


def test_a_retriever_offers_what_suits_the_message_and_finds_what_is_called() -> None:
    async def main() -> None:
        async with connected() as manager:
            llm = model([echo("not offered, but there")], "done")
            agent = FunctionAgent(llm=llm, tool_retriever=ToolRetriever(manager, k=2))
            result = await agent.run(user_msg="add two numbers")
            assert "mcp_a_add" in llm.offered[0] and len(llm.offered[0]) <= 2
            assert [call.tool_output.content for call in result.tool_calls] == ["not offered, but there"]

    asyncio.run(main())


@pytest.mark.parametrize("approved", [True, False])
def test_a_person_is_asked_before_the_call(approved: bool, tmp_path: Path) -> None:
    async def main() -> None:
        journal = tmp_path / "a.jsonl"
        async with connected(journal) as manager:
            llm = model([("mcp_a_count", {"key": "k"}), echo("x")], "done")
            run = FunctionAgent(llm=llm, tools=tools(manager, needs_approval=True)).run(user_msg="go")
            questions = []
            async for event in run.stream_events():
                if isinstance(event, ApprovalRequired):
                    questions.append((event.tool, event.arguments))
                    run.ctx.send_event(Approval(question=event.question, approved=approved))
            result = await run
            assert sorted(questions) == [("mcp_a_count", {"key": "k"}), ("mcp_a_echo", {"text": "x"})]
            assert [call.tool_output.is_error for call in result.tool_calls] == [not approved] * 2
            assert ('"count"' in journal.read_text()) is approved

    asyncio.run(main())


def test_the_same_call_twice_in_a_turn_is_asked_about_once_and_runs_once(tmp_path: Path) -> None:
    async def main() -> None:
        journal = tmp_path / "a.jsonl"
        async with connected(journal) as manager:
            count = ("mcp_a_count", {"key": "k"})
            llm = model([count, count], [count], "done")
            run = FunctionAgent(llm=llm, tools=tools(manager, needs_approval=True)).run(user_msg="go")
            asked = 0
            async for event in run.stream_events():
                if isinstance(event, ApprovalRequired):
                    asked += 1
                    run.ctx.send_event(Approval(question=event.question, approved=True))
            result = await run
            assert asked == 2, "one of the first turn, and the one of the second"
            refused = [call.tool_output.is_error for call in result.tool_calls]
            assert sorted(refused) == [False, False, True]

    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_question_that_nobody_answered_in_time_can_be_asked_again() -> None:
    class Run:
        """A run that waits, is not answered in time, and waits again."""

        class Store:
            pass

        store = Store()
        outcomes = iter([LookupError("waits"), asyncio.TimeoutError(), LookupError("waits")])

        async def wait_for_event(self, *_: Any, **__: Any) -> Approval:
            raise next(self.outcomes)

    async def main() -> None:
        async with connected() as manager:
            offered = tools(manager, needs_approval=True)
            (tool,) = [one for one in offered if one.metadata.name == "mcp_a_count"]
            run: Any = Run()
            for expected in (LookupError, asyncio.TimeoutError, LookupError):
                with pytest.raises(expected):
                    await tool._answer(run, {})

    asyncio.run(main())
