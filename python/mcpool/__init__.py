"""One pool of MCP connections for every agent.

async with mcpool.Manager({"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}) as m:
    await m.connect_all()
    result = await m.call_tool("time", "get_current_time", {"timezone": "UTC"})
    print(result.text)
"""

try:
    from ._native import Tool, ToolResult, __version__, set_relaunch
except ImportError as _error:
    raise ImportError(
        f"The compiled part of mcpool does not load: {_error}. It cannot be imported from a zip file, and it "
        "must be built for this Python and system: install mcpool again with pip."
    ) from _error

from . import _relaunch, config
from ._calls import Progress
from ._client_info import ClientInfo, set_client_info
from ._error_classes import *
from ._events import Event, Events, Signal
from ._host_env import HostEnv
from ._manager import Manager
from ._output import ToolOutput
from ._pool import Pool
from ._result import Image
from ._status import Calls, ConnectReport, ReloadReport, ServerStatus, Source
from ._tool import ToolList

set_relaunch(_relaunch.words())
del set_relaunch

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from ._discover import (
        BlockedEntry,
        Discovering,
        Discovery,
        DiscoveryError,
        FoundFile,
        FoundServer,
        LeftOut,
        ReplacedServer,
        discover,
    )
    from ._naming import Naming
    from ._prompt import Completion, Prompt, PromptArgument, PromptList, PromptMessage, PromptResult
    from ._questions import (
        ApprovalQuestion,
        AuthPrompt,
        ElicitationRequest,
        IdentityQuestion,
        LoginStoreRequest,
        SamplingRequest,
    )
    from ._resource import Resource, ResourceContent, ResourceList, ResourceTemplate
    from ._secret import Secret
    from ._skill import Skill, SkillContent, SkillFile, SkillList
    from ._task import Task
    from ._trust import Trusted, TrustQuestion, trust, trusted, untrust

__all__ = [
    "ApprovalQuestion",
    "AuthPrompt",
    "BlockedEntry",
    "Calls",
    "ClientInfo",
    "Completion",
    "ConnectReport",
    "Discovering",
    "Discovery",
    "DiscoveryError",
    "ElicitationRequest",
    "Event",
    "Events",
    "FoundFile",
    "FoundServer",
    "HostEnv",
    "IdentityQuestion",
    "Image",
    "LeftOut",
    "LoginStoreRequest",
    "Manager",
    "Naming",
    "Pool",
    "Progress",
    "Prompt",
    "PromptArgument",
    "PromptList",
    "PromptMessage",
    "PromptResult",
    "ReloadReport",
    "ReplacedServer",
    "Resource",
    "ResourceContent",
    "ResourceList",
    "ResourceTemplate",
    "SamplingRequest",
    "Secret",
    "ServerStatus",
    "Signal",
    "Skill",
    "SkillContent",
    "SkillFile",
    "SkillList",
    "Source",
    "Task",
    "Tool",
    "ToolList",
    "ToolOutput",
    "ToolResult",
    "TrustQuestion",
    "Trusted",
    "__version__",
    "config",
    "discover",
    "set_client_info",
    "trust",
    "trusted",
    "untrust",
]
# errors:begin
__all__ += [
    "AuthFailedError",
    "AuthRequiredError",
    "ClosedError",
    "ConfigConflictError",
    "ConfigInvalidError",
    "ConfigIoError",
    "ConnectFailedError",
    "ConnectTimeoutError",
    "ConnectionLostError",
    "DiscoveryFailedError",
    "HandshakeFailedError",
    "InvalidArgumentsError",
    "LimitExceededError",
    "McpoolError",
    "NotApprovedError",
    "ProtocolError",
    "Restart",
    "RestartFailedError",
    "RestartInProgressError",
    "RpcError",
    "ServerDisabledError",
    "ServerNotFoundError",
    "ToolFailedError",
    "ToolRejectedError",
    "ToolTimeoutError",
    "ToolUnavailableError",
    "UntrustedError",
]
# errors:end


if not TYPE_CHECKING:
    _LATER = dict.fromkeys(
        [
            "ApprovalQuestion",
            "AuthPrompt",
            "ElicitationRequest",
            "IdentityQuestion",
            "LoginStoreRequest",
            "SamplingRequest",
        ],
        "_questions",
    )
    _LATER.update(Naming="_naming", Secret="_secret")
    _LATER.update(
        dict.fromkeys(
            ["Completion", "Prompt", "PromptArgument", "PromptList", "PromptMessage", "PromptResult"],
            "_prompt",
        )
    )
    _LATER.update(
        dict.fromkeys(["Resource", "ResourceContent", "ResourceList", "ResourceTemplate"], "_resource")
    )
    _LATER["Task"] = "_task"
    _LATER.update(dict.fromkeys(["Skill", "SkillContent", "SkillFile", "SkillList"], "_skill"))
    _LATER.update(dict.fromkeys(["TrustQuestion", "Trusted", "trust", "trusted", "untrust"], "_trust"))

    _SUBMODULES = ("adapters", "blocking")

    def __dir__() -> list[str]:
        """Also what is loaded on first use."""
        return sorted({*__all__, *_SUBMODULES, *(name for name in globals() if name.startswith("__"))})

    def __getattr__(name: str) -> object:
        """Rarely needed names are loaded on first use: importing this package stays cheap."""
        from importlib import import_module

        if name in _SUBMODULES:
            return import_module(f".{name}", __name__)
        if name in __all__:
            found = getattr(import_module(f".{_LATER.get(name, '_discover')}", __name__), name)
            globals()[name] = found
            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
