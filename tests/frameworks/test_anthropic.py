"""Anthropic SDK: a loop of one's own and the SDK's tool runner, against a scripted API."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import mcpool
import mcpool.blocking
import pytest
from anthropic import Anthropic, AsyncAnthropic
from fixture_server import all_gone, config, stdio
from mcpool.adapters.anthropic import run, run_blocking, runner_tools, tools
from script import SLEEP, Script, Turn, after_restart, echo, give_up_in_mid_call, once_listed, received
from table import Loop, Seen, Told

TO: dict[str, Any] = {"model": "claude", "max_tokens": 100}
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
        blocks = [{"type": "text", "text": said}] if isinstance(said, str) else [*map(self._use, said)]
        return httpx2.Response(
            200,
            json={
                "id": "msg",
                "type": "message",
                "role": "assistant",
                "model": "claude",
                "content": blocks,
                "stop_reason": "end_turn" if isinstance(said, str) else "tool_use",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        )

    async def answer_later(self, request: httpx2.Request) -> httpx2.Response:
        return await asyncio.to_thread(self.answer, request)

    def _use(self, call: tuple[str, Any]) -> dict[str, Any]:
        self._calls += 1
        return {"type": "tool_use", "id": f"use-{self._calls}", "name": call[0], "input": call[1]}

    def client(self) -> AsyncAnthropic:
        transport = httpx2.MockTransport(self.answer_later)
        return AsyncAnthropic(
            api_key="none", http_client=httpx2.AsyncClient(transport=transport), max_retries=0
        )

    def client_blocking(self) -> Anthropic:
        transport = httpx2.MockTransport(self.answer)
        return Anthropic(api_key="none", http_client=httpx2.Client(transport=transport), max_retries=0)

    def results(self) -> list[dict[str, Any]]:
        """The results that were sent, as the calls came; a runner sends each once, a loop all again."""
        messages = (message for request in self.requests for message in request["messages"])
        users = (message["content"] for message in messages if message["role"] == "user")
        blocks = (block for content in users if isinstance(content, list) for block in content)
        found = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
        return list(found.values())

    def texts(self) -> list[str]:
        return [result["content"][0]["text"] for result in self.results()]


def example(script: Script) -> dict[str, Any]:
    return {"client": Api(script=script).client(), "MODEL": "scripted"}


@asynccontextmanager
async def connected(*knobs: str, journal: Path | None = None) -> AsyncIterator[mcpool.Manager]:
    servers = config(a=stdio(*knobs, journal=journal))
    async with mcpool.Manager(servers, pool=mcpool.Pool(), wrap=False) as manager:
        await manager.connect_all()
        yield manager


@contextmanager
def connected_blocking() -> Iterator[mcpool.blocking.Manager]:
    with mcpool.blocking.Manager(config(a=stdio()), pool=mcpool.Pool(), wrap=False) as manager:
        manager.connect_all()
        yield manager


async def own_loop(manager: mcpool.Manager, api: Api) -> str:
    """As an application writes it."""
    client, messages = api.client(), [dict(ASK)]
    while True:
        message = await client.messages.create(messages=messages, tools=tools(manager), **TO)  # type: ignore[arg-type]
        if message.stop_reason != "tool_use":
            return message.content[0].text  # type: ignore[union-attr]
        messages.append({"role": "assistant", "content": message.content})  # type: ignore[dict-item]
        messages.append({"role": "user", "content": await run(manager, message)})  # type: ignore[dict-item]


async def its_runner(manager: mcpool.Manager, api: Api) -> str:
    runner = api.client().beta.messages.tool_runner(messages=[ASK], tools=runner_tools(manager), **TO)  # type: ignore[list-item]
    return (await runner.until_done()).content[0].text  # type: ignore[union-attr]


either = pytest.mark.parametrize("loop", [own_loop, its_runner])


async def loop(manager: mcpool.Manager, script: Script, _ask: None, runs: bool) -> Seen:
    """An agent for the table."""
    api = Api(script=script)
    if runs:
        ours = runner_tools(manager)
        runner = api.client().beta.messages.tool_runner(messages=[ASK], tools=ours, **TO)  # type: ignore[list-item]
        async for _ in runner:
            await runner.generate_tool_call_response()
            ours.refresh(runner)
    else:
        assert await own_loop(manager, api) == "done"
    assert script.spoken()
    # A runner sends what is new in the conversation, and its tools once.
    names: list[set[str]] = []
    for request in api.requests:
        names.append({*offered(request), *(names[-1] if names and runs else [])})
    return Seen([as_told(result) for result in api.results()], names)


def offered(request: dict[str, Any]) -> set[str]:
    """The tools of a request, and those that it adds in the conversation."""
    contents = [message["content"] for message in request["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    added = [block for block in blocks if block["type"] == "tool_addition"]
    return set(re.findall(r"mcp_a_\w+", json.dumps([*request.get("tools", []), *added])))


def as_told(result: dict[str, Any]) -> Told:
    said = result["content"]
    blocks = said if isinstance(said, list) else [{"type": "text", "text": said}]
    text = "".join(block.get("text", "") for block in blocks)
    images = [block for block in blocks if block["type"] == "image"]
    return Told(text, result.get("is_error", False), len(images))


LOOPS = {
    "Anthropic `run`": Loop(partial(loop, runs=False)),
    "Anthropic `runner_tools`": Loop(partial(loop, runs=True)),
}


@either
def test_a_schema_reaches_the_model_as_the_server_wrote_it(loop: Any) -> None:
    async def main() -> None:
        async with connected("--bad-tool") as manager:
            api = Api("done")
            assert await loop(manager, api) == "done"
            offered = {tool["name"]: tool["input_schema"] for tool in api.requests[0]["tools"]}
            assert offered == {tool.name: tool.input_schema for tool in manager.get_tools()}

    asyncio.run(main())


@either
def test_an_agent_calls_several_tools_in_a_turn(loop: Any) -> None:
    async def main() -> None:
        async with connected() as manager:
            api = Api([echo("hello"), ("mcp_a_add", {"a": 1, "b": 2})], "done")
            assert await loop(manager, api) == "done"
            assert [result["tool_use_id"] for result in api.results()] == ["use-1", "use-2"]
            assert api.texts() == ["hello", "3"]
            assert not any(result.get("is_error") for result in api.results())

    asyncio.run(main())


def test_the_calls_of_a_message_are_made_at_once(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    journal = tmp_path / "a.jsonl"
    gate.write_text("hold")

    async def main() -> None:
        async with connected("--hold", f"tools/call={gate}", journal=journal) as manager:
            blocks = [
                {"type": "tool_use", "id": str(number), "name": "mcp_a_echo", "input": {"text": str(number)}}
                for number in range(3)
            ]
            task = asyncio.create_task(run(manager, blocks))
            assert await asyncio.to_thread(received, journal, "tools/call", 3)
            gate.write_text("go")
            assert [result["content"][0]["text"] for result in await task] == ["0", "1", "2"]  # type: ignore[index]

    asyncio.run(main())


def test_plain_scripts_have_the_same() -> None:
    with connected_blocking() as manager:
        api = Api([echo("hello"), ("mcp_a_fail", {"message": "no luck"})], "done")
        message = api.client_blocking().messages.create(messages=[ASK], tools=tools(manager), **TO)  # type: ignore[list-item]
        hello, failed = run_blocking(manager, message)
        assert hello["content"] == [{"type": "text", "text": "hello"}]
        assert failed["is_error"] is True
        api = Api([echo("hello"), ("mcp_a_fail", {"message": "no luck"})], "done")
        client = api.client_blocking()
        client.beta.messages.tool_runner(messages=[ASK], tools=runner_tools(manager), **TO).until_done()  # type: ignore[list-item]
        assert api.texts() == ["hello", "Error: no luck"]
        assert [result.get("is_error", False) for result in api.results()] == [False, True]


@either
def test_what_fails_is_a_result_that_says_so(loop: Any) -> None:
    async def main() -> None:
        async with connected() as manager:
            api = Api([("mcp_a_fail", {"message": "no luck"})], [("mcp_a_exit", {"code": 3})], "done")
            assert await loop(manager, api) == "done"
            failed, dead = api.texts()
            assert failed == "Error: no luck"
            assert "MCP error: " in dead and "exited with code 3" in dead
            assert all(result["is_error"] for result in api.results())

    asyncio.run(main())


def test_a_tool_that_is_not_there_is_told_to_the_model() -> None:
    async def main() -> None:
        async with connected() as manager:
            use = {"type": "tool_use", "id": "1", "name": "mcp_a_nope", "input": {}}
            for message in (use, [use], {"role": "assistant", "content": [use]}):
                (result,) = await run(manager, message)
                assert result["is_error"] and "mcp_a_nope" in str(result["content"])
            assert await run(manager, {"role": "assistant", "content": "just text"}) == []

    asyncio.run(main())


@either
def test_an_image_is_a_block_of_the_result(loop: Any) -> None:
    async def main() -> None:
        async with connected() as manager:
            failing = {
                "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
                "isError": True,
            }
            api = Api([("mcp_a_image", {}), ("mcp_a_raw", {"json": json.dumps(failing)})], "done")
            await loop(manager, api)
            shown, failed = api.results()
            text, image = shown["content"]
            assert "one pixel" in text["text"]
            assert image["type"] == "image"
            assert (image["source"]["type"], image["source"]["media_type"]) == ("base64", "image/png")
            assert image["source"]["data"].startswith("iVBORw0KGgo")
            assert [block["type"] for block in failed["content"]] == ["text"]

    asyncio.run(main())


@either
def test_cancelling_a_run_cancels_the_call(loop: Any, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"

    async def main() -> None:
        async with connected(journal=journal) as manager:
            await give_up_in_mid_call(loop(manager, Api([SLEEP], "never")), journal)
            assert manager.status()[0].state == "connected"

    asyncio.run(main())
    assert all_gone(journal)


@either
def test_a_restart_between_two_turns_goes_unnoticed(loop: Any) -> None:
    async def main() -> None:
        async with connected() as manager:
            api = Api([echo("one")], after_restart(manager, echo("two")), "done")
            await loop(manager, api)
            assert api.texts() == ["one", "two"]

    asyncio.run(main())


CHANGE = ("mcp_a_change_tools", {"name": "fresh"})


def test_a_new_tool_is_offered_on_the_next_turn_and_called() -> None:
    async def main() -> None:
        async with connected() as manager:
            late = once_listed(manager, "mcp_a_fresh", echo("wait"))
            api = Api([CHANGE], late, [("mcp_a_fresh", {})], "done")
            await own_loop(manager, api)
            offered = [[tool["name"] for tool in request["tools"]] for request in api.requests]
            assert "mcp_a_fresh" not in offered[0] and "mcp_a_fresh" in offered[2]
            assert not api.results()[-1].get("is_error")

    asyncio.run(main())


def test_a_runner_is_told_of_new_tools_and_of_those_that_are_gone() -> None:
    async def main() -> None:
        async with connected() as manager:
            late = once_listed(manager, "mcp_a_fresh", echo("wait"))
            api = Api([CHANGE], late, [("mcp_a_fresh", {})], "done")
            ours = runner_tools(manager)
            runner = api.client().beta.messages.tool_runner(messages=[ASK], tools=ours, **TO)  # type: ignore[list-item]
            async for _ in runner:
                ours.refresh(runner)
            third = json.dumps(api.requests[2]["messages"])
            assert "tool_addition" in third and "mcp_a_fresh" in third
            assert "tool_addition" not in json.dumps(api.requests[1]["messages"])
            assert not api.results()[-1].get("is_error") and len(api.results()) == 3
            await manager.disconnect("a")
            ours.refresh(runner)
            assert ours == []

    asyncio.run(main())


def test_only_the_runner_needs_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mcpool.adapters._anthropic_runner", raising=False)
    monkeypatch.setitem(sys.modules, "anthropic.lib.tools", None)
    with connected_blocking() as manager:
        assert tools(manager)
        with pytest.raises(ImportError, match=r"needs anthropic.*pip install 'mcpool\[anthropic\]'"):
            runner_tools(manager)
