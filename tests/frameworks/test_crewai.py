"""CrewAI: agents and crews whose model is scripted, and our tools in their own loop."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, stdio
from script import SLEEP, Script, Turn, after_restart, echo, odd_tool, once_listed, received
from table import Loop, Seen, Told

Manager = mcpool.blocking.Manager


@pytest.fixture(scope="session", autouse=True)
def crewai(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """CrewAI, which reads its environment when it is imported, tells nobody anything and has a home here."""
    home = str(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CREWAI_TESTING", "true")
        patch.setenv("CREWAI_DISABLE_VERSION_CHECK", "true")
        patch.setenv("CREWAI_TRACING_ENABLED", "false")
        patch.setenv("HOME", home)
        patch.setenv("XDG_DATA_HOME", home)
        yield


def model(*turns: Turn) -> Any:
    return model_of(Script(*turns))


def example(script: Script) -> dict[str, Any]:
    """What an example in the docs takes for granted."""
    return {"model": model_of(script)}


def model_of(script: Script, native: bool = True) -> Any:
    """Says what the script says; remembers what it was told and offered."""
    from crewai import BaseLLM

    class Model(BaseLLM):
        script: Any
        told: list[Any]
        offered: list[Any]

        def supports_function_calling(self) -> bool:
            return native

        def call(self, messages: Any, tools: Any = None, **_: Any) -> Any:
            functions = [tool["function"] for tool in tools or []]
            self.told.append([dict(message) for message in messages])
            self.offered.append({function["name"]: function["parameters"] for function in functions})
            said = self.script.next()
            if not native:
                return as_thought(said)
            return said if isinstance(said, str) else [as_call(*call) for call in enumerate(said)]

    return Model(model="scripted", script=script, told=[], offered=[])


def as_thought(said: Any) -> str:
    if isinstance(said, str):
        return f"Thought: I know.\nFinal Answer: {said}"
    ((name, arguments),) = said
    return f"Thought: I call.\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def as_call(number: int, call: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"id": f"call-{number}", "function": {"name": call[0], "arguments": json.dumps(call[1])}}


def agent(manager: mcpool.Manager | Manager, llm: Any, tools: Any = None) -> Any:
    from crewai import Agent
    from mcpool.adapters.crewai import tools as every_tool

    tools = every_tool(manager) if tools is None else tools
    return Agent(role="tester", goal="to test", backstory="always tested", llm=llm, tools=tools)


def answers(llm: Any) -> list[str]:
    """What the tools answered, by what the model was told in its last turn."""
    return [message["content"] for message in llm.told[-1] if message["role"] == "tool"]


@contextmanager
def connected(journal: Path | None = None) -> Iterator[Manager]:
    with Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool(), wrap=False) as manager:
        manager.connect_all()
        yield manager


def run(manager: Manager, *turns: Turn) -> Any:
    llm = model(*turns, "done")
    assert agent(manager, llm).kickoff("go").raw == "done"
    return llm


def loop(manager: Manager, script: Script, _ask: None, native: bool) -> Seen:
    """An agent for the table; CrewAI tells what failed and the whole output in hooks and records."""
    from crewai import Crew, Task
    from crewai.hooks import (
        register_after_tool_call_hook,
        register_before_llm_call_hook,
        unregister_after_tool_call_hook,
        unregister_before_llm_call_hook,
    )
    from mcpool.adapters.crewai import Toolbox

    seen: list[Any] = []

    def remember(context: Any) -> None:
        if context.agent is worker:
            seen.append(context.raw_tool_result)

    box, llm = Toolbox(manager), model_of(script, native)
    worker = agent(manager, llm, box.tools())
    task = Task(description="go", expected_output="a word", agent=worker)
    register_before_llm_call_hook(box)
    register_after_tool_call_hook(remember)
    try:
        assert Crew(agents=[worker], tasks=[task]).kickoff().raw == "done"
    finally:
        unregister_before_llm_call_hook(box)
        unregister_after_tool_call_hook(remember)
    texts = answers(llm) if native else observations(llm)
    records = seen + [None] * (len(texts) - len(seen))
    told = [as_told(text, record) for text, record in zip(texts, records, strict=True)]
    if native:
        return Seen(told, [set(each) for each in llm.offered])
    return Seen(told, [set(re.findall(r"mcp_a_\w+", messages[0]["content"])) for messages in llm.told])


def observations(llm: Any) -> list[str]:
    """The same for a model that writes its calls as text."""
    said = [message["content"] for message in llm.told[-1] if message["role"] == "assistant"]
    return [text.rpartition("Observation: ")[2] for text in said]


def as_told(text: str, record: Any) -> Told:
    from crewai.tools.tool_failure import ToolFailure

    output = getattr(record, "output", None)
    return Told(text, isinstance(record, ToolFailure), 0, output and output.structured)


LOOPS = {
    "CrewAI, native calls": Loop(partial(loop, native=True)),
    "CrewAI, ReAct": Loop(partial(loop, native=False)),
}


def test_a_schema_reaches_the_model_as_crewai_declares_schemas() -> None:
    with connected() as manager:
        llm = run(manager)
        assert set(llm.offered[0]) == {tool.name for tool in manager.get_tools()}
        # All arguments are required, and null is what may be left out: CrewAI's way with every tool.
        shape = {"type": "string", "enum": ["text", "structured"], "default": "text"}
        assert llm.offered[0]["mcp_a_big"] == {
            "type": "object",
            "properties": {
                "bytes": {"type": "integer", "minimum": 0},
                "shape": {"anyOf": [shape, {"type": "null"}]},
            },
            "required": ["bytes", "shape"],
            "additionalProperties": False,
        }


def test_a_schema_that_says_what_few_say_reaches_the_model() -> None:
    from crewai.utilities.agent_utils import convert_tools_to_openai_schema
    from mcpool.adapters.crewai import PoolTool

    tool = PoolTool(odd_tool())
    # Twice, since CrewAI changes what it is given.
    for _ in range(2):
        (declared,), *_rest = convert_tools_to_openai_schema([tool])
        shown = declared["function"]["parameters"]["properties"]
        point = shown["point"]
        assert (point["properties"], point["required"]) == ({"x": {"type": "number"}}, ["x"])
        assert shown["either"] == {"anyOf": [point, {"type": "null"}]}
        assert shown["numbers"] == {"type": ["number", "null"]}
        assert shown["untyped"] == {"description": "anything"}
        assert shown["tree"] == {"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]}


def test_what_is_null_is_left_out_of_the_call() -> None:
    with connected() as manager:
        assert answers(run(manager, [("mcp_a_big", {"bytes": 3, "shape": None})])) == ["The"]


def test_an_agent_calls_several_tools_at_once() -> None:
    with connected() as manager:
        assert answers(run(manager, [echo("one"), echo("two")], [echo("three")])) == ["one", "two", "three"]


def test_a_crew_calls_tools_again_and_not_from_a_cache() -> None:
    from crewai import Crew, Task

    with connected() as manager:
        llm = model([("mcp_a_count", {})], [("mcp_a_count", {})], "done")
        worker = agent(manager, llm)
        task = Task(description="count", expected_output="a number", agent=worker)
        assert Crew(agents=[worker], tasks=[task], cache=True).kickoff().raw == "done"
        assert answers(llm) == ["1", "2"]


def test_an_agent_calls_tools_in_a_loop_of_asyncio() -> None:
    async def main() -> None:
        async with mcpool.Manager(config(a=stdio()), pool=mcpool.Pool(), wrap=False) as manager:
            await manager.connect_all()
            llm = model([echo("one"), echo("two")], "done")
            assert (await agent(manager, llm).kickoff_async("go")).raw == "done"
            assert answers(llm) == ["one", "two"]
            (tool,) = (each for each in agent(manager, llm).tools if each.name == "mcp_a_echo")
            assert await tool.arun(text="three") == "three"

    asyncio.run(main())


def test_an_error_of_a_tool_is_a_failure_that_the_agent_survives() -> None:
    from crewai import Crew, Task

    with connected() as manager:
        llm = model([("mcp_a_fail", {"message": "no such file"}), echo("unharmed")], "done")
        worker = agent(manager, llm)
        task = Task(description="try", expected_output="a word", agent=worker)
        output = Crew(agents=[worker], tasks=[task]).kickoff().tasks_output[0]
        assert answers(llm) == ["Error: no such file", "unharmed"]
        (record,) = output.tool_failures
        assert (record.tool_name, record.failure.reason.value) == ("mcp_a_fail", "mcp_error")
        assert record.failure.details == {"server": "a", "tool": "fail"}


def test_a_server_that_dies_is_a_failure_with_a_code() -> None:
    from mcpool.adapters.crewai import tools

    with connected() as manager:
        died, back = answers(run(manager, [("mcp_a_exit", {"code": 3})], [echo("back")]))
        assert died.startswith("MCP error: ") and back == "back"
        (dying,) = (tool for tool in tools(manager) if tool.name == "mcp_a_exit")
        failure = dying.run(code=3)
        assert failure.code == "CONNECTION_LOST"


def test_a_structured_result_and_an_image_are_there_for_hooks() -> None:
    from crewai.hooks import register_after_tool_call_hook, unregister_after_tool_call_hook

    seen: list[Any] = []

    def remember(context: Any) -> None:
        seen.append(context.raw_tool_result.output)

    register_after_tool_call_hook(remember)
    try:
        with connected() as manager:
            said = answers(run(manager, [("mcp_a_add", {"a": 1, "b": 2})], [("mcp_a_image", {})]))
            added, pictured = seen
            assert added.structured == {"sum": 3}
            assert pictured.content[0]["mimeType"] == "image/png" and "[Image: image/png]" in said[1]
    finally:
        unregister_after_tool_call_hook(remember)


def test_closing_the_manager_ends_the_call_and_not_the_agent(tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    with connected(journal) as manager:
        llm = model([SLEEP], "done")
        worker = agent(manager, llm)
        raw: list[str] = []
        thread = threading.Thread(target=lambda: raw.append(worker.kickoff("go").raw))
        thread.start()
        assert received(journal, "tools/call")
        manager.close()
        thread.join(60)
        assert raw == ["done"]
        assert answers(llm)[0].startswith("MCP error: ")


def test_a_restart_between_two_turns_goes_unnoticed() -> None:
    with connected() as manager:
        pid = ("mcp_a_pid", {})
        first, second = answers(run(manager, [pid], after_restart(manager, pid)))
        assert first != second == str(manager.status()[0].pid)


def test_a_new_tool_is_offered_on_the_next_turn() -> None:
    from crewai.hooks import register_before_llm_call_hook, unregister_before_llm_call_hook
    from mcpool.adapters.crewai import Toolbox, tools

    with connected() as manager:
        box, fresh = Toolbox(manager), "mcp_a_fresh"
        llm = model(
            [("mcp_a_change_tools", {"name": "fresh"})],
            once_listed(manager, fresh, ("counted_elsewhere", {})),
            [(fresh, {})],
            "done",
        )
        (other,) = (tool for tool in tools(manager) if tool.name == "mcp_a_count")
        other.name = "counted_elsewhere"
        register_before_llm_call_hook(box)
        try:
            assert agent(manager, llm, [other, *box.tools()]).kickoff("go").raw == "done"
        finally:
            unregister_before_llm_call_hook(box)
        first, _, *later = (fresh in offered for offered in llm.offered)
        assert not first and later == [True, True]
        assert (
            all("counted_elsewhere" in offered for offered in llm.offered) and other.current_usage_count == 1
        )
        *_, called = answers(llm)
        assert called == manager.call(fresh).text


def test_a_further_run_begins_with_the_catalog_as_it_is() -> None:
    from mcpool.adapters.crewai import Toolbox

    with connected() as manager:
        box, llm = Toolbox(manager), model("done", "done")
        worker = agent(manager, llm, box.tools())
        worker.kickoff("go")
        manager.call_tool("a", "change_tools", {"name": "fresh"})
        once_listed(manager, "mcp_a_fresh")()
        box.refresh(worker)
        worker.kickoff("go on")
        assert ["mcp_a_fresh" in offered for offered in llm.offered] == [False, True]
