"""Tools as Python sees them: names, filters, schemas as they came, and changes that are accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import stdio


def listing(directory: Path, *entries: Any) -> dict[str, Any]:
    """A config of a server that lists these entries too; what is a string is JSON already."""
    texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    (directory / "tools.json").write_text(f"[{','.join(texts)}]")
    return {"mcpServers": {"s": stdio("--tools-file", str(directory / "tools.json"))}}


def test_schemas_keep_their_order_and_their_numbers(tmp_path: Path) -> None:
    schema = '{"type":"object","properties":{"z":true,"a":{"maximum":123456789012345678901234567890},"m":{}}}'
    deep = '{"items":' * 200 + "{}" + "}" * 200
    config = listing(
        tmp_path, f'{{"name":"huge","inputSchema":{schema}}}', f'{{"name":"deep","inputSchema":{deep}}}'
    )
    with mcpool.blocking.Manager(config, pool=mcpool.Pool(), cache_dir=False) as manager:
        manager.connect_all()
        tools = {tool.raw_name: tool for tool in manager.get_tools()}
        assert json.dumps(tools["huge"].input_schema, separators=(",", ":")) == schema
        assert json.dumps(tools["deep"].input_schema, separators=(",", ":")) == deep


def test_a_naming_function_that_misbehaves_costs_no_tool(tmp_path: Path) -> None:
    answers: dict[str, Any] = {
        "echo": "",
        "add": 7,
        "env": None,
        "big": "same",
        "pid": "same",
        "cwd": "ü b" * 60,
    }

    def naming(server: str, tool: str) -> Any:
        if tool == "fail":
            raise RuntimeError(tool)
        return answers.get(tool, tool)

    config = {"mcpServers": {"s": stdio()}}
    with mcpool.blocking.Manager(config, pool=mcpool.Pool(), naming=naming, cache_dir=False) as manager:
        manager.connect_all()
        names = {tool.raw_name: tool.name for tool in manager.get_tools()}
        assert len(set(names.values())) == 25
        assert [names[tool] for tool in ("echo", "add", "env", "fail", "sleep")] == [
            "mcp_s_echo",
            "mcp_s_add",
            "mcp_s_env",
            "mcp_s_fail",
            "sleep",
        ]
        assert names["big"].startswith("same_") and names["pid"].startswith("same_")
        assert len(names["cwd"]) <= 64 and names["cwd"].isascii()


def test_a_filter_goes_by_what_a_function_calls_a_tool() -> None:
    config = {"mcpServers": {"s": stdio()}}
    options: dict[str, Any] = {"enabled_tools": ["my-e*", "pid"], "disabled_tools": ["MY-ENV*"]}

    def naming(server: str, tool: str) -> str:
        return f"my-{tool}"

    with mcpool.blocking.Manager(
        config, pool=mcpool.Pool(), naming=naming, cache_dir=False, **options
    ) as manager:
        manager.connect_all()
        assert [tool.name for tool in manager.get_tools()] == ["my-echo", "my-empty", "my-exit", "my-pid"]
        assert manager.status()[0].tool_count == 4
        with pytest.raises(mcpool.ToolRejectedError) as refused:
            manager.call_tool("s", "env_all")
        assert "MY-ENV*" in (refused.value.hint or "")


def test_nothing_is_offered_where_nothing_is_enabled() -> None:
    with mcpool.blocking.Manager(
        {"mcpServers": {"s": stdio()}}, pool=mcpool.Pool(), cache_dir=False, enabled_tools=[]
    ) as manager:
        manager.connect_all()
        assert manager.get_tools() == []
        assert any("enabled_tools" in line for line in manager.warnings)


def test_drift_is_accepted_without_a_loop_too(tmp_path: Path) -> None:
    config = listing(tmp_path, {"name": "x", "description": "first"})
    # What the cache knows is not enough: the second list has to have come.
    options: dict[str, Any] = {"drift": "block", "cache_dir": tmp_path, "gate": 60}
    with mcpool.blocking.Manager(config, pool=mcpool.Pool(), **options) as manager:
        manager.connect_all()
        manager.disconnect_all()
        listing(tmp_path, {"name": "x", "description": "second"})
        manager.connect_all()
        with pytest.raises(mcpool.ToolRejectedError, match="blocked"):
            manager.call_tool("s", "x")
        assert manager.accept_drift("s", "x") == ["x"]
        assert manager.call_tool("s", "x").text == "x ran"
        with pytest.raises(mcpool.ServerNotFoundError):
            manager.accept_drift("nobody")
