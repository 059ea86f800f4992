"""What can be chosen about a manager, a pool and a call reaches the core, which says what it cannot use."""

from __future__ import annotations

import inspect
import json
import pydoc
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import PATIENCE, config, read_journal, stdio, until

Manager = mcpool.blocking.Manager


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


@pytest.mark.parametrize(
    "options",
    [
        {"connect_concurrency": -1},
        {"gate": "soon"},
        {"pending_without_cache": "hope"},
        {"restart_wait": -1},
        {"retry": "always"},
        {"cache_dir": 7.5},
        {"naming": "shouting"},
    ],
)
def test_an_option_that_means_nothing_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps(config()))
    (name,) = options
    for manager in (mcpool.Manager, Manager):
        with pytest.raises(mcpool.ConfigInvalidError, match=f'"{name}"'):
            manager(config(), **options)
        with pytest.raises(mcpool.ConfigInvalidError, match=f'"{name}"'):
            manager.from_file(file, **options)


def test_a_name_that_is_none_is_told_the_right_one() -> None:
    for wrong, meant in (("gate_ms", '"gate", in seconds'), ("cachedir", '"cache_dir"')):
        options: dict[str, Any] = {wrong: 250}
        with pytest.raises(mcpool.ConfigInvalidError, match=f"did you mean {meant}"):
            mcpool.Manager(config(), **options)
        with pytest.raises(mcpool.ConfigInvalidError, match=f"did you mean {meant}"):
            Manager.discover(**options)
    watch: dict[str, Any] = {"watch": True}
    with pytest.raises(mcpool.ConfigInvalidError, match="made from files"):
        mcpool.Manager(config(), **watch)


def test_the_keywords_are_shown() -> None:
    def shown(function: Any) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(function).parameters)

    for manager in (mcpool.Manager, Manager):
        own = shown(manager)
        assert list(own)[:2] == ["config", "naming"]
        assert (own["gate"].default, own["gate"].kind) == (0.25, inspect.Parameter.KEYWORD_ONLY)
        of_file, of_discovery = shown(manager.from_file), shown(manager.discover)
        assert of_file.keys() - own.keys() == {"path", "watch"}
        assert of_discovery.keys() >= (of_file.keys() - {"path"}) | {"cwd", "exclude", "providers"}
        help_text = pydoc.render_doc(manager, renderer=pydoc.plaintext)
        assert "= 0.25" in help_text and "`gate`: How long `connect_all` waits" in help_text
    for discover in (mcpool.discover, mcpool.blocking.discover):
        assert list(shown(discover))[:2] == ["cwd", "project_config"]


@pytest.mark.parametrize("options", [{"keep_alive": "sometimes"}, {"keep_alive": -1}, {"clock": "sundial"}])
def test_a_pool_that_means_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(mcpool.ConfigInvalidError):
        mcpool.Pool(**options)


@pytest.mark.parametrize("kind", [str, Path])
def test_tools_are_remembered_where_they_are_wanted(kind: type, tmp_path: Path, journal: Path) -> None:
    gate, cache = tmp_path / "gate", tmp_path / "cache"
    servers = config(a=stdio("--hold", f"initialize={gate}", journal=journal))
    with Manager(servers, cache_dir=kind(cache), pool=mcpool.Pool()) as manager:
        assert manager.connect_all().connected == ["a"]
        assert until(lambda: any(cache.rglob("*.json")))
    gate.write_text("hold")
    with Manager(servers, cache_dir=kind(cache), pool=mcpool.Pool(), gate=0) as manager:
        assert manager.connect_all().deferred == ["a"]
        assert {tool.state for tool in manager.get_tools()} == {"deferred"}
        gate.write_text("go")
        assert manager.call_tool("a", "echo", {"text": "x"}).text == "x"
        assert {tool.state for tool in manager.get_tools()} == {"live"}


def test_tools_are_not_remembered_where_they_are_not_wanted(journal: Path) -> None:
    servers = config(a=stdio("--slow", "initialize=500", journal=journal))
    for _ in range(2):
        with Manager(servers, cache_dir=False, pool=mcpool.Pool(), gate=0) as manager:
            assert manager.connect_all().connected == ["a"]


def test_a_late_server_of_which_nothing_is_known_may_be_skipped(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.write_text("hold")
    servers = config(a=stdio("--hold", f"initialize={gate}"))
    options: dict[str, Any] = {"pending_without_cache": "skip", "gate": 0}
    with Manager(servers, cache_dir=False, pool=mcpool.Pool(), **options) as manager:
        assert manager.connect_all().pending == ["a"]
        gate.write_text("go")
        manager.wait_for("a", timeout=PATIENCE)


def test_a_call_may_be_limited_in_all(journal: Path) -> None:
    with Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool()) as manager:
        manager.connect_all()
        with pytest.raises(TimeoutError):
            manager.call_tool("a", "sleep", {"ms": 20_000}, timeout=600, max_total_timeout=0.1)
        for mistake in (0, -1, float("nan")):
            with pytest.raises(mcpool.InvalidArgumentsError):
                manager.call_tool("a", "echo", {"text": "x"}, max_total_timeout=mistake)
        with pytest.raises(mcpool.ConfigInvalidError):
            manager.call_tool("a", "echo", {"text": "x"}, retry="always")  # type: ignore[arg-type]


@pytest.mark.parametrize(("of_manager", "of_call"), [("safe", None), (None, "safe"), ("never", "safe")])
def test_a_safe_call_is_sent_again_when_asked_to(of_manager: Any, of_call: Any, journal: Path) -> None:
    at_once = {"delays": [10], "forever": True}
    servers = config(a=stdio("--hint-tools", "--exit-at", "tools/call", journal=journal, restart=at_once))

    def started() -> int:
        return sum(entry["event"] == "start" for entry in read_journal(journal))

    with Manager(servers, pool=mcpool.Pool(), retry=of_manager) as manager:
        manager.connect_all()
        with pytest.raises(mcpool.ConnectionLostError):
            manager.call_tool("a", "read_only_count", retry="never")
        manager.wait_for("a", timeout=PATIENCE)
        before = started()
        with pytest.raises(mcpool.ConnectionLostError):
            manager.call_tool("a", "read_only_count", retry=of_call)
        # The second process took the call as well, and a third one has come up or will.
        assert until(lambda: started() >= before + 2)
