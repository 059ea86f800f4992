"""The classes of errors: McpoolError with its fields, and one class for each code.

Generated from the lists in `core/src/error`; not to be edited.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._error_text import error_html, error_text

__all__ = [
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


class RpcError(NamedTuple):
    """The error object of a JSON-RPC answer, as the server sent it."""

    code: int
    """The JSON-RPC error code."""
    message: str
    """The server's message."""
    data: Any = None
    """Other data from the server; data over the `textBytes` limit becomes the beginning of its JSON text."""


class Restart(NamedTuple):
    """The state of a restart, for a call whose server is down."""

    attempt: int
    """The number of attempts since the server was last stable."""
    next_retry_ms: int | None = None
    """When the next attempt is due, in milliseconds from then; none while one is running."""
    last_error: McpoolError | None = None
    """How the last attempt failed."""


class McpoolError(Exception):
    """Base of all errors. Fields that do not apply are None; the cause is `__cause__`."""

    code: str = ""
    """The stable code."""
    message: str
    """What happened, for people."""
    text: str
    """The message, after the name of the server where it does not name it."""
    model_message: str | None
    """The message for a model: it names no address, path or command of the user."""
    retryable: bool = False
    """Whether the same request may succeed later without any change."""
    by_server: bool
    """Whether the message or hint contains text of the server, or of the author of its definition. A model
    should trust it as little as a result.
    """
    hint: str | None
    """What to do about it."""
    server: str | None
    """The server's name."""
    suggestion: str | None
    """The tool that may have been meant by one that does not exist: a name of the catalog for `call`, the
    server's own name for `call_tool`.
    """
    stage: str | None
    """The step that failed; none if a server was lost between calls, or if there is no server. One of
    `resolve`, `spawn`, `dial`, `handshake`, `list_tools`, `call`.
    """
    executed: str | None
    """Whether the tool ran, for the error of a call. One of `no`, `yes`, `unknown`."""
    exit_code: int | None
    """The exit code of the server's process."""
    signal: int | None
    """The signal that ended the server's process."""
    stderr: str | None
    """The last lines of the server's stderr, for failed starts and for processes that ended."""
    stdout: str | None
    """The first lines of stdout that are not messages, for failed starts."""
    task_id: str | None
    """The task that the call waited for. Where the server still has it, the option `resume_task` of another
    call waits for its result.
    """
    http_status: int | None
    """The HTTP status that refused the request."""
    auth_url: str | None
    """The page to open in a browser, for `AUTH_REQUIRED`."""
    auth_scopes: str | None
    """The scopes that a sign-in has to ask for, with spaces between them, for `AUTH_REQUIRED` if a sign-in
    helps.
    """
    rpc: RpcError | None
    """The server's JSON-RPC error, for `TOOL_FAILED`, refused handshakes and refusals by HTTP status."""
    restart: Restart | None
    """The state of the restart, for `mcp_restart_in_progress` and `mcp_restart_failed`."""
    retry_after_ms: int | None
    """When to retry, in milliseconds: the `Retry-After` of a 429 or 503."""

    def __init__(
        self,
        message: str = "",
        *,
        text: str | None = None,
        model_message: str | None = None,
        by_server: bool = False,
        hint: str | None = None,
        server: str | None = None,
        suggestion: str | None = None,
        stage: str | None = None,
        executed: str | None = None,
        exit_code: int | None = None,
        signal: int | None = None,
        stderr: str | None = None,
        stdout: str | None = None,
        task_id: str | None = None,
        http_status: int | None = None,
        auth_url: str | None = None,
        auth_scopes: str | None = None,
        rpc: RpcError | None = None,
        restart: Restart | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.text = message if text is None else text
        self.model_message = model_message
        self.by_server = by_server or rpc is not None
        self.hint = hint
        self.server = server
        self.suggestion = suggestion
        self.stage = stage
        self.executed = executed
        self.exit_code = exit_code
        self.signal = signal
        self.stderr = stderr
        self.stdout = stdout
        self.task_id = task_id
        self.http_status = http_status
        self.auth_url = auth_url
        self.auth_scopes = auth_scopes
        self.rpc = rpc
        self.restart = restart
        self.retry_after_ms = retry_after_ms

    def __reduce__(self) -> tuple[type[McpoolError], tuple[Any, ...], dict[str, Any]]:
        # Exceptions are copied and pickled without their causes; setting one suppresses the context.
        cause = {} if self.__cause__ is None else {"__cause__": self.__cause__}
        return type(self), self.args, {**vars(self), **cause}

    def __str__(self) -> str:
        return error_text(self)

    def _repr_html_(self) -> str:
        return error_html(self)


class ConfigInvalidError(McpoolError):
    """A server definition or an option cannot be used as written."""

    code = "CONFIG_INVALID"


class ConfigConflictError(McpoolError):
    """Another manager holds a server of this name with a different definition."""

    code = "CONFIG_CONFLICT"


class ConfigIoError(McpoolError):
    """A config file cannot be read or written."""

    code = "CONFIG_IO"


class DiscoveryFailedError(McpoolError):
    """Looking for config files failed as a whole."""

    code = "DISCOVERY_FAILED"


class UntrustedError(McpoolError):
    """A project's server is not started or dialled before its source is trusted."""

    code = "UNTRUSTED"


class ServerDisabledError(McpoolError):
    """The server is switched off in its config."""

    code = "SERVER_DISABLED"


class ServerNotFoundError(McpoolError):
    """The manager has no server of this name. For a call that is `TOOL_UNAVAILABLE`."""

    code = "SERVER_NOT_FOUND"


class ConnectFailedError(McpoolError):
    """The server could not be started or reached."""

    code = "CONNECT_FAILED"
    retryable = True


class ConnectTimeoutError(McpoolError, TimeoutError):
    """The server did not get ready within its timeout."""

    code = "CONNECT_TIMEOUT"
    retryable = True


class HandshakeFailedError(McpoolError):
    """The server answered, but not as an MCP server that we can speak with."""

    code = "HANDSHAKE_FAILED"
    retryable = True


class AuthRequiredError(McpoolError):
    """The server wants a sign-in."""

    code = "AUTH_REQUIRED"


class AuthFailedError(McpoolError):
    """The server refused the credentials, or nobody could say for whom the call is made."""

    code = "AUTH_FAILED"


class ToolUnavailableError(McpoolError):
    """The tool's server is not there to take the call, or takes none now."""

    code = "TOOL_UNAVAILABLE"
    retryable = True


class ToolRejectedError(McpoolError):
    """The server has no such tool, or refuses the call."""

    code = "TOOL_REJECTED"


class ToolFailedError(McpoolError):
    """The server answered the call with a JSON-RPC error."""

    code = "TOOL_FAILED"


class ToolTimeoutError(McpoolError, TimeoutError):
    """The tool did not answer in time."""

    code = "TOOL_TIMEOUT"
    retryable = True


class InvalidArgumentsError(McpoolError):
    """The arguments are not a JSON object."""

    code = "INVALID_ARGUMENTS"


class NotApprovedError(McpoolError):
    """The approval callback refused the call."""

    code = "NOT_APPROVED"


class ConnectionLostError(McpoolError):
    """The connection ended while the call was under way."""

    code = "CONNECTION_LOST"
    retryable = True


class RestartInProgressError(McpoolError):
    """The server is being restarted."""

    code = "mcp_restart_in_progress"
    retryable = True


class RestartFailedError(McpoolError):
    """The last restart failed; the next one is due later."""

    code = "mcp_restart_failed"
    retryable = True


class ProtocolError(McpoolError):
    """The server sent an answer that cannot be read."""

    code = "PROTOCOL_ERROR"


class LimitExceededError(McpoolError):
    """A message or a queue went over its limit."""

    code = "LIMIT_EXCEEDED"


class ClosedError(McpoolError):
    """The manager is closed, or was closed during the call."""

    code = "CLOSED"


BY_CODE: dict[str, type[McpoolError]] = {cls.code: cls for cls in McpoolError.__subclasses__()}

# What help() shows: it leaves out the docstrings of attributes.
McpoolError.__doc__ = """Base of all errors. Fields that do not apply are None; the cause is `__cause__`.

`code`: The stable code.
`message`: What happened, for people.
`text`: The message, after the name of the server where it does not name it.
`model_message`: The message for a model: it names no address, path or command of the user.
`retryable`: Whether the same request may succeed later without any change.
`by_server`: Whether the message or hint contains text of the server, or of the author of its definition. A
model should trust it as little as a result.
`hint`: What to do about it.
`server`: The server's name.
`suggestion`: The tool that may have been meant by one that does not exist: a name of the catalog for `call`,
the server's own name for `call_tool`.
`stage`: The step that failed; none if a server was lost between calls, or if there is no server. One of
`resolve`, `spawn`, `dial`, `handshake`, `list_tools`, `call`.
`executed`: Whether the tool ran, for the error of a call. One of `no`, `yes`, `unknown`.
`exit_code`: The exit code of the server's process.
`signal`: The signal that ended the server's process.
`stderr`: The last lines of the server's stderr, for failed starts and for processes that ended.
`stdout`: The first lines of stdout that are not messages, for failed starts.
`task_id`: The task that the call waited for. Where the server still has it, the option `resume_task` of
another call waits for its result.
`http_status`: The HTTP status that refused the request.
`auth_url`: The page to open in a browser, for `AUTH_REQUIRED`.
`auth_scopes`: The scopes that a sign-in has to ask for, with spaces between them, for `AUTH_REQUIRED` if a
sign-in helps.
`rpc`: The server's JSON-RPC error, for `TOOL_FAILED`, refused handshakes and refusals by HTTP status.
`restart`: The state of the restart, for `mcp_restart_in_progress` and `mcp_restart_failed`.
`retry_after_ms`: When to retry, in milliseconds: the `Retry-After` of a 429 or 503.
"""
