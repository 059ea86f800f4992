"""OpenAI Agents SDK: `Runner.run` with a scripted model, over our function tools and over our server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import mcpool
import pytest
from agents import Agent, FunctionTool, Model, ModelResponse, Runner, RunResult, ToolCallOutputItem, Usage
from fixture_server import all_gone, config, stdio
from mcpool.adapters.openai_agents import server, tools
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from script import SLEEP, Script, Turn, after_restart, echo, give_up_in_mid_call, once_listed
from table import Ask, Loop, Seen, Told


class Scripted(Model):
    """Says what the script says; remembers what it was told and offered."""

    def __init__(self, *turns: Turn, script: Script | None = None) -> None:
        self.script = script or Script(*turns)
        self.offered: list[dict[str, FunctionTool]] = []
        self._calls = 0

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *_: Any, **__: Any
    ) -> ModelResponse:
        self.offered.append({tool.name: tool for tool in tools})
        said = await asyncio.to_thread(self.script.next)
        output: list[Any]
        if isinstance(said, str):
            text = ResponseOutputText(text=said, type="output_text", annotations=[])
            output = [
                ResponseOutputMessage(
                    id="m", content=[text], role="assistant", status="completed", type="message"
                )
            ]
        else:
            output = [self._call(name, arguments) for name, arguments in said]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def _call(self, name: str, arguments: Any) -> ResponseFunctionToolCall:
        self._calls += 1
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return ResponseFunctionToolCall(
            call_id=f"call-{self._calls}", name=name, arguments=text, type="function_call"
        )

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def example(script: Script) -> dict[str, Any]:
    return {"model": Scripted(script=script)}


@asynccontextmanager
async def connected(*knobs: str, journal: Path | None = None) -> AsyncIterator[mcpool.Manager]:
    servers = config(a=stdio(*knobs, journal=journal))
    async with mcpool.Manager(servers, pool=mcpool.Pool(), wrap=False) as manager:
        await manager.connect_all()
        yield manager


Making: TypeAlias = Callable[..., Agent[Any]]


def with_tools(manager: mcpool.Manager, model: Model, **options: Any) -> Agent[Any]:
    return Agent("agent", model=model, tools=tools(manager, **options))


def with_server(manager: mcpool.Manager, model: Model, **options: Any) -> Agent[Any]:
    return Agent("agent", model=model, mcp_servers=[server(manager, **options)])


either = pytest.mark.parametrize("make", [with_tools, with_server])


def outputs(result: RunResult) -> list[Any]:
    """What the model is sent for each call."""
    return [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]


def texts(result: RunResult) -> list[str]:
    """The same, where it is text alone; a server's comes as a list of one."""
    return [output if isinstance(output, str) else output[0]["text"] for output in outputs(result)]


async def run(manager: mcpool.Manager, make: Making, *turns: Turn) -> RunResult:
    result = await Runner.run(make(manager, Scripted(*turns)), "go")
    assert result.final_output == turns[-1]
    return result


async def loop(
    manager: mcpool.Manager, script: Script, ask: Ask | None, asks: bool = False, *, make: Making
) -> Seen:
    """An agent for the table."""
    model = Scripted(script=script)
    agent = make(manager, model, needs_approval=asks)
    result = await Runner.run(agent, "go")
    while ask is not None and result.interruptions:
        state = result.to_state()
        for question in result.interruptions:
            (state.approve if ask(question.name or "") else state.reject)(question)
        result = await Runner.run(agent, state)
    assert result.final_output == "done"
    items = [item for item in result.new_items if isinstance(item, ToolCallOutputItem)]
    told = [as_told(output, item) for output, item in zip(outputs(result), items, strict=True)]
    return Seen(told, [set(offered) for offered in model.offered])


def as_told(output: Any, item: ToolCallOutputItem) -> Told:
    blocks = [{"type": "input_text", "text": output}] if isinstance(output, str) else output
    text = "".join(block.get("text", "") for block in blocks)
    images = [block for block in blocks if block["type"] == "input_image"]
    record = (item.custom_data or {}).get("mcpool", {})
    return Told(text, None, len(images), record.get("structured"))


LOOPS = {
    "OpenAI Agents `tools`": Loop(
        partial(loop, make=with_tools), partial(server, needs_approval=True), takes_text=True
    ),
    "OpenAI Agents `server`": Loop(partial(loop, make=with_server), partial(tools, needs_approval=True)),
}


@either
def test_a_schema_reaches_the_model_as_the_server_wrote_it(make: Making) -> None:
    async def main() -> None:
        async with connected("--bad-tool") as manager:
            model = Scripted("done")
            await Runner.run(make(manager, model), "go")
            offered = {name: tool.params_json_schema for name, tool in model.offered[0].items()}
            assert offered == {tool.name: tool.input_schema for tool in manager.get_tools()}
            assert not any(tool.strict_json_schema for tool in model.offered[0].values())

    asyncio.run(main())


@either
def test_an_agent_calls_several_tools_at_once(make: Making) -> None:
    async def main() -> None:
        async with connected() as manager:
            result = await run(manager, make, [echo("hello"), ("mcp_a_add", {"a": 1, "b": 2})], "done")
            assert texts(result) == ["hello", "3"]

    asyncio.run(main())


@either
def test_what_fails_is_text_for_the_model(make: Making) -> None:
    async def main() -> None:
        async with connected() as manager:
            fail, exit = ("mcp_a_fail", {"message": "no luck"}), ("mcp_a_exit", {"code": 3})
            failed, dead = texts(await run(manager, make, [fail], [exit], "done"))
            assert failed == "Error: no luck"
            assert "MCP error: " in dead and "exited with code 3" in dead

    asyncio.run(main())


def test_arguments_that_are_no_json_are_told_to_the_model() -> None:
    async def main() -> None:
        async with connected() as manager:
            broken: Any = ("mcp_a_echo", '{"text": ')
            (text,) = texts(await run(manager, with_tools, [broken], "done"))
            assert text.startswith("MCP error: The arguments are not valid JSON: ")

    asyncio.run(main())


@either
def test_an_image_is_shown_to_the_model(make: Making) -> None:
    async def main() -> None:
        async with connected() as manager:
            ((text, image),) = outputs(await run(manager, make, [("mcp_a_image", {})], "done"))
            assert text["type"] == "input_text" and "one pixel" in text["text"]
            assert image["type"] == "input_image"
            assert image["image_url"].startswith("data:image/png;base64,iVBORw0KGgo")

    asyncio.run(main())


def test_a_server_tells_the_whole_result_to_the_application() -> None:
    async def main() -> None:
        async with connected() as manager:
            result = await run(manager, with_server, [("mcp_a_add", {"a": 1, "b": 2})], "done")
            (item,) = [item for item in result.new_items if isinstance(item, ToolCallOutputItem)]
            assert item.custom_data is not None
            told = item.custom_data["mcpool"]
            assert (told["server"], told["tool"], told["structured"]) == ("a", "add", {"sum": 3})

    asyncio.run(main())


@either
def test_cancelling_a_run_cancels_the_call(make: Making, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"

    async def main() -> None:
        async with connected(journal=journal) as manager:
            await give_up_in_mid_call(run(manager, make, [SLEEP], "never"), journal)
            assert manager.status()[0].state == "connected"

    asyncio.run(main())
    assert all_gone(journal)


@either
def test_a_restart_between_two_turns_goes_unnoticed(make: Making) -> None:
    async def main() -> None:
        async with connected() as manager:
            result = await run(manager, make, [echo("one")], after_restart(manager, echo("two")), "done")
            assert texts(result) == ["one", "two"]

    asyncio.run(main())


def test_a_new_tool_is_offered_on_the_next_turn_and_called() -> None:
    async def main() -> None:
        async with connected() as manager:
            change = ("mcp_a_change_tools", {"name": "fresh"})
            late = once_listed(manager, "mcp_a_fresh", echo("wait"))
            model = Scripted([change], late, [("mcp_a_fresh", {})], "done")
            result = await Runner.run(with_server(manager, model), "go")
            assert "mcp_a_fresh" not in model.offered[0] and "mcp_a_fresh" in model.offered[2]
            assert result.final_output == "done" and len(texts(result)) == 3

    asyncio.run(main())


@either
@pytest.mark.parametrize("approved", [True, False])
def test_a_person_is_asked_if_the_application_wants(make: Making, approved: bool, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"

    async def main() -> None:
        async with connected(journal=journal) as manager:
            agent = make(manager, Scripted([echo("hello")], "done"), needs_approval=True)
            asked = await Runner.run(agent, "go")
            (question,) = asked.interruptions
            assert question.name == "mcp_a_echo"
            assert not received_now(journal, "tools/call")
            state = asked.to_state()
            if approved:
                state.approve(question)
            else:
                state.reject(question)
            result = await Runner.run(agent, state)
            assert result.final_output == "done"
            assert (texts(result) == ["hello"]) is approved
            assert received_now(journal, "tools/call") is approved

    asyncio.run(main())


def received_now(journal: Path, method: str) -> bool:
    return f'"{method}"' in journal.read_text()
