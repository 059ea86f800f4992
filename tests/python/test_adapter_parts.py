"""What adapters share, and what they say where their framework is missing: all of it without a framework."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, stdio
from mcpool._native import parse_arguments
from mcpool.adapters import anthropic, openai
from mcpool.adapters._open_arguments import OpenArguments
from mcpool.adapters._schema import inlined, optional_as_null, properties, without_nulls

FRAMEWORKS = {
    "langchain": ("langchain_core", "langchain"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai-slim"),
    "google_genai": ("google.genai", "google-genai"),
    "llama_index": ("llama_index", "llama-index-core"),
    "smolagents": ("smolagents", "smolagents"),
    "crewai": ("crewai", "crewai"),
}


@pytest.mark.parametrize("adapter", FRAMEWORKS)
def test_a_missing_framework_is_named_with_the_command_that_installs_it(
    adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, package = FRAMEWORKS[adapter]
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"mcpool.adapters.{adapter}", raising=False)
    with pytest.raises(ImportError, match=rf"mcpool\.adapters\.{adapter} needs {package}.* pip install"):
        importlib.import_module(f"mcpool.adapters.{adapter}")


def test_arguments_are_found_in_alternatives_too() -> None:
    one, two = {"type": "string"}, {"type": "integer"}
    schema = {"properties": {"a": one}, "anyOf": [{"properties": {"b": two}}, True, {"oneOf": "odd"}]}
    assert properties(schema) == {"a": one, "b": two}
    assert properties({"properties": "odd"}) == {}


def test_references_are_followed_into_the_root() -> None:
    root: dict[str, Any] = {
        "$defs": {"a/b": {"type": "object", "properties": {"c": {"$ref": "#/definitions/c"}}}},
        "definitions": {"c": {"type": "string"}},
    }
    schema = {"$ref": "#/$defs/a~1b", "description": "beside"}
    found = {"type": "object", "properties": {"c": {"type": "string"}}, "description": "beside"}
    assert inlined(schema, root) == found
    assert inlined({"properties": {"$ref": {"type": "string"}}}, root) == {
        "properties": {"$ref": {"type": "string"}}
    }
    assert inlined({"$ref": "#/nowhere", "title": "t"}, root) == {"title": "t"}
    assert inlined({"$ref": "https://elsewhere.example/s.json"}, root) == {}


def test_a_schema_that_holds_itself_ends_where_it_begins_again() -> None:
    root = {"$defs": {"tree": {"properties": {"left": {"$ref": "#/$defs/tree"}, "name": {"type": "string"}}}}}
    found = inlined({"$ref": "#/$defs/tree"}, root)
    assert found == {"properties": {"left": {}, "name": {"type": "string"}}}


def test_a_schema_that_would_fill_the_machine_does_not() -> None:
    twice = [{"$ref": "#/$defs/%d"}, {"$ref": "#/$defs/%d"}]
    bomb = {str(n): {"anyOf": [{"$ref": ref["$ref"] % (n + 1)} for ref in twice]} for n in range(60)}
    assert len(repr(inlined({"$ref": "#/$defs/0"}, {"$defs": bomb}))) < 100_000
    deep: dict[str, Any] = {}
    for _ in range(900):
        deep = {"items": deep}
    assert repr(inlined(deep, {})).count("items") <= 101


def test_what_may_be_left_out_may_be_null_and_is_then_left_out() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": ["integer", "null"]}}}
    schema = {
        "type": "object",
        "properties": {
            "needed": {"type": "string"},
            # A name that is a word of JSON Schema as well
            "properties": inner,
            "several": {"type": "array", "items": inner},
            "anything": {},
            "one of": {"enum": ["a", None]},
        },
        "required": ["needed"],
    }
    shown = optional_as_null(schema)["properties"]
    assert shown["needed"] == {"type": "string"}
    assert shown["anything"] == {} and shown["one of"] == {"enum": ["a", None]}
    object_or_null = shown["properties"]["anyOf"]
    assert object_or_null[1] == {"type": "null"}
    assert object_or_null[0]["properties"]["x"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert object_or_null[0]["properties"]["y"] == {"type": ["integer", "null"]}

    nulls = {"x": None, "y": None}
    given = {
        "needed": None,
        "properties": nulls,
        "several": [nulls, {"x": 1}],
        "anything": None,
        "one of": None,
        "unknown": None,
    }
    assert without_nulls(given, schema) == {
        "needed": None,
        "properties": {"y": None},
        "several": [{"y": None}, {"x": 1}],
        "anything": None,
        "one of": None,
        "unknown": None,
    }
    assert without_nulls({"several": None, "properties": None}, schema) == {}


PNG = {"type": "image", "mimeType": "image/png", "data": "AAE="}
GIF = {"type": "resource", "resource": {"uri": "a:b", "mimeType": "image/gif", "blob": "AQ=="}}
BMP = {"type": "image", "mimeType": "image/bmp", "data": "AQ=="}
NOT_BASE64 = {"type": "image", "mimeType": "image/png", "data": "not base64"}


def test_models_are_shown_the_images_that_the_core_gives_them() -> None:
    with mcpool.blocking.Manager(config(a=stdio())) as manager:
        manager.connect_all()
        (raw,) = (tool for tool in manager.get_tools() if tool.raw_name == "raw")

        def answered(**result: Any) -> mcpool.ToolOutput:
            return raw.execute_blocking({"json": json.dumps(result)})

        fine = answered(content=[PNG, GIF, BMP, NOT_BASE64])
        png, gif = mcpool.Image("image/png", "AAE="), mcpool.Image("image/gif", "AQ==")
        assert fine.model_images == [png, gif]
        assert (png.url, png.decode()) == ("data:image/png;base64,AAE=", b"\x00\x01")
        assert fine.result is not None
        assert fine.result.images == [png, gif, ("image/bmp", "AQ==")]
        failed = answered(content=[PNG], isError=True)
        assert failed.model_images == []
        assert failed.result is not None
        assert failed.result.images == [png]

        asked = {"type": "tool_use", "id": "one", "name": raw.name}
        calls = [
            {**asked, "input": {"json": json.dumps({"content": [PNG, BMP], "isError": failed})}}
            for failed in (False, True)
        ]
        shown, error = (answer["content"] for answer in anthropic.run_blocking(manager, calls))
        assert [block["type"] for block in shown] == ["text", "image"]
        assert shown[1]["source"] == {"type": "base64", "media_type": "image/png", "data": "AAE="}
        assert [block["type"] for block in error] == ["text"]


# What a model wrote for `mcp_a_echo`, and what the core has to say of it.
MISSPELT = {"type": "tool_use", "id": "one", "name": "mcp_a_ecko", "input": {}}


async def told(manager: mcpool.Manager, name: str) -> str:
    with pytest.raises(mcpool.ToolRejectedError) as failed:
        await manager.call(name)
    return f"MCP error: {failed.value.message} ({failed.value.hint})"


def test_a_name_that_no_tool_has_is_answered_in_the_words_of_the_core() -> None:
    async def main() -> None:
        async with mcpool.Manager(config(a=stdio())) as manager:
            await manager.connect_all()
            expected = await told(manager, "mcp_a_ecko")
            assert "mcp_a_echo" in expected
            (answer,) = await anthropic.run(manager, [MISSPELT])
            assert answer["is_error"] is True
            assert answer["content"] == [{"type": "text", "text": expected}]
            function = {"name": "mcp_a_ecko", "arguments": "{}"}
            calls = [{"type": "function", "id": "one", "function": function}]
            assert [message["content"] for message in await openai.run_chat(manager, calls)] == [expected]

    asyncio.run(main())


def test_a_name_that_no_tool_has_is_answered_without_a_loop() -> None:
    with mcpool.blocking.Manager(config(a=stdio())) as manager:
        manager.connect_all()
        (answer,) = anthropic.run_blocking(manager, [MISSPELT])
        (block,) = answer["content"]
        assert block["text"].startswith('MCP error: There is no tool "mcp_a_ecko" (')
        assert "mcp_a_echo" in block["text"]


def test_every_schema_is_one_of_an_object(tmp_path: Path) -> None:
    given: dict[str, Any] = {"$defs": {}, "type": "string", "properties": None}
    shown = {"$defs": {}, "type": "object", "properties": {}}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "odd", "inputSchema": given}]))
    with mcpool.blocking.Manager(config(a=stdio("--tools-file", str(tools)))) as manager:
        manager.connect_all()
        (place,) = (n for n, tool in enumerate(manager.get_tools()) if tool.raw_name == "odd")
        tool = manager.get_tools()[place]
        assert (tool.input_schema, tool.object_schema) == (given, shown)
        assert anthropic.tools(manager)[place]["input_schema"] == shown
        assert openai.chat_tools(manager)[place]["function"]["parameters"] == shown
        assert openai.response_tools(manager)[place]["parameters"] == shown


@pytest.mark.parametrize("text", ["", " ", "null", '{"a": 1}', '{"a": 10000000000000000000001}'])
def test_text_of_a_model_becomes_arguments(text: str) -> None:
    assert parse_arguments(text) == (json.loads(text) if "{" in text else {})


@pytest.mark.parametrize("text", ["{", "[]", "1", '"{}"', '{"a": 1e999}', '{"a": 1, "a": 2}', "[" * 100_000])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(mcpool.InvalidArgumentsError) as refused:
        parse_arguments(text)
    assert refused.value.executed == "no"


def test_a_tool_takes_the_text_of_a_model() -> None:
    with mcpool.blocking.Manager(config(a=stdio()), wrap=False) as manager:
        manager.connect_all()
        tools = {tool.raw_name: tool for tool in manager.get_tools()}
        assert tools["echo"].execute_blocking('{"text": "x"}').text == "x"
        for text in ("", "null"):
            assert not tools["pid"].execute_blocking(text).is_error
        broken = tools["echo"].execute_blocking("{")
        assert broken.error is not None and broken.error.code == "INVALID_ARGUMENTS"


def tool_with(schema: dict[str, Any], name: str = "t") -> Any:
    return SimpleNamespace(name=name, object_schema=schema)


def test_arguments_without_names_are_one_argument_more(caplog: pytest.LogCaptureFixture) -> None:
    schema = {"type": "object", "additionalProperties": True, "properties": {"a": {"type": "integer"}}}
    arguments = OpenArguments(tool_with(schema, "open"), "X")
    OpenArguments(tool_with(schema, "open"), "X")
    assert len([record for record in caplog.records if record.name == "mcpool.adapters"]) == 1
    assert arguments.name == "further_arguments"
    shown = arguments.schema()
    assert shown["additionalProperties"] is False and set(shown["properties"]) == {"a", "further_arguments"}

    given = arguments.gathered
    assert given({"a": 1}) == {"a": 1}
    assert given({"a": 1, "further_arguments": None}) == {"a": 1}
    assert given({"a": 1, "further_arguments": '{"b": [3]}'}) == {"a": 1, "b": [3]}
    assert given({"a": 1, "further_arguments": {"b": 3}}) == {"a": 1, "b": 3}
    # The core reads, and refuses, what stands alone or is no object.
    assert given({"further_arguments": '{"b": 3}'}) == '{"b": 3}'
    assert given({"a": 1, "further_arguments": "{"}) == "{"
    assert given({"a": 1, "further_arguments": [1]}) == [1]


@pytest.mark.parametrize("further", ['{"a": 5, "b": 2}', {"a": 5, "b": 2}])
def test_an_argument_that_is_also_among_the_further_ones_is_refused(further: object) -> None:
    arguments = OpenArguments(tool_with({"additionalProperties": True, "properties": {"a": {}}}), "X")
    given = arguments.gathered({"a": 1, "further_arguments": further})
    with pytest.raises(mcpool.InvalidArgumentsError, match='"a" appears twice'):
        parse_arguments(given)


def test_only_schemas_that_say_so_take_arguments_without_names() -> None:
    for closed in ({}, {"type": "object"}, {"additionalProperties": False}, {"patternProperties": {}}):
        arguments = OpenArguments(tool_with(closed), "X")
        assert arguments.name is None and arguments.schema() is closed
        assert arguments.gathered({"further_arguments": "x"}) == {"further_arguments": "x"}
    part = {"additionalProperties": {"type": "string"}}
    for open in (part, {"anyOf": [part]}, {"patternProperties": {"^x": {}}}, {"additionalProperties": {}}):
        assert OpenArguments(tool_with(open), "X").name == "further_arguments"
    taken = {"additionalProperties": True, "properties": {"further_arguments": {}}}
    assert OpenArguments(tool_with(taken), "X").name == "further_arguments_"
