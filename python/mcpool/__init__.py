"""One pool of MCP connections for every agent.

async with mcpool.Manager({"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}) as m:
    await m.connect_all()
    result = await m.call_tool("time", "get_current_time", {"timezone": "UTC"})
    print(result.text)
"""

from . import config
from ._discover import Discovering, discover
from ._errors import (
    AuthFailedError,
    AuthRequiredError,
    ClosedError,
    ConfigConflictError,
    ConfigInvalidError,
    ConfigIoError,
    ConnectFailedError,
    ConnectionLostError,
    ConnectTimeoutError,
    DiscoveryFailedError,
    HandshakeFailedError,
    InvalidArgumentsError,
    LimitExceededError,
    McpoolError,
    NotApprovedError,
    ProtocolError,
    Restart,
    RestartFailedError,
    RestartInProgressError,
    RpcError,
    ServerDisabledError,
    ServerNotFoundError,
    ToolFailedError,
    ToolRejectedError,
    ToolTimeoutError,
    ToolUnavailableError,
    UntrustedError,
)
from ._execute import ToolOutput
from ._manager import Events, Manager
from ._native import Pool, Tool, ToolResult, __version__
from ._tools import ToolList
from ._trust import trust, trusted, untrust
from ._types import (
    Calls,
    ConnectReport,
    Event,
    Image,
    Progress,
    ReloadReport,
    ServerStatus,
    Signal,
    Source,
)

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from ._records import (
        ApprovalQuestion,
        BlockedEntry,
        Discovery,
        DiscoveryError,
        FoundFile,
        FoundServer,
        LeftOut,
        ReplacedServer,
        Secret,
        Trusted,
        TrustQuestion,
    )
    from ._server import Surroundings

__all__ = [
    "ApprovalQuestion",
    "AuthFailedError",
    "AuthRequiredError",
    "BlockedEntry",
    "Calls",
    "ClosedError",
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
    "Event",
    "Events",
    "FoundFile",
    "FoundServer",
    "HandshakeFailedError",
    "Image",
    "InvalidArgumentsError",
    "LeftOut",
    "LimitExceededError",
    "Manager",
    "McpoolError",
    "NotApprovedError",
    "Pool",
    "Progress",
    "ProtocolError",
    "ReloadReport",
    "ReplacedServer",
    "Restart",
    "RestartFailedError",
    "RestartInProgressError",
    "RpcError",
    "Secret",
    "ServerDisabledError",
    "ServerNotFoundError",
    "ServerStatus",
    "Signal",
    "Source",
    "Surroundings",
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
    "trust",
    "trusted",
    "untrust",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """What is not always needed is made when somebody asks for it: importing this package stays cheap."""
        if name in __all__:
            from . import _records, _server

            return getattr(_server if name == "Surroundings" else _records, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
