"""The exception classes: one per code of the core's list, all under McpoolError."""

from __future__ import annotations

import os
from typing import Any, NamedTuple


class RpcError:
    """The error object of a JSON-RPC answer, as the server sent it."""

    __slots__ = ("code", "data", "message")

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.code = code
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        return f"RpcError(code={self.code!r}, message={self.message!r}, data={self.data!r})"


class Restart(NamedTuple):
    """The state of a restart, for a call whose server is down; no `next_retry_ms` while an attempt runs."""

    attempt: int
    next_retry_ms: int | None
    last_error: McpoolError | None


class McpoolError(Exception):
    """Base of all errors: `code` is stable, `message` says what happened, `hint` what to do about it.

    `stage` is the step that failed: `resolve`, `spawn`, `dial`, `handshake`, `list_tools` or `call`.
    `exit_code`, `signal` and `stderr` (its last lines) tell how the server's process ended, `stdout` what it
    printed in place of messages, `http_status` which status refused the request. What the error follows from
    is its `__cause__`.
    """

    code: str = ""
    retryable: bool = False

    def __init__(
        self,
        message: str = "",
        *,
        hint: str | None = None,
        server: str | None = None,
        stage: str | None = None,
        executed: str | None = None,
        exit_code: int | None = None,
        signal: int | None = None,
        stderr: str | None = None,
        stdout: str | None = None,
        http_status: int | None = None,
        rpc: RpcError | None = None,
        restart: Restart | None = None,
        retry_after_ms: int | None = None,
        by_server: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.server = server
        self.stage = stage
        self.executed = executed
        self.exit_code = exit_code
        self.signal = signal
        self.stderr = stderr
        self.stdout = stdout
        self.http_status = http_status
        self.rpc = rpc
        self.restart = restart
        self.retry_after_ms = retry_after_ms
        self.by_server = by_server or rpc is not None

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        stdout = f"; stdout:\n{self.stdout}" if self.stdout else ""
        stderr = f"; stderr:\n{self.stderr}" if self.stderr else ""
        return f"{self.message}{hint}{stdout}{stderr}"

    def _repr_html_(self) -> str:
        from . import _html

        return _html.error(self)


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
    """The manager has no server of this name."""

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
    """The server refused the credentials."""

    code = "AUTH_FAILED"


class ToolUnavailableError(McpoolError):
    """The tool's server is not there to take the call, or takes none now."""

    code = "TOOL_UNAVAILABLE"
    retryable = True


class ToolRejectedError(McpoolError):
    """The server has no such tool, or refuses the call."""

    code = "TOOL_REJECTED"


class ToolFailedError(McpoolError):
    """The server answered the call with a JSON-RPC error, which is in `rpc`."""

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
    """The manager is closed."""

    code = "CLOSED"


BY_CODE: dict[str, type[McpoolError]] = {cls.code: cls for cls in McpoolError.__subclasses__()}


def restore(fields: dict[str, Any]) -> McpoolError:
    """The exception for an error of the core; the native module calls this."""
    rpc, restart, cause = fields.get("rpc"), fields.get("restart"), fields.get("cause")
    error = BY_CODE[fields["code"]](
        fields["message"],
        hint=fields.get("hint"),
        server=fields.get("server"),
        stage=fields.get("stage"),
        executed=fields.get("executed"),
        exit_code=fields.get("exit_code"),
        signal=fields.get("signal"),
        stderr=fields.get("stderr"),
        stdout=fields.get("stdout"),
        http_status=fields.get("http_status"),
        rpc=RpcError(rpc["code"], rpc["message"], rpc.get("data")) if rpc else None,
        restart=_restart(restart) if restart else None,
        retry_after_ms=fields.get("retry_after_ms"),
        by_server=fields.get("by_server", False),
    )
    error.__cause__ = _cause(cause) if cause else None
    return error


def _cause(fields: dict[str, Any]) -> Exception:
    if "code" in fields:
        return restore(fields)
    errno = fields["errno"]
    # Python chooses the class by the number: ConnectionRefusedError, FileNotFoundError, …
    return Exception(fields["message"]) if errno is None else OSError(errno, os.strerror(errno))


def _restart(fields: dict[str, Any]) -> Restart:
    last_error = fields["last_error"]
    return Restart(fields["attempt"], fields["next_retry_ms"], restore(last_error) if last_error else None)
