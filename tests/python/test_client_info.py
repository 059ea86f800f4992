"""What servers are told about their client, for the process and for a pool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, stdio

AGENT: mcpool.ClientInfo = {"name": "my-agent", "version": "1.2"}


@pytest.fixture
def process_info() -> Iterator[None]:
    """Sets back what a test sets for the process."""
    yield
    mcpool.set_client_info(None)


def seen_client(journal: Path, pool: mcpool.Pool) -> dict[str, Any]:
    """Connects, and returns what the server was told."""
    with mcpool.blocking.Manager(config(a=stdio(journal=journal)), pool=pool) as manager:
        assert manager.connect_all().connected == ["a"]
    lines = map(json.loads, journal.read_text().splitlines())
    clients = [line["client"] for line in lines if line.get("method") == "initialize"]
    return clients[-1]


def test_that_of_the_process_is_told_until_it_is_set_back(process_info: None, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    mcpool.set_client_info({**AGENT, "title": "My agent"})
    assert seen_client(journal, mcpool.Pool()) == {**AGENT, "title": "My agent"}
    mcpool.set_client_info(None)
    assert seen_client(journal, mcpool.Pool())["name"] == "mcpool"


def test_that_of_a_pool_wins(process_info: None, tmp_path: Path) -> None:
    mcpool.set_client_info({"name": "other", "version": "1"})
    assert seen_client(tmp_path / "a.jsonl", mcpool.Pool(client_info=AGENT)) == AGENT


def test_a_connection_that_is_up_keeps_what_it_was_opened_with(process_info: None, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    with mcpool.blocking.Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool()) as manager:
        manager.connect_all()
        mcpool.set_client_info(AGENT)
        assert manager.call_tool("a", "echo", {"text": "hi"}).text == "hi"
        assert journal.read_text().count('"my-agent"') == 0
        manager.disconnect("a")
        manager.connect("a")
        assert journal.read_text().count('"my-agent"') == 1


@pytest.mark.parametrize(
    ("info", "named"),
    [
        ({"version": "1"}, '"name"'),
        ({"name": "a"}, '"version"'),
        ({"name": "", "version": "1"}, '"name"'),
        ({"name": "a", "version": 1}, '"version"'),
        ({"name": "a", "version": "1", "title": "x" * 201}, '"title"'),
        ({"name": "a", "version": "1", "titel": "x"}, '"titel"'),
        ("my-agent", "an object"),
        ({"name": object(), "version": "1"}, "JSON"),
    ],
)
def test_what_cannot_be_told_is_refused_by_its_name(info: Any, named: str) -> None:
    with pytest.raises(mcpool.ConfigInvalidError) as process:
        mcpool.set_client_info(info)
    assert named in process.value.message
    with pytest.raises(mcpool.ConfigInvalidError) as pool:
        mcpool.Pool(client_info=info)
    assert "client_info" in pool.value.message
    assert named in pool.value.message
