"""Sampling: a server that asks for a message gets it from the model of a framework.

Each framework has what its model is told of a whole conversation, word by word, and what is refused.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, stdio
from script import Call, Script, Turn
from table import ROWS
from test_table import PIXEL, World

ASK: dict[str, Any] = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Capital?"}}],
    "maxTokens": 7,
}
ADD = {"name": "add", "description": "Adds", "inputSchema": {"type": "object", "properties": {}}}
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
USE = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}
RESULT = {"type": "tool_result", "toolUseId": "c1", "content": [{"type": "text", "text": "3"}]}
TALK: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look"}, IMAGE]},
        {"role": "assistant", "content": [{"type": "text", "text": "I add"}, USE]},
        {"role": "user", "content": [RESULT]},
    ],
    "systemPrompt": "Be brief",
    "maxTokens": 7,
}
SETTINGS: dict[str, Any] = {"temperature": 0.5, "stopSequences": ["END"]}
TOOLS: dict[str, Any] = {"tools": [ADD], "toolChoice": {"mode": "required"}}
CALL: Call = ("add", {"a": 3})


class Sampler(NamedTuple):
    """A model that says what a script says; `seen` gives its last request as plain data."""

    sampling: Callable[..., Any]
    seen: Callable[[], Any]


class Framework(NamedTuple):
    """How its model is made, and what it is told of `TALK`."""

    make: Callable[..., Sampler]
    talk: Any
    settings: dict[str, Any]
    tools: dict[str, Any]
    refuses: tuple[str, ...] = ()
    takes_tools: bool = True


def langchain(*turns: Turn, is_blocking: bool = False) -> Sampler:
    from mcpool.adapters.langchain import sampling
    from test_langchain import Model

    seen: list[Any] = []

    class Seeing(Model):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self.bind(tools=tools, **options)

        def _generate(self, messages: Any, stop: Any = None, _manager: Any = None, **options: Any) -> Any:
            told = [{"type": message.type, "content": message.content} for message in messages]
            for each, message in zip(told, messages, strict=True):
                each.update({"calls": calls} if (calls := getattr(message, "tool_calls", None)) else {})
                each.update({"of": message.tool_call_id} if message.type == "tool" else {})
            seen.append({"messages": told, **({"stop": stop} if stop else {}), **options})
            return super()._generate(messages)

    return Sampler(partial(sampling, Seeing(script=Script(*turns), told=[], offered=[])), lambda: seen[-1])


def anthropic(*turns: Turn, is_blocking: bool = False) -> Sampler:
    from mcpool.adapters.anthropic import sampling
    from test_anthropic import Api

    api = Api(*turns)
    client = api.client_blocking() if is_blocking else api.client()
    return Sampler(partial(sampling, client, model="claude"), lambda: api.requests[-1])


def openai(*turns: Turn, is_blocking: bool = False) -> Sampler:
    from mcpool.adapters.openai import sampling
    from test_openai import Api

    api = Api(*turns)
    client = api.client_blocking() if is_blocking else api.client()
    return Sampler(partial(sampling, client, model="gpt"), lambda: api.requests[-1])


def openai_agents(*turns: Turn, is_blocking: bool = False) -> Sampler:
    from mcpool.adapters.openai_agents import sampling
    from test_openai_agents import Scripted

    seen: list[Any] = []

    class Seeing(Scripted):
        async def get_response(self, system: Any, input: Any, settings: Any, tools: Any, *_: Any, **__: Any):
            asked = {"system": system, "input": input, "max_tokens": settings.max_tokens}
            asked |= {"temperature": settings.temperature} if settings.temperature else {}
            offered = [(tool.name, tool.description, tool.params_json_schema) for tool in tools]
            seen.append(asked | ({"tools": offered, "choice": settings.tool_choice} if tools else {}))
            return await super().get_response(system, input, settings, tools)

    return Sampler(partial(sampling, Seeing(*turns)), lambda: seen[-1])


def pydantic_ai(*turns: Turn, is_blocking: bool = False) -> Sampler:
    from mcpool.adapters.pydantic_ai import sampling
    from pydantic_ai.messages import ModelMessagesTypeAdapter
    from test_pydantic_ai import Model

    seen: list[Any] = []
    kept = {"content", "part_kind", "tool_name", "args", "tool_call_id", "outcome"}

    class Seeing(Model):
        async def _answer(self, messages: Any, info: Any) -> Any:
            told = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
            parts = [part for message in told for part in message["parts"]]
            talk = [{name: part[name] for name in part if name in kept} for part in parts]
            asked = {"parts": talk, **info.model_settings}
            offered = [
                (tool.name, tool.description, tool.parameters_json_schema) for tool in info.function_tools
            ]
            seen.append(asked | ({"tools": offered} if offered else {}))
            return await super()._answer(messages, info)

    return Sampler(partial(sampling, Seeing(*turns)), lambda: seen[-1])


def google_genai(*turns: Turn, is_blocking: bool = False) -> Sampler:
    from mcpool.adapters.google_genai import sampling
    from test_google_genai import gemini_of

    gemini = gemini_of(*turns)
    return Sampler(partial(sampling, gemini.client, model="gemini"), lambda: gemini.requests[-1])


def llama_index(*turns: Turn, is_blocking: bool = False) -> Sampler:
    from mcpool.adapters.llama_index import sampling
    from test_llama_index import Model

    seen: list[Any] = []

    class Seeing(Model):
        def _prepare_chat_with_tools(  # type: ignore[override]
            self, tools: Any, chat_history: Any = None, tool_required: bool = False, **options: Any
        ) -> Any:
            offered = [(tool.metadata.name, tool.metadata.get_parameters_dict()) for tool in tools]
            required = {"tools": offered, "required": tool_required}
            kept = {name: value for name, value in options.items() if name in ("max_tokens", "temperature")}
            return {"messages": chat_history, **required, **kept}

        async def achat(self, messages: Any, **options: Any) -> Any:
            told = [message.model_dump(mode="json", exclude_none=True) for message in messages]
            seen.append({"messages": told, **options})
            return await super().achat(messages)

        def chat(self, messages: Any, **options: Any) -> Any:
            return asyncio.run(self.achat(messages, **options))

    return Sampler(partial(sampling, Seeing(script=Script(*turns), told=[], offered=[])), lambda: seen[-1])


def smolagents(*turns: Turn, is_blocking: bool = False) -> Sampler:
    from mcpool.adapters.smolagents import sampling
    from smolagents.models import get_clean_message_list
    from test_smolagents import Scripted

    seen: list[Any] = []

    class Seeing(Scripted):
        supports_stop_parameter = True

        def generate(self, messages: Any, *_: Any, **options: Any) -> Any:
            told = get_clean_message_list(messages, convert_images_to_image_urls=True)
            seen.append({"messages": told, **options})
            return super().generate(messages)

    return Sampler(partial(sampling, Seeing(Script(*turns))), lambda: seen[-1])


TEXT = {"type": "text", "text": "Look"}
URL = f"data:image/png;base64,{PIXEL}"
SCHEMA = ADD["inputSchema"]
CHAT_TOOL = {"type": "function", "function": {"name": "add", "description": "Adds", "parameters": SCHEMA}}

FRAMEWORKS = {
    "langchain": Framework(
        langchain,
        {
            "messages": [
                {"type": "system", "content": "Be brief"},
                {
                    "type": "human",
                    "content": [TEXT, {"type": "image", "base64": PIXEL, "mime_type": "image/png"}],
                },
                {
                    "type": "ai",
                    "content": "I add",
                    "calls": [{"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}],
                },
                {"type": "tool", "content": [{"type": "text", "text": "3"}], "of": "c1"},
            ],
            "max_tokens": 7,
        },
        {"temperature": 0.5, "stop": ["END"]},
        {"tools": [CHAT_TOOL], "tool_choice": "any"},
    ),
    "anthropic": Framework(
        anthropic,
        {
            "model": "claude",
            "max_tokens": 7,
            "system": "Be brief",
            "messages": [
                {
                    "role": "user",
                    "content": [
                        TEXT,
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                        },
                    ],
                },
                {"role": "assistant", "content": [{"type": "text", "text": "I add"}, USE]},
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c1",
                            "content": [{"type": "text", "text": "3"}],
                        }
                    ],
                },
            ],
        },
        {"stop_sequences": ["END"]},
        {
            "tools": [{"name": "add", "description": "Adds", "input_schema": SCHEMA}],
            "tool_choice": {"type": "any"},
        },
        refuses=("temperature", "audio"),
    ),
    "openai": Framework(
        openai,
        {
            "model": "gpt",
            "max_completion_tokens": 7,
            "messages": [
                {"role": "system", "content": "Be brief"},
                {"role": "user", "content": [TEXT, {"type": "image_url", "image_url": {"url": URL}}]},
                {
                    "role": "assistant",
                    "content": "I add",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "add", "arguments": '{"a": 1}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "3"},
            ],
        },
        {"temperature": 0.5, "stop": ["END"]},
        {"tools": [CHAT_TOOL], "tool_choice": "required"},
    ),
    "openai_agents": Framework(
        openai_agents,
        {
            "system": "Be brief",
            "max_tokens": 7,
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "Look"},
                        {"type": "input_image", "detail": "auto", "image_url": URL},
                    ],
                },
                {"role": "assistant", "content": "I add"},
                {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'},
                {"type": "function_call_output", "call_id": "c1", "output": "3"},
            ],
        },
        {"temperature": 0.5},
        {"tools": [("add", "Adds", SCHEMA)], "choice": "required"},
        refuses=("stopSequences",),
    ),
    "pydantic_ai": Framework(
        pydantic_ai,
        {
            "max_tokens": 7,
            "parts": [
                {"content": "Be brief", "part_kind": "system-prompt"},
                {"content": ["Look", PIXEL], "part_kind": "user-prompt"},
                {"content": "I add", "part_kind": "text"},
                {"tool_name": "add", "args": {"a": 1}, "tool_call_id": "c1", "part_kind": "tool-call"},
                {
                    "tool_name": "add",
                    "content": ["3"],
                    "tool_call_id": "c1",
                    "outcome": "success",
                    "part_kind": "tool-return",
                },
            ],
        },
        {"temperature": 0.5, "stop_sequences": ["END"]},
        {"tools": [("add", "Adds", SCHEMA)], "tool_choice": "required"},
    ),
    "google_genai": Framework(
        google_genai,
        {
            "systemInstruction": {"parts": [{"text": "Be brief"}], "role": "user"},
            "generationConfig": {"maxOutputTokens": 7},
            "contents": [
                {
                    "role": "user",
                    "parts": [
                        {"text": "Look"},
                        {"inlineData": {"data": PIXEL, "mime_type": "image/png"}},
                    ],
                },
                {
                    "role": "model",
                    "parts": [
                        {"text": "I add"},
                        {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"id": "c1", "name": "add", "response": {"output": "3"}}}],
                },
            ],
        },
        {"generationConfig": {"maxOutputTokens": 7, "temperature": 0.5, "stopSequences": ["END"]}},
        {
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "add", "description": "Adds", "parameters_json_schema": SCHEMA}
                    ]
                }
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        },
    ),
    "llama_index": Framework(
        llama_index,
        {
            "max_tokens": 7,
            "messages": [
                {"role": "system", "blocks": ["Be brief"]},
                {"role": "user", "blocks": ["Look", "image"]},
                {"role": "assistant", "blocks": ["I add", ["c1", "add", {"a": 1}]]},
                {"role": "tool", "blocks": ["3"], "of": "c1"},
            ],
        },
        {"temperature": 0.5},
        {"tools": [("add", SCHEMA)], "required": True},
        refuses=("stopSequences",),
    ),
    "smolagents": Framework(
        smolagents,
        {
            "max_tokens": 7,
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "Be brief"}]},
                {"role": "user", "content": [TEXT, "image"]},
            ],
        },
        {"temperature": 0.5, "stop_sequences": ["END"]},
        {},
        refuses=("tools", "audio"),
        takes_tools=False,
    ),
}

each = pytest.mark.parametrize("name", FRAMEWORKS)


def plainly(name: str, seen: Any) -> Any:
    """Objects of a framework in few words."""
    if name == "llama_index":
        for message in seen["messages"]:
            kwargs = message.pop("additional_kwargs")
            message.update({"of": kwargs["tool_call_id"]} if "tool_call_id" in kwargs else {})
            message["blocks"] = [
                [block["tool_call_id"], block["tool_name"], block["tool_kwargs"]]
                if block["block_type"] == "tool_call"
                else block.get("text", block["block_type"])
                for block in message["blocks"]
            ]
    if name == "smolagents":
        for message in seen["messages"]:
            message["role"] = str(getattr(message["role"], "value", message["role"]))
            message["content"] = [
                "image" if part["type"] == "image_url" else part for part in message["content"]
            ]
    if name == "pydantic_ai":
        for part in seen["parts"]:
            if isinstance(part.get("content"), list):
                part["content"] = [
                    piece if isinstance(piece, str) else piece["data"] for piece in part["content"]
                ]
    # Pydantic writes bytes with the letters for addresses.
    written = json.dumps(seen).replace(PIXEL.replace("+", "-").replace("/", "_"), PIXEL)
    return json.loads(written)


def talk_for(framework: Framework) -> dict[str, Any]:
    return TALK if framework.takes_tools else {**TALK, "messages": TALK["messages"][:1]}


async def ask_server(on_sampling: Any, params: dict[str, Any]) -> Any:
    """What the server gets if it asks."""
    servers = config(a=stdio())
    async with mcpool.Manager(servers, pool=mcpool.Pool(), wrap=False, on_sampling=on_sampling) as manager:
        await manager.connect_all()
        given = {"method": "sampling/createMessage", "params": params}
        return json.loads((await manager.call_tool("a", "ask", given)).text)


def answer_to(on_sampling: Any, **params: Any) -> Any:
    return asyncio.run(ask_server(on_sampling, params))["result"]


def refusal_of(on_sampling: Any, **params: Any) -> None:
    assert asyncio.run(ask_server(on_sampling, params))["error"]["code"] == -1


ROW_OF = [(name, row) for name in FRAMEWORKS for row in ROWS[name]]


@pytest.mark.parametrize(("name", "row"), ROW_OF)
def test_a_tool_that_an_agent_calls_asks_the_model(name: str, row: str, tmp_path: Path) -> None:
    world = World(row, "two agents", tmp_path)
    on_sampling = FRAMEWORKS[name].make("Paris", is_blocking=not world.is_async).sampling()
    call = ("mcp_a_ask", {"method": "sampling/createMessage", "params": ASK})
    seen = world.run([call], on_sampling=on_sampling)
    assert "Paris" in seen.told[0].text


@each
def test_a_server_gets_the_models_text_and_its_name(name: str) -> None:
    said = answer_to(FRAMEWORKS[name].make("Paris").sampling(), **ASK)
    assert said["role"] == "assistant" and said["content"] == {"type": "text", "text": "Paris"}
    assert isinstance(said["model"], str) and said["model"]
    assert said.get("stopReason", "endTurn") == "endTurn"


@each
def test_a_model_is_told_the_whole_conversation(name: str) -> None:
    framework = FRAMEWORKS[name]
    sampler = framework.make("done")
    answer_to(sampler.sampling(), **talk_for(framework))
    assert plainly(name, sampler.seen()) == framework.talk


@each
def test_settings_reach_the_model_or_are_refused(name: str, caplog: pytest.LogCaptureFixture) -> None:
    framework = FRAMEWORKS[name]
    sampler = framework.make("done")
    known = {member: SETTINGS[member] for member in SETTINGS if member not in framework.refuses}
    answer_to(sampler.sampling(), **talk_for(framework), **known)
    assert plainly(name, sampler.seen()) == framework.talk | framework.settings
    for member in SETTINGS.keys() - known.keys():
        refusal_of(framework.make("never").sampling(), **ASK, **{member: SETTINGS[member]})
        assert f"has no {member}" in caplog.text
        said = answer_to(framework.make("so").sampling(ignore=[member]), **ASK, **SETTINGS)
        assert said["content"]["text"] == "so"


@each
def test_a_model_calls_a_tool_that_the_server_runs(name: str, caplog: pytest.LogCaptureFixture) -> None:
    framework = FRAMEWORKS[name]
    sampler = framework.make([CALL])
    if not framework.takes_tools:
        refusal_of(sampler.sampling(), **ASK, **TOOLS)
        refusal_of(sampler.sampling(), **TALK)
        assert caplog.text.count("no tools that a server runs") == 2
        return
    said = answer_to(sampler.sampling(), **TALK, **TOOLS)
    assert plainly(name, sampler.seen()) == json.loads(json.dumps(framework.talk | framework.tools))
    assert said["stopReason"] == "toolUse"
    use = said["content"]
    assert (use["type"], use["name"], use["input"]) == ("tool_use", "add", {"a": 3})
    assert isinstance(use["id"], str) and use["id"]


@each
def test_audio_reaches_the_model_or_is_refused(name: str) -> None:
    framework = FRAMEWORKS[name]
    asked = {**ASK, "messages": [{"role": "user", "content": AUDIO}]}
    sampler = framework.make("heard")
    if "audio" in framework.refuses:
        refusal_of(sampler.sampling(), **asked)
        return
    assert answer_to(sampler.sampling(), **asked)["content"]["text"] == "heard"
    assert any(word in str(sampler.seen()) for word in ("wav", "AAAA"))


@each
def test_a_hint_may_choose_another_model(name: str) -> None:
    framework = FRAMEWORKS[name]
    asked: list[list[str]] = []

    def choose(hints: list[str]) -> None:
        asked.append(hints)

    preferences = {"hints": [{"name": "small"}, {}], "costPriority": 1}
    said = answer_to(framework.make("so").sampling(choose=choose), **ASK, modelPreferences=preferences)
    assert said["content"]["text"] == "so" and asked == [["small"]]


def test_a_model_that_cannot_be_made_to_call_a_tool_is_not_asked(caplog: pytest.LogCaptureFixture) -> None:
    from mcpool.adapters.llama_index import sampling
    from test_llama_index import model

    refusal_of(sampling(model("never")), **ASK, **TOOLS)
    assert "cannot be made to call a tool" in caplog.text


def test_the_chosen_model_is_asked() -> None:
    sampler = openai("so")
    answer_to(sampler.sampling(choose=lambda _hints: "small"), **ASK)
    assert sampler.seen()["model"] == "small"


@each
def test_a_blocking_manager_samples_twice(name: str) -> None:
    on_sampling = FRAMEWORKS[name].make("one", "two", is_blocking=True).sampling()
    servers = config(a=stdio())
    with mcpool.blocking.Manager(servers, pool=mcpool.Pool(), wrap=False, on_sampling=on_sampling) as manager:
        manager.connect_all()
        given = {"method": "sampling/createMessage", "params": ASK}
        texts = [manager.call_tool("a", "ask", given).text for _ in range(2)]
    assert [json.loads(text)["result"]["content"]["text"] for text in texts] == ["one", "two"]


BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("maxTokens", {"messages": []}),
    ("messages", {"messages": {}, "maxTokens": 7}),
    ("no objects", {"messages": ["hello"], "maxTokens": 7}),
    ("'video'", {"messages": [{"role": "user", "content": {"type": "video"}}], "maxTokens": 7}),
    ("before its result", {"messages": [{"role": "user", "content": RESULT}], "maxTokens": 7}),
    ("'tool_use'", {"messages": [{"role": "user", "content": USE}], "maxTokens": 7}),
    (
        "other content",
        {
            "messages": [
                {"role": "assistant", "content": USE},
                {"role": "user", "content": [RESULT, TEXT]},
            ],
            "maxTokens": 7,
        },
    ),
]


@pytest.mark.parametrize(("why", "params"), BROKEN)
def test_a_request_that_cannot_be_read_is_refused_with_a_reason(
    why: str, params: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "mcpool.adapters"):
        refusal_of(openai("never").sampling(), **params)
    assert "request of a is refused" in caplog.text and why in caplog.text


def test_a_failed_result_is_marked() -> None:
    failed = {**RESULT, "isError": True}
    talk = {**TALK, "messages": [*TALK["messages"][:2], {"role": "user", "content": failed}]}
    sampler = openai("done")
    answer_to(sampler.sampling(), **talk)
    assert sampler.seen()["messages"][-1]["content"] == "Error: 3"
    sampler = anthropic("done")
    answer_to(sampler.sampling(), **talk)
    assert sampler.seen()["messages"][-1]["content"][0]["is_error"] is True


def test_gemini_gets_the_signature_of_a_call_back() -> None:
    use = {**USE, "_meta": {"mcpool/thoughtSignature": "AAEC"}}
    talk = {**TALK, "messages": [{"role": "assistant", "content": use}, TALK["messages"][2]]}
    sampler = google_genai("done")
    answer_to(sampler.sampling(), **talk)
    assert sampler.seen()["contents"][0]["parts"][0]["thoughtSignature"] == "AAEC"
