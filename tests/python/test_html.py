"""What a notebook is shown: all that matters is in it, nothing of a server acts in it, and it is bounded."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostile_server
import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, stdio, until
from markup import Markup, is_harmless
from user_home import UserHome

HOSTILE = {"command": sys.executable, "args": [hostile_server.__file__]}
PNG = base64.b64decode(hostile_server.PIXEL)


def open_manager(**servers: dict[str, Any]) -> mcpool.blocking.Manager:
    return mcpool.blocking.Manager(config(**servers), pool=mcpool.Pool(), cache_dir=False, gate=20)


@pytest.fixture(scope="module")
def manager() -> Iterator[mcpool.blocking.Manager]:
    with open_manager(a=stdio(), hostile=HOSTILE) as manager:
        assert manager.connect_all().connected == ["a", "hostile"]
        yield manager


def show(thing: Any) -> Markup:
    markup = Markup(thing._repr_html_())
    assert is_harmless(markup)
    return markup


def answer(manager: mcpool.blocking.Manager, *content: object, **others: object) -> mcpool.ToolResult:
    return manager.call_tool("a", "raw", {"json": json.dumps({"content": content, **others})})


def test_the_status_table_tells_of_every_server() -> None:
    with open_manager(up=stdio(), down=stdio("--exit-at", "start"), off=stdio(enabled=False)) as manager:
        manager.connect("up")
        with pytest.raises(mcpool.ConnectFailedError):
            manager.connect("down")
        manager.call_tool("up", "echo", {"text": "x"})
        for markup in (show(manager), show(mcpool.Manager._of(manager._native))):
            heads = [head for head in markup.all("th") if head.get("scope") == "col"]
            assert len(heads) == 10 and len(markup.all("caption")) == 1
            said = markup.text()
            for words in ("3 servers", "connected", "reconnecting", "disabled", "stdio", "CONNECT_FAILED"):
                assert words in said, words
        assert "up" in show(manager.status()[0]).text("th") and "down" not in show(manager.status()[0]).text()
        error = manager.status()[1].error
        assert error is not None and error.message in show(error).text()


def test_an_error_is_shown_with_how_the_program_ended() -> None:
    down = stdio("--stderr", "no licence", "--exit-at", "start:3", restart="never")
    with open_manager(down=down) as manager:
        with pytest.raises(mcpool.ConnectFailedError) as raised:
            manager.connect("down")
        said = show(raised.value).text()
        for words in ("CONNECT_FAILED", "handshake", "Exit code", "3", "stderr", "no licence"):
            assert words in said, words
        assert "no licence" in show(manager.status()[0]).text()


def test_the_report_of_connecting_is_a_table() -> None:
    with open_manager(up=stdio(), down=stdio("--exit-at", "start"), off=stdio(enabled=False)) as manager:
        said = show(manager.connect_all()).text()
    for words in ("1 of 3 servers connected", "failed", "disabled", "CONNECT_FAILED"):
        assert words in said


def test_a_closed_manager_is_shown_as_such() -> None:
    manager = open_manager(a=stdio())
    manager.connect_all()
    manager.close()
    assert "disconnected" in show(manager).text()


def test_a_list_of_tools_is_a_list(manager: mcpool.blocking.Manager) -> None:
    tools = manager.get_tools()
    assert type(tools) is mcpool.ToolList and isinstance(tools, list)
    assert tools == list(tools) and next(iter(tools)) is tools[0] and tools[-1] in tools
    assert type(tools[:2]) is mcpool.ToolList and tools[:2] == list(tools)[:2]
    assert sorted(tools, key=lambda tool: tool.name) == tools
    tools.clear()
    assert len(manager.get_tools()) > 20


def test_tools_are_a_table_with_folded_schemas(manager: mcpool.blocking.Manager) -> None:
    tools = manager.get_tools()
    markup = show(tools)
    assert len(markup.all("details")) == len(tools)
    assert not [one for one in markup.all("details") if "open" in one]
    for words in (f"{len(tools)} tools", "mcp_a_echo", "Gives the text back", "live", "bytes, shape?"):
        assert words in markup.text(), words
    assert len(markup.all("script")) == 1
    assert tools._repr_html_() == manager.get_tools()._repr_html_()


def test_one_tool_is_shown_in_full(manager: mcpool.blocking.Manager) -> None:
    add = next(tool for tool in manager.get_tools() if tool.raw_name == "add" and tool.server == "a")
    said = show(add).text()
    for words in ("mcp_a_add", "Adds two numbers", '"required"', '"sum"', "readOnlyHint"):
        assert words in said, words


def test_many_tools_stay_of_a_size_that_a_page_can_carry() -> None:
    knobs = ("--tools", "3000", "--tool-bytes", "4000")
    with open_manager(a=stdio(*knobs)) as manager:
        manager.connect_all()
        tools = manager.get_tools()
        page = tools._repr_html_()
    assert len(tools) > 3000 and len(page) < 2_000_000
    markup = Markup(page)
    assert "more tools: show a part of the list" in markup.text() and len(markup.all("tr")) == 1001


def test_nothing_of_a_hostile_server_acts(manager: mcpool.blocking.Manager) -> None:
    result = manager.call_tool("hostile", "tool0")
    for thing in (manager, manager.get_tools(), result, *manager.get_tools()):
        markup = show(thing)
        assert len(markup.all("script")) <= 1
    with pytest.raises(mcpool.ToolFailedError) as failed:
        manager.call_tool("hostile", "tool1")
    assert "<script>" in show(failed.value).text()
    assert "Tries to give orders, hidden_characters" in show(manager.get_tools()).text()
    said = show(result).text()
    assert all(words in said for words in hostile_server.WORDS[:7])
    assert "is_error" in said and "\\u202egnp.exe" in said and "\\ue0041" in said and "\x1b" not in said
    assert [link["href"] for link in show(result).all("a")] == ["https://outside.invalid/fine"]
    assert len(show(result).all("img")) == 2 and not show(result).all("audio")


def test_a_picture_is_inside_the_page(manager: mcpool.blocking.Manager) -> None:
    result = manager.call_tool("a", "image")
    [picture] = show(result).all("img")
    assert picture["src"] == f"data:image/png;base64,{result.content[0]['data']}"
    assert picture["alt"] and "image/png" in picture["alt"]


def test_every_kind_of_block_is_shown_as_what_it_is(manager: mcpool.blocking.Manager) -> None:
    markup = show(manager.call_tool("a", "mixed"))
    assert len(markup.all("img")) == 1 and "controls" in markup.all("audio")[0]
    for words in ("some of each", "an embedded note", "fixture://report"):
        assert words in markup.text()
    assert not markup.all("a")


def test_text_is_folded_when_long_and_cut_when_huge(manager: mcpool.blocking.Manager) -> None:
    assert not show(manager.call_tool("a", "echo", {"text": "short"})).all("details")
    assert len(show(manager.call_tool("a", "big", {"bytes": 5000})).all("details")) == 1
    huge = manager.call_tool("a", "big", {"bytes": 3_000_000})
    assert "The first 20.0 kB of 3.0 MB" in show(huge).text() and len(huge._repr_html_()) < 50_000
    many = answer(manager, *({"type": "text", "text": "x" * 500} for _ in range(5000)))
    assert "4 900 more blocks" in show(many).text() and len(many._repr_html_()) < 100_000
    rows = manager.call_tool("a", "big", {"bytes": 3_000_000, "shape": "structured"})
    assert "structured" in show(rows).text() and len(rows._repr_html_()) < 100_000


def test_pictures_are_bounded(manager: mcpool.blocking.Manager) -> None:
    image = {
        "type": "image",
        "mimeType": "image/png",
        "data": base64.b64encode(PNG.ljust(2_000_000)).decode(),
    }
    markup = show(answer(manager, image, image, image))
    assert len(markup.all("img")) == 2 and "too much to show" in markup.text()


def test_json_is_folded_and_small_json_is_open(manager: mcpool.blocking.Manager) -> None:
    small = show(answer(manager, {"type": "text", "text": '{"a": 1}'}, structuredContent={"a": 1}))
    assert [one.keys() for one in small.all("details")] == [{"open"}, {"open"}]
    large = show(answer(manager, structuredContent={"rows": list(range(1000))}))
    assert [one.keys() for one in large.all("details")] == [set()]


@pytest.mark.parametrize("raw", [{}, {"content": 7}, {"content": [[]]}, {"content": [{"type": "resource"}]}])
def test_an_odd_result_is_shown_too(manager: mcpool.blocking.Manager, raw: object) -> None:
    assert show(manager.call_tool("a", "raw", {"json": json.dumps(raw)})).text()


def test_content_that_is_no_list_is_shown_as_it_came(manager: mcpool.blocking.Manager) -> None:
    markup = show(manager.call_tool("a", "raw", {"json": '{"content": {"alone": "on its own"}}'}))
    assert "on its own" in markup.text()


def test_an_output_shows_what_the_model_is_given(manager: mcpool.blocking.Manager) -> None:
    tools = {(tool.server, tool.raw_name): tool for tool in manager.get_tools()}
    given = tools["a", "echo"].execute_blocking({"text": "hello"})
    failed = tools["a", "rpc_error"].execute_blocking({"code": 5, "message": "no luck"})
    for output, words in ((given, "hello"), (failed, "TOOL_FAILED")):
        markup = show(output)
        assert words in markup.text() and output.text in markup.text("pre")
    assert show(tools["hostile", "tool0"].execute_blocking()).all("details")


def test_what_a_server_offers_besides_tools_is_shown_and_harmless() -> None:
    with open_manager(a=stdio("--offers")) as manager:
        manager.connect_all()
        resources, prompts = manager.list_resources("a"), manager.list_prompts("a")
    assert "fixture://greeting" in show(resources).text("code") and "2 resources" in show(resources).text()
    assert resources[1].icons == [{"src": "data:,"}] and prompts[0].icons is None
    assert "city, days?" in show(prompts).text("td") and "2 prompts" in show(prompts).text()
    # What a server may write into them.
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>" + "x" * 100_000
    listed = [resources[0]._replace(uri=evil, name=evil, title=evil, description=evil, mime_type=evil)] * 1500
    shown = show(type(resources)(listed))
    assert "resources" in shown.text() and "500 more resources" in shown.text()
    argument = prompts[0].arguments[0]._replace(name=evil)
    many = prompts[0]._replace(name=evil, description=evil, arguments=[argument] * 5000)
    assert show(type(prompts)([many])).text("td")


def test_what_discovery_found_is_shown(tmp_path: Path) -> None:
    user = UserHome(tmp_path)
    user.user(a=stdio(), wrong={"command": 7})
    user.of_project(a=stdio(), b=stdio(enabled=False))
    found = mcpool.blocking.discover(cwd=user.project, host_env=user.host_env)
    said = show(found).text()
    for words in ("3 servers found", "cursor", "shadows", "disabled", "CONFIG_INVALID", "2 files"):
        assert words in said, words


def test_restarts_and_calls_are_counted() -> None:
    with open_manager(a=stdio("--exit-after-calls", "1")) as manager:
        manager.connect_all()
        manager.call_tool("a", "echo", {"text": "x"})
        assert until(lambda: manager.status()[0].restarts == 1)
        row = show(manager.status()[0]).text("td")
    assert "1" in row
