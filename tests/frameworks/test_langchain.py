"""LangChain: agents of `create_agent` whose model is scripted, and our tools in their own loop."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import all_gone, config, stdio
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from mcpool.adapters.langchain import interrupt_on, live_tools, tools
from script import SLEEP, Script, Turn, after_restart, echo, give_up_in_mid_call, once_listed
from table import Ask, Loop, Seen, Told


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


async def loop(
    manager: mcpool.Manager, script: Script, ask: Ask | None, asks: bool = False, *, live: bool
) -> Seen:
    """An agent for the table, which is asked about its calls one by one."""
    scripted = Model(script=script, told=[], offered=[])
    given: dict[str, Any] = {"tools": tools(manager, needs_approval=asks)}
    if live:
        given = {"tools": [], "middleware": [live_tools(manager, needs_approval=asks)]}
    agent = create_agent(scripted, checkpointer=InMemorySaver(), **given)
    thread: Any = {"configurable": {"thread_id": "1"}}
    state = await agent.ainvoke(ASK, thread)
    while ask is not None and "__interrupt__" in state:
        (question,) = state["__interrupt__"]
        decision = {"type": "approve" if ask(question.value["name"]) else "reject"}
        state = await agent.ainvoke(Command(resume=decision), thread)
    assert state["messages"][-1].content == "done"
    return Seen([as_told(message) for message in answers(state)], [set(each) for each in scripted.offered])


def as_told(message: ToolMessage) -> Told:
    blocks = [message.content] if isinstance(message.content, str) else message.content
    images = [block for block in blocks if isinstance(block, dict) and block["type"] == "image"]
    structured = message.artifact and message.artifact["structured"]
    return Told(str(message.text), message.status == "error", len(images), structured)


LOOPS = {
    "LangChain `tools`": Loop(partial(loop, live=False), partial(live_tools, needs_approval=True)),
    "LangChain `live_tools`": Loop(partial(loop, live=True), partial(tools, needs_approval=True)),
}


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


def test_a_tool_that_the_model_made_up_gets_what_it_may_have_meant() -> None:
    made_up = [("mcp_a_ehco", {"text": "x"}), ("nothing_like_it_at_all", {})]

    def check(state: Any) -> None:
        close, far = answers(state)
        assert (close.status, far.status, close.name) == ("error", "error", "mcp_a_ehco")
        assert "mcp_a_echo" in close.text and "nothing_like_it_at_all" in far.text
        assert "[]" not in close.text + far.text

    async def main() -> None:
        async with connected() as manager:
            agent = create_agent(model(made_up, "done"), [], middleware=[live_tools(manager)])
            check(await agent.ainvoke(ASK))

    asyncio.run(main())
    with connected_blocking() as manager:
        check(create_agent(model(made_up, "done"), [], middleware=[live_tools(manager)]).invoke(ASK))


@pytest.mark.parametrize("approved", [True, False])
def test_a_saved_conversation_is_resumed_with_the_answer(approved: bool, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"

    async def main() -> None:
        async with connected(journal=journal) as manager:
            saver, thread = InMemorySaver(), {"configurable": {"thread_id": "1"}}

            def agent(*turns: Turn) -> Any:
                live = live_tools(manager, needs_approval=True)
                return create_agent(model(*turns), middleware=[live], checkpointer=saver)

            asked = await agent([("mcp_a_count", {})]).ainvoke(ASK, thread)
            (question,) = asked["__interrupt__"]
            assert question.value["name"] == "mcp_a_count" and '"count"' not in journal.read_text()
            # Another agent, as after a restart of the application: it has listed no tools yet.
            decision = {"type": "approve"} if approved else {"type": "reject", "message": "too late"}
            (told,) = answers(await agent("done").ainvoke(Command(resume=decision), thread))
            assert (told.text == "1", "not approved: too late" in told.text) == (approved, not approved)
            assert told.status == ("success" if approved else "error")
            assert ('"count"' in journal.read_text()) is approved

    asyncio.run(main())


def test_a_tool_that_needs_approval_is_refused_where_nobody_can_be_asked(tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"

    async def main() -> None:
        async with connected(journal=journal) as manager:
            (count,) = (tool for tool in tools(manager, needs_approval=True) if tool.name == "mcp_a_count")
            call = {"type": "tool_call", "id": "1", "name": count.name, "args": {}}
            assert "not approved" in await count.ainvoke({})
            assert (await count.ainvoke(call)).status == "error"
            assert '"count"' not in journal.read_text()

    asyncio.run(main())


def test_a_tool_that_needs_approval_is_refused_without_langgraph(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("langgraph.config", "langgraph.types"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "mcpool.adapters._langchain_question", raising=False)

    async def main() -> None:
        async with connected() as manager:
            (count,) = (tool for tool in tools(manager, needs_approval=True) if tool.name == "mcp_a_count")
            assert "not approved" in await count.ainvoke({})
            assert "not approved" in count.invoke({})

    asyncio.run(main())


def plain_graph(manager: Any) -> Any:
    """A graph whose one node makes all calls of a turn in one task."""
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(tools(manager, needs_approval=True)))
    graph.add_edge(START, "tools")
    return graph.compile(checkpointer=InMemorySaver())


def two_counts(*ids: str) -> dict[str, Any]:
    calls = [{"type": "tool_call", "id": id, "name": "mcp_a_count", "args": {}} for id in ids]
    return {"messages": [AIMessage("", tool_calls=calls)]}


APPROVE = {"type": "approve"}
# The answer, and which of two calls it approves.
SHARED: list[tuple[Any, list[bool]]] = [
    (APPROVE, [False, False]),
    ({**APPROVE, "tool_call_id": "1"}, [True, False]),
    ({**APPROVE, "tool_call_id": "2"}, [False, False]),
    ({**APPROVE, "tool_call_id": None}, [False, False]),
    ({"type": "reject", "tool_call_id": "1"}, [False, False]),
    (True, [False, False]),
]


@pytest.mark.parametrize("is_blocking", [False, True])
@pytest.mark.parametrize(("answer", "approved"), SHARED)
def test_an_approval_counts_once_and_for_the_call_that_it_names(
    answer: Any, approved: list[bool], is_blocking: bool, tmp_path: Path
) -> None:
    journal, thread = tmp_path / "a.jsonl", {"configurable": {"thread_id": "1"}}

    async def main() -> None:
        async with connected(journal=journal) as manager:
            graph = plain_graph(manager)

            async def go(given: Any) -> Any:
                if is_blocking:
                    return await asyncio.to_thread(graph.invoke, given, {**thread, "max_concurrency": 1})
                return await graph.ainvoke(given, thread)

            asked = await go(two_counts("1", "2"))
            assert [question.value["tool_call_id"] for question in asked["__interrupt__"]] == ["1"]
            state = await go(Command(resume=answer))
            assert "__interrupt__" not in state
            assert [told.status == "success" for told in answers(state)] == approved
            assert "another call" in answers(state)[1].text
            assert journal.read_text().count('{"event":"ran","tool":"count"}') == sum(approved)

    asyncio.run(main())


def test_calls_of_an_agent_wait_in_tasks_of_their_own(tmp_path: Path) -> None:
    journal, thread = tmp_path / "a.jsonl", {"configurable": {"thread_id": "1"}}

    async def main() -> None:
        async with connected(journal=journal) as manager:
            agent = create_agent(
                model([("mcp_a_count", {}), ("mcp_a_count", {})], "done"),
                tools(manager, needs_approval=True),
                checkpointer=InMemorySaver(),
            )
            asked = await agent.ainvoke(ASK, thread)
            first, second = asked["__interrupt__"]
            decisions = {first.id: APPROVE, second.id: {**APPROVE, "tool_call_id": "of another call"}}
            state = await agent.ainvoke(Command(resume=decisions), thread)
            assert [told.status for told in answers(state)] == ["success", "error"]
            assert journal.read_text().count('{"event":"ran","tool":"count"}') == 1

    asyncio.run(main())


@pytest.mark.parametrize("asks", [False, True])
def test_a_former_name_of_a_tool_is_called_unless_a_person_has_to_be_asked(asks: bool) -> None:
    async def main() -> None:
        async with connected() as manager:
            assert "mcp_a_change_tools" in manager.get_tools()
            # Both tools get another name, because they would have the same one.
            await manager.call_tool("a", "change_tools", {"name": "change-tools"})
            assert "mcp_a_change_tools" not in manager.get_tools()
            live = live_tools(manager, needs_approval=asks)
            script = model([("mcp_a_change_tools", {"name": "fresh"})], "done")
            (told,) = answers(await create_agent(script, middleware=[live]).ainvoke(ASK))
            assert told.status == ("error" if asks else "success")
            assert ("not approved" in told.text) is asks

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
