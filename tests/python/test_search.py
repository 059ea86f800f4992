"""Search gives the lists that it gives in every language, over the tools of real servers."""

from __future__ import annotations

import json
from pathlib import Path

import mcpool
import mcpool.blocking
import pytest
from fixture_server import PROGRAM

DATA = Path(__file__).parents[1] / "search"


def test_the_lists_of_all_languages_are_the_same() -> None:
    tools = DATA / "tools.json"
    servers = {
        name: {"command": str(PROGRAM), "args": ["stdio", "--name", name, "--tools-from", str(tools)]}
        for name in json.loads(tools.read_text())
    }
    pool = mcpool.Pool()
    with mcpool.blocking.Manager(
        {"mcpServers": servers}, naming="raw", cache_dir=False, pool=pool
    ) as manager:
        for name in servers:
            manager.connect(name)
        for query, found in json.loads((DATA / "found.json").read_text()).items():
            assert [tool.name for tool in manager.search_tools(query)] == found


def test_a_search_gives_the_tools_of_the_list() -> None:
    config = {"mcpServers": {"s": {"command": str(PROGRAM), "args": ["stdio"]}}}
    with mcpool.blocking.Manager(config, cache_dir=False, pool=mcpool.Pool()) as manager:
        manager.connect_all()
        found = manager.search_tools("add numbers", k=1)
        assert [tool.raw_name for tool in found] == ["add"]
        assert found[0] in manager.get_tools()
        assert manager.search_tools("add numbers", k=-1) == []
        assert manager.search_tools("number " * 150_000)[0].raw_name == "add"
        with pytest.raises(TypeError):
            manager.search_tools(7)  # type: ignore[arg-type]
