"""What can be chosen about a manager, a pool and a call reaches the core, which says what it cannot use."""

from __future__ import annotations

import inspect
import json
import pydoc
import subprocess
import sys
from decimal import Decimal
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
        {"cache_dir": True},
        {"cache_dir": b"/x"},
        {"naming": "shouting"},
        {"gate": float("nan")},
        {"gate": float("inf")},
        {"gate": Decimal(5)},
        {"gate": True},
        {"gate": 10**400},
        {"enabled_tools": {"a"}},
        {"host_env": []},
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


@pytest.mark.parametrize("options", [{"exclude": {"a"}}, {"cwd": b"/x"}, {"host_env": []}])
def test_an_option_of_discovery_that_means_nothing_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    for discover in (mcpool.blocking.discover, Manager.discover):
        with pytest.raises(mcpool.ConfigInvalidError, match=f'"{name}"') as caught:
            discover(**options)
        assert "struct" not in caught.value.message


def keywords(function: Any) -> dict[str, inspect.Parameter]:
    signature = inspect.signature(function)
    assert isinstance(signature, inspect.Signature) and str(signature).startswith("(")
    assert all(one.kind is not inspect.Parameter.VAR_KEYWORD for one in signature.parameters.values())
    return dict(signature.parameters)


def help_text(function: Any) -> str:
    """Without the quotes that Python before 3.14 puts around annotations."""
    return pydoc.render_doc(function, renderer=pydoc.plaintext).replace("'", "")


def test_the_keywords_of_managers_and_discovery_are_shown() -> None:
    for manager in (mcpool.Manager, Manager):
        own = keywords(manager)
        assert list(own)[:2] == ["config", "naming"]
        assert (own["gate"].default, own["gate"].kind) == (0.25, inspect.Parameter.KEYWORD_ONLY)
        assert own["gate"].annotation == "float | None"
        of_file, of_discovery = keywords(manager.from_file), keywords(manager.discover)
        assert of_file.keys() - own.keys() == {"path", "watch"}
        assert of_discovery.keys() >= (of_file.keys() - {"path"}) | {"cwd", "exclude", "providers"}
        shown = help_text(manager)
        assert "= 0.25" in shown and "`gate`: How long `connect_all` waits" in shown
        assert "watch: bool | None = False" in help_text(manager.from_file)
    for discover in (mcpool.discover, mcpool.blocking.discover):
        assert list(keywords(discover))[:2] == ["cwd", "project_config"]
        assert "`project_config`: Whether" in help_text(discover)


def test_the_keywords_of_a_pool_are_shown() -> None:
    own = keywords(mcpool.Pool)
    assert list(own) == ["keep_alive", "client_info", "clock"] and own["clock"].default == "system"
    assert "`keep_alive`: How long a connection" in help_text(mcpool.Pool)
    wrong: dict[str, Any] = {"keepalive": 5}
    with pytest.raises(TypeError, match="keepalive"):
        mcpool.Pool(**wrong)


def test_the_keywords_of_calls_are_shown() -> None:
    own = ["timeout", "max_total_timeout", "retry", "meta", "identity", "headers"]
    own += ["check_output", "return_task", "resume_task", "on_progress"]
    for manager in (mcpool.Manager, Manager):
        assert list(keywords(manager.call_tool)) == ["self", "server", "tool", "arguments", *own]
        assert list(keywords(manager.call)) == ["self", "name", "arguments", *own]
        shown = help_text(manager.call_tool)
        assert "timeout: float | None = None" in shown and "`timeout`: How long the call may go" in shown
    for execute in (mcpool.Tool.execute, mcpool.Tool.execute_blocking):
        assert list(keywords(execute)) == ["self", "arguments", *own]


@pytest.mark.parametrize("verb", ["add", "remove", "update", "enable", "disable", "hide", "unhide"])
def test_the_keywords_of_edits_are_shown(verb: str) -> None:
    for module in (mcpool.config, mcpool.blocking.config):
        own = keywords(getattr(module, verb))
        assert list(own)[-4:] == ["scope", "file", "cwd", "host_env"]
        assert own["scope"].default == "user"
        assert "`scope`: Whose file" in help_text(getattr(module, verb))


def test_showing_the_keywords_leaves_the_function_as_it_is() -> None:
    source = inspect.getsource(mcpool.Manager.call_tool)
    assert "async def call_tool(" in source and inspect.unwrap(mcpool.discover) is mcpool.discover
    assert inspect.iscoroutinefunction(mcpool.Manager.call_tool)
    # The first look at the keywords makes the signature; the function keeps it.
    assert inspect.signature(mcpool.discover).parameters
    assert type(inspect.signature(mcpool.discover)) is inspect.Signature


def test_a_signature_can_be_copied_and_pickled_before_it_is_read() -> None:
    script = """
import copy, inspect, pickle, mcpool
made = {make.__name__: make(inspect.signature(function)) for make, function in [
    (copy.copy, mcpool.discover),
    (copy.deepcopy, mcpool.Manager.call_tool),
    (lambda it: pickle.loads(pickle.dumps(it)), mcpool.config.add),
]}
for signature in made.values():
    assert type(signature) is inspect.Signature, type(signature)
assert made["copy"] == inspect.signature(mcpool.discover)
assert made["deepcopy"] == inspect.signature(mcpool.Manager.call_tool)
assert made["<lambda>"] == inspect.signature(mcpool.config.add)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_keyword_that_is_none_is_a_type_error(journal: Path) -> None:
    wrong: dict[str, Any] = {"time_out": 5}
    with Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool()) as manager:
        manager.connect_all()
        with pytest.raises(TypeError, match="time_out"):
            manager.call_tool("a", "echo", {"text": "x"}, **wrong)
        with pytest.raises(TypeError, match="time_out"):
            manager.get_tool("mcp_a_echo").execute_blocking({"text": "x"}, **wrong)
    with pytest.raises(TypeError, match="time_out"):
        mcpool.blocking.config.remove("a", **wrong)


def test_a_misspelt_keyword_gets_a_suggestion() -> None:
    manager = Manager({"mcpServers": {}})
    for wrong, meant, function in (
        ("keepalive", '"keep_alive"', mcpool.Pool),
        ("keep_alive_ms", '"keep_alive", in seconds', mcpool.Pool),
        ("time_out", '"timeout"', lambda **options: manager.call_tool("a", "echo", **options)),
        ("timeout_ms", '"timeout", in seconds', lambda **options: manager.call("echo", **options)),
        ("hostenv", '"host_env"', lambda **options: mcpool.blocking.config.remove("a", **options)),
    ):
        options: dict[str, Any] = {wrong: 5}
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{wrong}'.*did you mean {meant}"):
            function(**options)
    with pytest.raises(TypeError, match=r"the options are timeout, max_total_timeout, .*, on_progress$"):
        manager.call("echo", **{"x" * 40: 5})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": "5"},
        {"timeout": True},
        {"timeout": Decimal(5)},
        {"timeout": 10**400},
        {"timeout": float("nan")},
        {"max_total_timeout": [5]},
        {"retry": "always"},
        {"retry": {"safe"}},
        {"meta": []},
        {"meta": {"x": {1}}},
        {"identity": ["a"]},
        {"headers": {"X-A": 1}},
    ],
)
def test_an_option_of_a_call_that_means_nothing_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(mcpool.InvalidArgumentsError, match=f'"{name}"') as caught:
        Manager({"mcpServers": {}}).call_tool("a", "echo", **options)
    assert caught.value.executed == "no"


@pytest.mark.parametrize("timeout", ["5", True, Decimal(5), 10**400, float("nan"), -1])
def test_a_time_to_wait_is_a_number(timeout: Any) -> None:
    with pytest.raises(mcpool.InvalidArgumentsError, match="timeout"):
        Manager({"mcpServers": {}}).wait_for("a", timeout)


@pytest.mark.parametrize(
    "options",
    [{"keep_alive": "sometimes"}, {"keep_alive": -1}, {"keep_alive": 10**400}, {"clock": "sundial"}],
)
def test_a_pool_that_means_nothing_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(mcpool.ConfigInvalidError, match=f'"{name}"'):
        mcpool.Pool(**options)


def test_a_clock_goes_forward_and_never_over_its_end() -> None:
    pool = mcpool.Pool(clock="manual")
    for seconds in (1e18, 1.84e19):
        pool.advance(seconds)
    for mistake in (-1, 1e300, float("nan"), float("inf")):
        with pytest.raises(mcpool.InvalidArgumentsError, match="a number of seconds, 0 or more"):
            pool.advance(mistake)


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
