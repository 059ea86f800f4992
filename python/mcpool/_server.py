"""What a server's definition may say: words for type checkers and editors."""

from __future__ import annotations

from typing import Literal, TypedDict


class RestartDelays(TypedDict, total=False):
    """When a server is tried again: after these milliseconds; `forever` repeats the last of them."""

    delays: list[int]
    forever: bool


class Limits(TypedDict, total=False):
    """The bounds on what a server may cost us."""

    messageBytes: int
    jsonDepth: int
    serverRequests: int
    replyBytes: int
    textBytes: int
    toolBytes: int
    toolListBytes: int


class ToolSwitch(TypedDict, total=False):
    """What is said of one tool of a server."""

    enabled: bool


class ServerAuth(TypedDict, total=False):
    """How we show a server who we are."""

    type: Literal["oauth", "bearer"]
    credentialId: str
    token: str
    tokenEnv: str


class ServerConfig(TypedDict, total=False):
    """One server: a `command` to start, or a `url` to reach. Times are in milliseconds."""

    type: Literal["stdio", "http", "sse", "websocket"] | str
    command: str
    args: list[str]
    env: dict[str, str]
    envFile: str
    cwd: str
    url: str
    headers: dict[str, str]
    enabled: bool
    disabled: bool
    timeout: int
    toolTimeout: int
    requestTimeout: int
    auth: ServerAuth
    shared: bool
    isolate: Literal["none", "session"]
    restart: Literal["relentless", "bounded", "once", "never"] | RestartDelays
    healthProbe: Literal["auto", "ping", "listTools"]
    pingInterval: int
    keepAlive: int | Literal["always"]
    idleShutdown: int
    tools: dict[str, ToolSwitch] | list[str]
    enabledTools: list[str]
    disabledTools: list[str]
    maxResultChars: int
    maxConcurrency: int
    requiresApproval: bool
    required: bool
    lazy: bool
    inheritEnv: Literal["safe", "all", "none"]
    protocol: str
    limits: Limits
