"""What the package shows to its users, and what it costs to import."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import json
import os
import pickle
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import ROOT
from mcpool import _errors, _events, _native

PACKAGE = Path(mcpool.__file__).parent
ALLOWED = Path(__file__).with_name("stubtest_allowed.txt")
EXPORTS = [
    "ApprovalQuestion",
    "AuthFailedError",
    "AuthPrompt",
    "AuthRequiredError",
    "BlockedEntry",
    "Calls",
    "ClientInfo",
    "ClosedError",
    "Completion",
    "ConfigConflictError",
    "ConfigInvalidError",
    "ConfigIoError",
    "ConnectFailedError",
    "ConnectReport",
    "ConnectTimeoutError",
    "ConnectionLostError",
    "Discovering",
    "Discovery",
    "DiscoveryError",
    "DiscoveryFailedError",
    "ElicitationRequest",
    "Event",
    "Events",
    "FoundFile",
    "FoundServer",
    "HandshakeFailedError",
    "HostEnv",
    "IdentityQuestion",
    "Image",
    "InvalidArgumentsError",
    "LeftOut",
    "LimitExceededError",
    "LoginStoreRequest",
    "Manager",
    "McpoolError",
    "Naming",
    "NotApprovedError",
    "Pool",
    "Progress",
    "Prompt",
    "PromptArgument",
    "PromptList",
    "PromptMessage",
    "PromptResult",
    "ProtocolError",
    "ReloadReport",
    "ReplacedServer",
    "Resource",
    "ResourceContent",
    "ResourceList",
    "ResourceTemplate",
    "Restart",
    "RestartFailedError",
    "RestartInProgressError",
    "RpcError",
    "SamplingRequest",
    "Secret",
    "ServerDisabledError",
    "ServerNotFoundError",
    "ServerStatus",
    "Signal",
    "Skill",
    "SkillContent",
    "SkillFile",
    "SkillList",
    "Source",
    "Task",
    "Tool",
    "ToolFailedError",
    "ToolList",
    "ToolOutput",
    "ToolRejectedError",
    "ToolResult",
    "ToolTimeoutError",
    "ToolUnavailableError",
    "TrustQuestion",
    "Trusted",
    "UntrustedError",
    "__version__",
    "config",
    "discover",
    "set_client_info",
    "trust",
    "trusted",
    "untrust",
]
BLOCKING = ["Events", "Manager", "config", "discover", "trust", "trusted", "untrust"]
VERBS = [
    "accept_drift",
    "authorize",
    "call",
    "call_tool",
    "cancel_task",
    "child",
    "close",
    "complete",
    "complete_auth",
    "connect",
    "connect_all",
    "disconnect",
    "disconnect_all",
    "discover",
    "discovery",
    "events",
    "forget_auth",
    "from_file",
    "get_prompt",
    "get_task",
    "get_tool",
    "get_tools",
    "list_prompts",
    "list_resource_templates",
    "list_resources",
    "list_skills",
    "read_resource",
    "read_skill",
    "read_skill_file",
    "reload",
    "search_tools",
    "set_log_level",
    "set_roots",
    "status",
    "subscribe_resource",
    "unsubscribe_resource",
    "wait_for",
    "warnings",
    "widget",
]


def python(*args: str) -> subprocess.CompletedProcess[str]:
    """Runs a fresh interpreter that finds the package where this one does."""
    env = {"PYTHONPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"}
    if PACKAGE.parent.name != "site-packages":
        env["MYPYPATH"] = str(PACKAGE.parent)
    command = [sys.executable, *args]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT / "target", timeout=300)


def test_the_exports_are_the_list() -> None:
    assert sorted(mcpool.__all__) == sorted(EXPORTS)
    assert all(hasattr(mcpool, name) for name in EXPORTS)


def test_completion_shows_also_what_is_loaded_later() -> None:
    script = "import mcpool; print([name for name in dir(mcpool) if not name.startswith('__')])"
    shown = ast.literal_eval(python("-c", script).stdout)
    assert shown == sorted({*EXPORTS, "adapters", "blocking"} - {"__version__"})


@pytest.mark.parametrize("name", ["blocking", "blocking.config", "config", "widget", "adapters.openai"])
def test_completion_shows_only_what_a_module_is_for(name: str) -> None:
    module = importlib.import_module(f"mcpool.{name}")
    assert [name for name in dir(module) if not name.startswith("__")] == sorted(module.__all__)
    assert {"__doc__", "__file__", "__name__"} <= set(dir(module))


def test_completion_shows_the_adapters_and_not_what_they_share() -> None:
    assert importlib.import_module("mcpool.adapters.openai").__name__ in sys.modules
    assert not [name for name in dir(mcpool.adapters) if name.startswith("_") and name[1] != "_"]


def test_importing_the_package_is_enough_for_the_blocking_manager() -> None:
    ran = python("-c", "import mcpool; print(mcpool.blocking.Manager, mcpool.adapters)")
    assert ran.returncode == 0, ran.stderr
    assert "no attribute 'blockin'" in python("-c", "import mcpool; mcpool.blockin").stderr


def test_every_style_of_naming_is_in_its_type() -> None:
    literal, _function = typing.get_args(mcpool.Naming)
    for style in typing.get_args(literal):
        mcpool.Manager({"mcpServers": {}}, naming=style)
    with pytest.raises(mcpool.ConfigInvalidError):
        mcpool.Manager({"mcpServers": {}}, naming="other")  # type: ignore[arg-type]


def test_nothing_public_is_left_out_of_the_list() -> None:
    public = {
        name
        for name, value in vars(mcpool).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "TYPE_CHECKING"
    }
    listed = {name for name in EXPORTS if not name.startswith("_") and name != "config"}
    # Some are made when they are first asked for.
    assert public <= listed and all(getattr(mcpool, name) for name in listed)
    assert sorted(mcpool.blocking.__all__) == BLOCKING


@pytest.mark.parametrize("manager", [mcpool.Manager, mcpool.blocking.Manager])
def test_both_managers_have_the_same_verbs(manager: type) -> None:
    assert [name for name in dir(manager) if not name.startswith("_")] == VERBS


def test_both_managers_take_the_same_arguments() -> None:
    def names(manager: type, verb: str) -> list[str]:
        return list(inspect.signature(getattr(manager, verb)).parameters)

    for verb in (
        "connect_all",
        "connect",
        "wait_for",
        "get_tool",
        "get_tools",
        "search_tools",
        "status",
        "reload",
        "disconnect",
        "child",
        "close",
        "discover",
        "from_file",
        "call",
        "call_tool",
        "__init__",
    ):
        assert names(mcpool.Manager, verb) == names(mcpool.blocking.Manager, verb), verb


def test_every_public_thing_says_what_it_is() -> None:
    for name in EXPORTS:
        if name not in ("Naming", "__version__"):
            assert getattr(mcpool, name).__doc__, name
    for manager in (mcpool.Manager, mcpool.blocking.Manager):
        for verb in VERBS:
            assert getattr(manager, verb).__doc__, verb


def test_the_error_classes_are_the_cores_list() -> None:
    classes = {cls.code: cls for cls in mcpool.McpoolError.__subclasses__()}
    kinds = _native.error_kinds()
    assert list(classes) == [code for code, _, _ in kinds]
    for code, retryable, about in kinds:
        cls = classes[code]
        assert cls.retryable is retryable, code
        assert cls.__doc__ is not None
        # A class may say more than the core does.
        assert cls.__doc__.startswith(about.removesuffix(".")), code
        assert getattr(mcpool, cls.__name__) is cls


def test_the_event_types_are_the_cores_list() -> None:
    module = ast.parse(Path(_events.__file__).read_text())
    words = [node for node in ast.walk(module) if isinstance(node, ast.AnnAssign)]
    (alias,) = [node for node in words if ast.unparse(node.target) == "EventType"]
    assert isinstance(alias.value, ast.Subscript)
    assert list(ast.literal_eval(alias.value.slice)) == _native.event_types()
    assert mcpool.Event.__doc__ is not None
    for name in _native.event_types():
        assert f"`{name}`" in mcpool.Event.__doc__, name


def test_the_specifications_codes_are_all_there() -> None:
    codes = [
        "CONFIG_INVALID",
        "CONFIG_CONFLICT",
        "CONFIG_IO",
        "DISCOVERY_FAILED",
        "UNTRUSTED",
        "SERVER_DISABLED",
        "SERVER_NOT_FOUND",
        "CONNECT_FAILED",
        "CONNECT_TIMEOUT",
        "HANDSHAKE_FAILED",
        "AUTH_REQUIRED",
        "AUTH_FAILED",
        "TOOL_UNAVAILABLE",
        "TOOL_REJECTED",
        "TOOL_FAILED",
        "TOOL_TIMEOUT",
        "INVALID_ARGUMENTS",
        "NOT_APPROVED",
        "CONNECTION_LOST",
        "mcp_restart_in_progress",
        "mcp_restart_failed",
        "PROTOCOL_ERROR",
        "LIMIT_EXCEEDED",
        "CLOSED",
    ]
    assert [code for code, _, _ in _native.error_kinds()] == codes


def test_timeouts_are_the_languages_own() -> None:
    timeouts = [cls for cls in mcpool.McpoolError.__subclasses__() if issubclass(cls, TimeoutError)]
    assert timeouts == [mcpool.ConnectTimeoutError, mcpool.ToolTimeoutError]


def test_an_error_shows_its_hint_apart_from_its_message() -> None:
    fields = {"code": "TOOL_FAILED", "message": "m", "hint": "h", "server": "s", "executed": "yes"}
    error = _errors.restore({**fields, "text": 'Server "s": m', "rpc": {"code": 1, "message": "r"}})
    assert (error.message, error.hint, error.server, error.executed) == ("m", "h", "s", "yes")
    assert str(error) == 'Server "s": m (h)'
    assert str(mcpool.ToolFailedError("m", hint="h", server="s")) == "m (h)", "the core alone names servers"
    assert error.rpc is not None and error.rpc.data is None
    assert type(error) is mcpool.ToolFailedError
    assert error.restart is None
    assert error.retry_after_ms is None
    assert _errors.restore({**fields, "retry_after_ms": 7000}).retry_after_ms == 7000


def test_an_error_says_where_the_restart_stands() -> None:
    last = {"code": "CONNECT_FAILED", "message": "c", "server": "s", "restart": None}
    for before in (last, None):
        restart = {"attempt": 3, "next_retry_ms": None, "last_error": before}
        error = _errors.restore({"code": "mcp_restart_in_progress", "message": "m", "restart": restart})
        assert type(error) is mcpool.RestartInProgressError
        assert error.restart is not None and error.restart[:2] == (3, None)
        assert type(error.restart.last_error) is (mcpool.ConnectFailedError if before else type(None))


@pytest.mark.parametrize("cls", mcpool.McpoolError.__subclasses__())
def test_an_error_survives_pickling(cls: type[mcpool.McpoolError]) -> None:
    restart = mcpool.Restart(2, 1000, mcpool.ConnectFailedError("c"))
    rpc = mcpool.RpcError(1, "r", {"d": 2})
    error = cls("m", hint="h", server="s", executed="no", rpc=rpc, restart=restart, retry_after_ms=7)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert (copy.message, copy.hint, copy.server, copy.executed) == ("m", "h", "s", "no")
    assert copy.rpc is not None and copy.rpc.data == {"d": 2}
    assert copy.retry_after_ms == 7
    assert copy.restart is not None and copy.restart[:2] == (2, 1000)
    assert copy.restart.last_error is not None and copy.restart.last_error.message == "c"


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_a_copy_of_an_error_has_its_cause(copied: Callable[[Any], Any]) -> None:
    failed = {"code": "CONNECT_FAILED", "message": "c", "cause": {"message": "refused", "errno": 111}}
    restart = {"attempt": 1, "next_retry_ms": None, "last_error": failed}
    error = copied(
        _errors.restore({"code": "mcp_restart_failed", "message": "m", "restart": restart, "cause": failed})
    )
    for cause in (error.__cause__, error.restart.last_error):
        assert type(cause) is mcpool.ConnectFailedError
        assert isinstance(cause.__cause__, ConnectionRefusedError) and cause.__cause__.errno == 111
    alone = copied(_errors.restore(failed | {"cause": None}))
    assert alone.__cause__ is None and not alone.__suppress_context__


def test_an_error_shows_the_exception_that_was_being_handled() -> None:
    with pytest.raises(mcpool.ConfigInvalidError) as caught:
        try:
            raise KeyError("being handled")
        except KeyError:
            mcpool.Manager({"mcpServers": {}}, gate=-1)
    assert isinstance(caught.value.__context__, KeyError)
    assert not caught.value.__suppress_context__


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_the_package_passes_mypy_strict() -> None:
    checked = python("-m", "mypy", "--strict", "-p", "mcpool")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_type_checkers_know_the_types_of_the_package(tmp_path: Path) -> None:
    pyright = ROOT / "tests" / "typing" / "node_modules" / "pyright" / "index.js"
    command = ["node", str(pyright), "--verifytypes", "mcpool", "--ignoreexternal", "--outputjson"]
    # It asks the first Python of the path where packages are.
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    ran = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=300)
    found = json.loads(ran.stdout)["typeCompleteness"]
    unknown = [symbol["name"] for symbol in found["symbols"] if not symbol["isTypeKnown"]]
    # An adapter inherits from classes of its framework, which is not installed here.
    assert [name for name in unknown if not name.startswith("mcpool.adapters.")] == []
    assert found["completenessScore"] >= 0.95, unknown


def test_the_stub_of_the_native_module_is_true() -> None:
    settings = ("--allowlist", str(ALLOWED), "--mypy-config-file", str(ROOT / "pyproject.toml"))
    checked = python("-m", "mypy.stubtest", "mcpool", *settings)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_importing_starts_no_thread_and_loads_nothing_heavy() -> None:
    script = """
import os, sys
import mcpool
import mcpool.blocking
heavy = sorted({"asyncio", "dataclasses", "inspect", "json", "logging", "threading"} & sys.modules.keys())
print(len(os.listdir("/proc/self/task")), heavy)
mcpool.Manager({"mcpServers": {}}).status()
print("asyncio" in sys.modules)
"""
    ran = python("-c", script)
    assert ran.returncode == 0, ran.stderr
    first, second = ran.stdout.splitlines()
    assert first == "1 []"
    assert second == "False"


def test_the_version_is_the_workspaces() -> None:
    cargo = (ROOT / "Cargo.toml").read_text()
    assert f'version = "{mcpool.__version__}"' in cargo


def test_the_module_is_a_command() -> None:
    ran = python("-m", "mcpool", "--version")
    assert ran.returncode == 0, ran.stderr
    assert mcpool.__version__ in ran.stdout
