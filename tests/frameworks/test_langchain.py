"""LangChain: agents of `create_agent` whose model is scripted, and our tools in their own loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
from fixture_server import all_gone, config, stdio
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from mcpool.adapters.langchain import interrupt_on, live_tools, tools
from script import SLEEP, Script, Turn, after_restart, echo, give_up_in_mid_call, once_listed


class Model(BaseChatModel):
    """Says what the script says; remembers what it was told and offered."""

    script: Any
    told: list[list[BaseMessage]] = []  # noqa: RUF012
    offered: list[dict[str, Any]] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        assert all(convert_to_openai_tool(tool) for tool in tools)
        self.offered.append({tool.name: tool.args_schema for tool in tools})
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.told.append(messages)
        said = self.script.next()
        calls = [] if isinstance(said, str) else said
        message = AIMessage(
            content=said if isinstance(said, str) else "",
            tool_calls=[
                {"name": name, "args": arguments, "id": f"call-{number}"}
                for number, (name, arguments) in enumerate(calls)
            ],
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def model(*turns: Turn) -> Model:
    return Model(script=Script(*turns), told=[], offered=[])


def example(script: Script) -> dict[str, Any]:
    return {"model": Model(script=script, told=[], offered=[])}


@asynccontextmanager
async def connected(*knobs: str, journal: Path | None = None) -> AsyncIterator[mcpool.Manager]:
    async with mcpool.Manager(
        config(a=stdio(*knobs, journal=journal)), pool=mcpool.Pool(), wrap=False
    ) as manager:
        await manager.connect_all()
        yield manager


@contextmanager
def connected_blocking() -> Iterator[mcpool.blocking.Manager]:
    with mcpool.blocking.Manager(config(a=stdio()), pool=mcpool.Pool(), wrap=False) as manager:
        manager.connect_all()
        yield manager


ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "go"}]}


def answers(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


async def run(manager: mcpool.Manager, *turns: Turn) -> list[ToolMessage]:
    state = await create_agent(model(*turns), tools(manager)).ainvoke(ASK)
    assert state["messages"][-1].content == turns[-1]
    return answers(state)


def test_a_schema_reaches_the_model_as_the_server_wrote_it() -> None:
    async def main() -> None:
        async with connected("--bad-tool") as manager:
            scripted = model("done")
            await create_agent(scripted, tools(manager)).ainvoke(ASK)
            (offered,) = scripted.offered
            assert offered == {tool.name: tool.input_schema for tool in manager.get_tools()}

    asyncio.run(main())


def test_an_agent_calls_several_tools_at_once() -> None:
    async def main() -> None:
        async with connected() as manager:
            add = ("mcp_a_add", {"a": 1, "b": 2})
            one, two = await run(manager, [echo("hello"), add], "done")
            assert (one.content, one.status, one.name) == ("hello", "success", "mcp_a_echo")
            assert (two.content, two.tool_call_id) == ("3", "call-1")
            assert two.artifact["structured"] == {"sum": 3}
            assert (two.artifact["server"], two.artifact["tool"]) == ("a", "add")

    asyncio.run(main())


def test_an_agent_without_a_loop_calls_tools_of_either_manager() -> None:
    with connected_blocking() as manager:
        state = create_agent(model([echo("one"), echo("two")], "done"), tools(manager)).invoke(ASK)
        assert [message.content for message in answers(state)] == ["one", "two"]
        (named,) = [tool for tool in tools(manager) if tool.name == "mcp_a_echo"]
        assert named.invoke({"text": "three"}) == "three"
        assert asyncio.run(named.ainvoke({"text": "four"})) == "four"


def test_arguments_may_be_named_as_the_frameworks_own() -> None:
    async def main() -> None:
        async with connected() as manager:
            names = (
                "config",
                "run_manager",
                "callbacks",
                "self",
                "arguments",
                "tool_call_id",
                "runtime",
                "state",
            )
            given = dict.fromkeys(names, "mine") | {"text": "given"}
            (named,) = [tool for tool in tools(manager) if tool.name == "mcp_a_echo"]
            seen: list[Any] = []
            inner, named.coroutine = named.coroutine, None

            async def spy(arguments: Any, call: Any = None) -> Any:
                seen.append(arguments)
                assert inner is not None
                return await inner(arguments, call)

            named.coroutine = spy
            state = await create_agent(model([("mcp_a_echo", given)], "done"), [named]).ainvoke(ASK)
            assert answers(state)[0].content == "given"
            assert seen == [given]

    asyncio.run(main())


def test_an_error_of_a_tool_is_a_message_with_that_status() -> None:
    async def main() -> None:
        async with connected() as manager:
            (message,) = await run(manager, [("mcp_a_fail", {"message": "no luck"})], "done")
            assert (message.status, message.content) == ("error", "Error: no luck")
            assert message.artifact["is_error"] is True
            assert message.artifact["content"] == [{"type": "text", "text": "no luck"}]

    asyncio.run(main())
    with connected_blocking() as manager:
        turns: list[Turn] = [[("mcp_a_fail", {"message": "no luck"})], "done"]
        (message,) = answers(create_agent(model(*turns), tools(manager)).invoke(ASK))
        assert (message.status, message.content) == ("error", "Error: no luck")


def test_a_server_that_dies_is_a_message_with_that_status() -> None:
    async def main() -> None:
        async with connected() as manager:
            (message,) = await run(manager, [("mcp_a_exit", {"code": 3})], "done")
            assert message.status == "error"
            assert "MCP error: " in message.text and "exited with code 3" in message.text
            assert message.artifact["error"]["code"] == "CONNECTION_LOST"

    asyncio.run(main())


def test_an_image_is_a_content_block() -> None:
    async def main() -> None:
        async with connected() as manager:
            (message,) = await run(manager, [("mcp_a_image", {})], "done")
            text, image = message.content_blocks
            assert text["type"] == "text" and "one pixel" in text["text"]
            assert (image["type"], image["mime_type"]) == ("image", "image/png")
            assert image["base64"].startswith("iVBORw0KGgo")
            odd = {"type": "image", "data": "!no base64!", "mimeType": "image/png"}
            svg = {"type": "image", "data": "AAAA", "mimeType": "image/svg+xml"}
            raw = ("mcp_a_raw", {"json": json.dumps({"content": [odd, svg]})})
            (message,) = await run(manager, [raw], "done")
            assert isinstance(message.content, str) and "image/svg+xml" in message.content

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


CHANGE = ("mcp_a_change_tools", {"name": "fresh"})


def test_a_new_tool_is_offered_on_the_next_turn_and_called() -> None:
    @tool
    def own() -> str:
        """One of the agent's own tools."""
        return "mine"

    async def main() -> None:
        async with connected() as manager:
            late = once_listed(manager, "mcp_a_fresh", echo("wait"))
            scripted = model([CHANGE], late, [("mcp_a_fresh", {}), ("own", {})], "done")
            agent = create_agent(scripted, [own], middleware=[live_tools(manager)])
            state = await agent.ainvoke(ASK)
            first, *_, third, _ = scripted.offered
            assert "own" in first and "mcp_a_echo" in first and "mcp_a_fresh" not in first
            assert "own" in third and "mcp_a_fresh" in third
            *_, fresh, mine = answers(state)
            assert (fresh.name, fresh.status, mine.content) == ("mcp_a_fresh", "success", "mine")

    asyncio.run(main())
    with connected_blocking() as manager:
        late = once_listed(manager, "mcp_a_fresh", echo("wait"))
        scripted = model([CHANGE], late, [("mcp_a_fresh", {})], "done")
        state = create_agent(scripted, [], middleware=[live_tools(manager)]).invoke(ASK)
        assert answers(state)[-1].status == "success"


def test_what_goes_away_or_never_was_is_told_to_the_model() -> None:
    async def main() -> None:
        async with connected() as manager:

            def gone() -> Any:
                asyncio.run_coroutine_threadsafe(manager.disconnect("a"), loop).result()
                return [echo("late"), ("mcp_a_nope", {})]

            loop = asyncio.get_running_loop()
            agent = create_agent(model(gone, "done"), [], middleware=[live_tools(manager)])
            late, nope = answers(await agent.ainvoke(ASK))
            assert nope.status == "error" and "mcp_a_nope" in nope.text
            assert late.status == "error" and "MCP error: " in late.text

    asyncio.run(main())


def test_a_conversation_can_be_saved_and_a_person_asked() -> None:
    async def main() -> None:
        async with connected() as manager:
            ours = tools(manager)
            asking = interrupt_on(manager)
            required = {tool.name: tool.metadata and tool.metadata["requires_approval"] for tool in ours}
            assert asking == required and asking["mcp_a_add"] is True
            agent = create_agent(
                model([("mcp_a_add", {"a": 1, "b": 2})], "done"),
                ours,
                middleware=[HumanInTheLoopMiddleware(interrupt_on=asking)],
                checkpointer=InMemorySaver(),
            )
            thread: Any = {"configurable": {"thread_id": "1"}}
            paused = await agent.ainvoke(ASK, thread)
            assert "__interrupt__" in paused and not answers(paused)
            await agent.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
            saved = await agent.aget_state(thread)
            (message,) = answers(saved.values)
            assert message.artifact["structured"] == {"sum": 3}

    asyncio.run(main())
