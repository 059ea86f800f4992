"""OpenAI SDK: loops of one's own over chat completions and responses, against a scripted API."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import mcpool
import mcpool.blocking
import pytest
from fixture_server import all_gone, config, stdio
from mcpool.adapters import openai as adapter
from openai import AsyncOpenAI, OpenAI
from script import SLEEP, Script, Turn, after_restart, echo, give_up_in_mid_call, once_listed, received
from table import Loop, Seen, Told

ASK = {"role": "user", "content": "go"}


class Api:
    """Answers requests with what the script says; remembers them."""

    def __init__(self, *turns: Turn, script: Script | None = None) -> None:
        self.script = script or Script(*turns)
        self.requests: list[dict[str, Any]] = []
        self._calls = 0

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        said = self.script.next()
        shape = chat if request.url.path.endswith("/chat/completions") else response
        calls = [] if isinstance(said, str) else [self._call(*call) for call in said]
        return httpx2.Response(200, json=shape(said if isinstance(said, str) else None, calls))

    async def answer_later(self, request: httpx2.Request) -> httpx2.Response:
        return await asyncio.to_thread(self.answer, request)

    def _call(self, name: str, arguments: Any) -> tuple[str, str, str]:
        self._calls += 1
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return f"call-{self._calls}", name, text

    def client(self) -> AsyncOpenAI:
        transport = httpx2.MockTransport(self.answer_later)
        return AsyncOpenAI(api_key="none", http_client=httpx2.AsyncClient(transport=transport), max_retries=0)

    def client_blocking(self) -> OpenAI:
        transport = httpx2.MockTransport(self.answer)
        return OpenAI(api_key="none", http_client=httpx2.Client(transport=transport), max_retries=0)


def chat(text: str | None, calls: list[tuple[str, str, str]]) -> dict[str, Any]:
    function_calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id, name, arguments in calls
    ]
    message = {"role": "assistant", "content": text} | ({"tool_calls": function_calls} if calls else {})
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt", "choices": [choice]}


def response(text: str | None, calls: list[tuple[str, str, str]]) -> dict[str, Any]:
    output: list[dict[str, Any]] = [
        {"type": "function_call", "id": f"fc-{id}", "call_id": id, "name": name, "arguments": arguments}
        for id, name, arguments in calls
    ]
    if text is not None:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        output.append(
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
        )
    return {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "gpt",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def example(script: Script) -> dict[str, Any]:
    return {"client": Api(script=script).client(), "MODEL": "scripted"}


@asynccontextmanager
async def connected(*knobs: str, journal: Path | None = None) -> AsyncIterator[mcpool.Manager]:
    servers = config(a=stdio(*knobs, journal=journal))
    async with mcpool.Manager(servers, pool=mcpool.Pool(), wrap=False) as manager:
        await manager.connect_all()
        yield manager


async def chat_loop(manager: mcpool.Manager, api: Api) -> list[Any]:
    """As an application writes it; gives what the model was told of its calls."""
    client, messages, told = api.client(), [dict(ASK)], []
    while True:
        offered = adapter.chat_tools(manager)
        completion = await client.chat.completions.create(model="gpt", messages=messages, tools=offered)  # type: ignore[arg-type]
        message = completion.choices[0].message
        if not message.tool_calls:
            assert message.content == "done"
            return told
        results = await adapter.run_chat(manager, message)
        messages += [message.model_dump(exclude_none=True), *results]  # type: ignore[list-item]
        told += [result["content"] for result in results]


async def response_loop(manager: mcpool.Manager, api: Api) -> list[Any]:
    client, items, told = api.client(), [dict(ASK)], []
    while True:
        offered = adapter.response_tools(manager)
        response = await client.responses.create(model="gpt", input=items, tools=offered)  # type: ignore[arg-type]
        results = await adapter.run_response(manager, response)
        if not results:
            assert response.output_text == "done"
            return told
        items += [*response.output, *results]  # type: ignore[list-item]
        told += [result["output"] for result in results]


either = pytest.mark.parametrize("loop", [chat_loop, response_loop])


async def loop(manager: mcpool.Manager, script: Script, _ask: None, runs: Any) -> Seen:
    """An agent for the table."""
    api = Api(script=script)
    told = [as_told(output) for output in await runs(manager, api)]
    functions = [[tool.get("function", tool) for tool in request["tools"]] for request in api.requests]
    return Seen(told, [{function["name"] for function in each} for each in functions])


def as_told(output: Any) -> Told:
    blocks = [{"type": "input_text", "text": output}] if isinstance(output, str) else output
    images = [block for block in blocks if block["type"] == "input_image"]
    return Told("".join(block.get("text", "") for block in blocks), None, len(images))


LOOPS = {
    "OpenAI `run_response`": Loop(partial(loop, runs=response_loop), takes_text=True),
    "OpenAI `run_chat`": Loop(partial(loop, runs=chat_loop), takes_text=True),
}


@either
def test_a_schema_reaches_the_model_as_the_server_wrote_it(loop: Any) -> None:
    async def main() -> None:
        async with connected("--bad-tool") as manager:
            api = Api("done")
            await loop(manager, api)
            functions = [tool.get("function", tool) for tool in api.requests[0]["tools"]]
            offered = {function["name"]: function["parameters"] for function in functions}
            assert offered == {tool.name: tool.input_schema for tool in manager.get_tools()}
            assert not any(function.get("strict") for function in functions)

    asyncio.run(main())


@either
def test_an_agent_calls_several_tools_at_once(loop: Any, tmp_path: Path) -> None:
    gate, journal = tmp_path / "gate", tmp_path / "a.jsonl"
    gate.write_text("hold")

    async def main() -> None:
        async with connected("--hold", f"tools/call={gate}", journal=journal) as manager:
            api = Api([echo("hello"), ("mcp_a_add", {"a": 1, "b": 2})], "done")
            task = asyncio.create_task(loop(manager, api))
            assert await asyncio.to_thread(received, journal, "tools/call", 2)
            gate.write_text("go")
            assert await task == ["hello", "3"]
            sent = [*api.requests[1].get("messages", []), *api.requests[1].get("input", [])]
            ids = [item.get("tool_call_id") or item.get("call_id") for item in sent[-2:]]
            assert ids == ["call-1", "call-2"]

    asyncio.run(main())


@either
def test_what_fails_is_text_for_the_model(loop: Any) -> None:
    async def main() -> None:
        async with connected() as manager:
            odd: Any = [("mcp_a_echo", '{"text": '), ("mcp_a_meta", ""), ("mcp_a_nope", {})]
            api = Api([("mcp_a_fail", {"message": "no luck"})], [("mcp_a_exit", {"code": 3})], odd, "done")
            failed, dead, broken, empty, nope = await loop(manager, api)
            assert failed == "Error: no luck"
            assert "MCP error: " in dead and "exited with code 3" in dead
            assert broken.startswith("MCP error: The arguments are not valid JSON: ")
            assert "MCP error" not in empty
            assert "MCP error: " in nope and "mcp_a_nope" in nope

    asyncio.run(main())


def test_an_image_is_shown_where_the_api_takes_one() -> None:
    async def main() -> None:
        async with connected() as manager:
            (named,) = await chat_loop(manager, Api([("mcp_a_image", {})], "done"))
            assert "[Image: image/png]" in named and "one pixel" in named
            ((text, image),) = await response_loop(manager, Api([("mcp_a_image", {})], "done"))
            assert text == {"type": "input_text", "text": named}
            assert image["type"] == "input_image"
            assert image["image_url"].startswith("data:image/png;base64,iVBORw0KGgo")

    asyncio.run(main())


def test_plain_scripts_have_the_same() -> None:
    with mcpool.blocking.Manager(config(a=stdio()), pool=mcpool.Pool(), wrap=False) as manager:
        manager.connect_all()
        client = Api([echo("one")], [echo("two")]).client_blocking()
        offered: Any = adapter.chat_tools(manager)
        completion = client.chat.completions.create(model="gpt", messages=[ASK], tools=offered)  # type: ignore[list-item]
        assert adapter.run_chat_blocking(manager, completion.choices[0].message) == [
            {"role": "tool", "tool_call_id": "call-1", "content": "one"}
        ]
        response = client.responses.create(model="gpt", input="go", tools=adapter.response_tools(manager))
        assert adapter.run_response_blocking(manager, response) == [
            {"type": "function_call_output", "call_id": "call-2", "output": "two"}
        ]
        assert adapter.run_chat_blocking(manager, {"role": "assistant", "content": "just text"}) == []


@either
def test_cancelling_a_run_cancels_every_call(loop: Any, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"

    async def main() -> None:
        async with connected(journal=journal) as manager:
            await give_up_in_mid_call(loop(manager, Api([SLEEP, SLEEP], "never")), journal, times=2)
            assert manager.status()[0].state == "connected"

    asyncio.run(main())
    assert all_gone(journal)


@either
def test_a_restart_between_two_turns_goes_unnoticed(loop: Any) -> None:
    async def main() -> None:
        async with connected() as manager:
            assert await loop(manager, Api([echo("one")], after_restart(manager, echo("two")), "done")) == [
                "one",
                "two",
            ]

    asyncio.run(main())


@either
def test_a_new_tool_is_offered_on_the_next_turn_and_called(loop: Callable[..., Any]) -> None:
    async def main() -> None:
        async with connected() as manager:
            late = once_listed(manager, "mcp_a_fresh", echo("wait"))
            api = Api([("mcp_a_change_tools", {"name": "fresh"})], late, [("mcp_a_fresh", {})], "done")
            *_, fresh = await loop(manager, api)
            assert "MCP error" not in fresh
            offered = [json.dumps(request["tools"]) for request in api.requests]
            assert "mcp_a_fresh" not in offered[0] and "mcp_a_fresh" in offered[2]

    asyncio.run(main())


def test_nothing_here_needs_the_sdk() -> None:
    code = "import sys; sys.modules['openai'] = None; import mcpool.adapters.openai"
    subprocess.run([sys.executable, "-c", code], check=True)
