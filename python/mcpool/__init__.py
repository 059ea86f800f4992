"""One pool of MCP connections for every agent.

async with mcpool.Manager({"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}) as m:
    await m.connect_all()
    result = await m.call_tool("time", "get_current_time", {"timezone": "UTC"})
    print(result.text)
"""

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
from ._manager import Events, Manager
from ._native import Pool, Tool, ToolResult, __version__
from ._types import Calls, ConnectReport, Event, Progress, ReloadReport, ServerStatus, Source

__all__ = [
    "AuthFailedError",
    "AuthRequiredError",
    "Calls",
    "ClosedError",
    "ConfigConflictError",
    "ConfigInvalidError",
    "ConfigIoError",
    "ConnectFailedError",
    "ConnectReport",
    "ConnectTimeoutError",
    "ConnectionLostError",
    "DiscoveryFailedError",
    "Event",
    "Events",
    "HandshakeFailedError",
    "InvalidArgumentsError",
    "LimitExceededError",
    "Manager",
    "McpoolError",
    "NotApprovedError",
    "Pool",
    "Progress",
    "ProtocolError",
    "ReloadReport",
    "Restart",
    "RestartFailedError",
    "RestartInProgressError",
    "RpcError",
    "ServerDisabledError",
    "ServerNotFoundError",
    "ServerStatus",
    "Source",
    "Tool",
    "ToolFailedError",
    "ToolRejectedError",
    "ToolResult",
    "ToolTimeoutError",
    "ToolUnavailableError",
    "UntrustedError",
    "__version__",
]
