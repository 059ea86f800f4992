"""google-genai: the answers that we give to its function calls, and the functions that its own loop calls."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import mcpool
import mcpool.blocking
from fixture_server import config, stdio
from google import genai
from google.genai import types
from mcpool.adapters.google_genai import function, functions, run, run_blocking, tools
from script import (
    SLEEP,
    Script,
    Turn,
    after_restart,
    echo,
    give_up_in_mid_call,
    odd_tool,
    once_listed,
)
from table import Loop, Seen, Told


class Gemini:
    """The API on the other side of the HTTP client: takes requests, says what the script says."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        transport = httpx2.MockTransport(self.reply)
        self.client = genai.Client(
            api_key="none",
            http_options=types.HttpOptions(
                httpx_client=httpx2.Client(transport=transport),
                httpx_async_client=httpx2.AsyncClient(transport=transport),
            ),
        )

    def reply(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        said = self.script.next()
        parts = [{"text": said}]
        if not isinstance(said, str):
            parts = [function_call(*call) for call in enumerate(said)]
        return httpx2.Response(200, json={"candidates": [{"content": {"role": "model", "parts": parts}}]})

    def offered(self, turn: int) -> dict[str, Any]:
        declared = self.requests[turn]["tools"][0]["functionDeclarations"]
        return {declaration["name"]: declaration for declaration in declared}

    def answers(self, turn: int) -> list[dict[str, Any]]:
        return [part["functionResponse"] for part in self.requests[turn]["contents"][-1]["parts"]]


def gemini_of(*turns: Turn) -> Gemini:
    return Gemini(Script(*turns))


def example(script: Script) -> dict[str, Any]:
    """What an example in the docs takes for granted."""
    return {"client": Gemini(script).client, "MODEL": "gemini"}


def function_call(number: int, call: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"functionCall": {"id": f"call-{number}", "name": call[0], "args": call[1]}}


@asynccontextmanager
async def connected(journal: Path | None = None) -> AsyncIterator[mcpool.Manager]:
    async with mcpool.Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool(), wrap=False) as manager:
        await manager.connect_all()
        yield manager


async def by_answers(manager: mcpool.Manager, *turns: Turn) -> Gemini:
    """An agent as one is written with this SDK: tools per request, an answer per response."""
    gemini = gemini_of(*turns)
    await answering(manager, gemini)
    return gemini


async def answering(manager: mcpool.Manager, gemini: Gemini) -> None:
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text="go")])]
    while not gemini.script.spoken():
        response = await gemini.client.aio.models.generate_content(
            model="gemini", contents=contents, config=types.GenerateContentConfig(tools=tools(manager))
        )
        assert response.candidates
        answered = await run(manager, response)
        contents += [response.candidates[0].content, types.Content(role="user", parts=answered)]
    assert contents[-1].parts == []


async def by_the_sdk(manager: mcpool.Manager, *turns: Turn) -> Gemini:
    """The SDK's own loop: one message, and it calls until there is an answer."""
    gemini = gemini_of(*turns)
    await calling(manager, gemini)
    return gemini


async def calling(manager: mcpool.Manager, gemini: Gemini) -> None:
    chat = gemini.client.aio.chats.create(
        model="gemini", config=types.GenerateContentConfig(tools=functions(manager))
    )
    response = await chat.send_message("go")
    assert response.text == "done"


async def loop(manager: mcpool.Manager, script: Script, _ask: None, runs: Any) -> Seen:
    """An agent for the table."""
    gemini = Gemini(script)
    await runs(manager, gemini)
    answers = [gemini.answers(turn) for turn in range(1, len(gemini.requests))]
    told = [as_told(answer) for turn in answers for answer in turn]
    return Seen(told, [set(gemini.offered(turn)) for turn in range(len(gemini.requests))])


def as_told(answer: dict[str, Any]) -> Told:
    ((kind, text),) = answer["response"].items()
    return Told(text, kind == "error", len(answer.get("parts") or []))


LOOPS = {
    "Google Gen AI `run`": Loop(partial(loop, runs=answering)),
    "Google Gen AI `functions`": Loop(partial(loop, runs=calling)),
}


def test_a_schema_reaches_the_api_as_the_server_wrote_it() -> None:
    async def main() -> None:
        async with connected() as manager:
            for loop in (by_answers, by_the_sdk):
                gemini = await loop(manager, "done")
                (big,) = (tool for tool in manager.get_tools() if tool.name == "mcp_a_big")
                declared = gemini.offered(0)
                assert declared["mcp_a_big"]["parameters_json_schema"] == big.input_schema
                assert declared["mcp_a_big"]["description"] == big.description
                assert list(declared) == [tool.name for tool in manager.get_tools()]

    asyncio.run(main())


def test_calls_are_answered_by_their_id() -> None:
    async def main() -> None:
        async with connected() as manager:
            gemini = await by_answers(manager, [echo("one"), echo("two")], "done")
            assert gemini.answers(1) == [
                {"id": "call-0", "name": "mcp_a_echo", "response": {"output": "one"}},
                {"id": "call-1", "name": "mcp_a_echo", "response": {"output": "two"}},
            ]

    asyncio.run(main())


def test_the_sdk_calls_the_functions_by_itself() -> None:
    async def main() -> None:
        async with connected() as manager:
            gemini = await by_the_sdk(manager, [echo("one"), ("mcp_a_pid", {})], [echo("two")], "done")
            (pid,) = (status.pid for status in manager.status())
            said = [answer["response"] for answer in gemini.answers(1)]
            assert said == [{"result": "one"}, {"result": str(pid)}]
            assert [answer["response"] for answer in gemini.answers(2)] == [{"result": "two"}]

    asyncio.run(main())


def test_the_synchronous_client_is_served_by_a_blocking_manager() -> None:
    with mcpool.blocking.Manager(config(a=stdio()), pool=mcpool.Pool(), wrap=False) as manager:
        manager.connect_all()
        gemini = gemini_of([echo("by the SDK")], "done")
        chat = gemini.client.chats.create(
            model="gemini", config=types.GenerateContentConfig(tools=functions(manager))
        )
        assert chat.send_message("go").text == "done"
        assert gemini.answers(1)[0]["response"] == {"result": "by the SDK"}

        gemini = gemini_of([echo("by us"), ("mcp_a_nothing", {})])
        response = gemini.client.models.generate_content(
            model="gemini", contents="go", config=types.GenerateContentConfig(tools=tools(manager))
        )
        said, refused = run_blocking(manager, response)
        assert said.function_response and said.function_response.response == {"output": "by us"}
        assert refused.function_response and "error" in (refused.function_response.response or {})


def test_an_error_of_a_tool_is_an_answer() -> None:
    async def main() -> None:
        async with connected() as manager:
            failing = ("mcp_a_fail", {"message": "no such file"})
            gemini = await by_answers(manager, [failing, echo("unharmed")], "done")
            assert [answer["response"] for answer in gemini.answers(1)] == [
                {"error": "Error: no such file"},
                {"output": "unharmed"},
            ]
            gemini = await by_the_sdk(manager, [failing, echo("unharmed")], "done")
            failed, unharmed = (answer["response"] for answer in gemini.answers(1))
            assert list(failed) == ["error"] and failed["error"].endswith("Error: no such file")
            assert unharmed == {"result": "unharmed"}

    asyncio.run(main())


def test_a_server_that_dies_and_a_name_that_nobody_has_are_answers() -> None:
    async def main() -> None:
        async with connected() as manager:
            dying, unknown = ("mcp_a_exit", {"code": 3}), ("mcp_a_ecko", {})
            gemini = await by_answers(manager, [dying], [unknown, echo("back")], "done")
            (died,) = gemini.answers(1)
            assert died["response"]["error"].startswith("MCP error: ")
            refused, back = gemini.answers(2)
            assert "mcp_a_ecko" in refused["response"]["error"]
            assert back["response"] == {"output": "back"}

            gemini = await by_the_sdk(manager, [dying], [echo("back")], "done")
            assert "MCP error: " in gemini.answers(1)[0]["response"]["error"]
            assert gemini.answers(2)[0]["response"] == {"result": "back"}

    asyncio.run(main())


def test_an_image_is_a_part_of_the_answer() -> None:
    async def main() -> None:
        async with connected() as manager:
            gemini = await by_answers(manager, [("mcp_a_image", {})], "done")
            (answered,) = gemini.answers(1)
            (part,) = answered["parts"]
            assert part["inline_data"]["mime_type"] == "image/png"
            assert base64.urlsafe_b64decode(part["inline_data"]["data"]).startswith(b"\x89PNG")
            assert "[Image: image/png]" in answered["response"]["output"]

    asyncio.run(main())


def test_a_structured_result_is_given_as_its_text() -> None:
    async def main() -> None:
        async with connected() as manager:
            gemini = await by_answers(manager, [("mcp_a_big", {"bytes": 1.0, "shape": "structured"})], "done")
            (answered,) = gemini.answers(1)
            assert json.loads(answered["response"]["output"])["rows"][0]["name"] == "row 0"

    asyncio.run(main())


def test_cancelling_the_agent_cancels_the_call(tmp_path: Path) -> None:
    async def main() -> None:
        for number, loop in enumerate((by_answers, by_the_sdk)):
            journal = tmp_path / f"{number}.jsonl"
            async with connected(journal) as manager:
                await give_up_in_mid_call(loop(manager, [SLEEP], "done"), journal)
                assert (await manager.call_tool("a", "echo", {"text": "unharmed"})).text == "unharmed"

    asyncio.run(main())


def test_a_restart_between_two_turns_goes_unnoticed() -> None:
    async def main() -> None:
        async with connected() as manager:
            for loop in (by_answers, by_the_sdk):
                pid = ("mcp_a_pid", {})
                gemini = await loop(manager, [pid], after_restart(manager, pid), "done")
                (first,), (second,) = gemini.answers(1), gemini.answers(2)
                assert first["response"] != second["response"]
                assert list(second["response"].values()) == [str(manager.status()[0].pid)]

    asyncio.run(main())


def test_a_new_tool_is_offered_on_the_next_turn() -> None:
    async def main() -> None:
        async with connected() as manager:
            change, fresh = ("mcp_a_change_tools", {"name": "fresh"}), "mcp_a_fresh"
            turns = [[change], once_listed(manager, fresh, echo("wait")), [(fresh, {})], "done"]
            gemini = await by_answers(manager, *turns)
            assert [fresh in gemini.offered(turn) for turn in (0, 2, 3)] == [False, True, True]
            assert "output" in gemini.answers(3)[0]["response"]

    asyncio.run(main())


def test_a_chat_of_the_sdk_has_a_new_tool_with_its_next_message() -> None:
    async def main() -> None:
        async with connected() as manager:
            change, fresh = ("mcp_a_change_tools", {"name": "fresh"}), "mcp_a_fresh"
            gemini = gemini_of(
                [change], once_listed(manager, fresh, echo("wait")), "done", [(fresh, {})], "done"
            )
            chat = gemini.client.aio.chats.create(model="gemini")
            for message in ("go", "go on"):
                config = types.GenerateContentConfig(tools=functions(manager))
                assert (await chat.send_message(message, config=config)).text == "done"
            assert [fresh in gemini.offered(turn) for turn in range(5)] == [False] * 3 + [True] * 2

    asyncio.run(main())


def test_any_name_that_a_schema_gives_reaches_the_tool() -> None:
    async def main() -> None:
        async with connected() as manager:
            (function,) = (each for each in functions(manager) if each.__name__ == "mcp_a_echo")
            assert await function(**{"text": "x", "no-identifier": 1, "tool": 2, "self": 3}) == "x"

    asyncio.run(main())


def test_a_schema_that_says_what_few_say_is_declared_as_it_is() -> None:
    gemini, odd = gemini_of("done"), odd_tool()
    config = types.GenerateContentConfig(tools=[function(odd, is_blocking=True)])
    gemini.client.models.generate_content(model="gemini", contents="go", config=config)
    assert gemini.offered(0)["mcp_a_odd"]["parameters_json_schema"] == odd.input_schema
