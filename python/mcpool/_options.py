"""Options of managers, discovery, pools, calls and edits. Generated from `core`; not to be edited."""

from __future__ import annotations

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from typing import Any, Literal, TypedDict

    from ._calls import OnProgress
    from ._client_info import ClientInfo
    from ._host_env import HostEnv
    from ._naming import Naming
    from ._native import Pool
    from ._questions import LoginStore, OnApproval, OnAuth, OnElicitation, OnIdentity, OnSampling
    from ._trust import Trust

    class ManagerOptions(TypedDict, total=False):
        """Options of a manager; the defaults are good."""

        naming: Naming | None
        """How tools are named: "plain" gives mcp_server_tool, "letters" the same with digits replaced,
        "double" gives mcp__server__tool, "raw" gives server.tool. A function of server and tool gives
        any other name. Default: "plain"."""
        connect_concurrency: int | None
        """How many servers connect at the same time. The default is 64 remote ones, and as many programs
        as the machine can start."""
        gate: float | None
        """How long `connect_all` waits for late servers whose tools are in the cache. In seconds.
        Default: 0.25."""
        pending_without_cache: Literal["wait", "skip"] | None
        """Whether `connect_all` waits for late servers whose tools are not in the cache. Default:
        "wait"."""
        restart_wait: float | None
        """How long a call waits for a server that is being restarted; 0 means not at all. In seconds.
        Default: 5.0."""
        retry: Literal["never", "safe"] | None
        """Which calls are sent again when their connection is lost. "safe" means those of read-only and
        idempotent tools. Default: "never"."""
        cache_dir: str | PathLike[str] | Literal[False] | None
        """Where tool lists are kept between runs. The default is $MCPOOL_CACHE_DIR, or the user's cache
        directory; false means nowhere."""
        trust: Trust | None
        """What a project's definitions may do. "stored" is what the user has trusted, "strict" the same
        for remote servers too, "all" trusts everything, "none" nothing. A function is asked about
        what the user has not trusted yet. Default: "stored"."""
        bare_env_names: bool | None
        """Whether a header or variable whose value is the name of a set variable gets that variable's
        value. Default: False."""
        enabled_tools: Sequence[str] | None
        """Globs over raw and catalog names: only these tools are offered."""
        disabled_tools: Sequence[str] | None
        """Globs over raw and catalog names: these tools are not offered, even if they are enabled."""
        drift: Literal["allow", "warn", "block"] | None
        """What happens to a tool that is no longer as it was when it was first seen. Default: "warn"."""
        approval: Literal["always", "annotations", "never"] | None
        """Which tools need a person's approval. "annotations" means those that are not read-only.
        Default: "always"."""
        identity: str | None
        """The user or tenant that calls are made for. Managers of different identities share no
        connection."""
        headers: Mapping[str, str | Mapping[str, str]] | None
        """Headers for calls to remote servers, which replace those of their definitions. A text is for
        all servers; an object under the name of a server is for that one. Headers that say who calls,
        such as Authorization, are for one server and need an `identity`."""
        on_identity: OnIdentity | None
        """A function that is asked for whom a call is made, if the call does not say it. It returns an
        identity, headers, both or neither."""
        on_auth: OnAuth | None
        """A function that is asked to sign in to a server: it opens or shows the page. It may return the
        URL that the browser was sent back to, for machines without a browser."""
        login_store: LoginStore | None
        """A function that keeps logins in place of files: it is asked to load, to save and to remove
        texts by their keys."""
        begin_auth: bool | None
        """Whether a sign-in is begun for a server that wants one: a client is registered if needed, and
        the page to open is named. Otherwise only `authorize` begins one. Default: True."""
        on_approval: OnApproval | None
        """A function that is asked about each call that needs approval. Without it, such calls are sent
        unasked."""
        approval_timeout: float | None
        """How long a call waits for an approval. In seconds. Default: 300.0."""
        on_sampling: OnSampling | None
        """A function that samples a message from a model for a server that asks for one. It returns the
        message, or only its text; nothing refuses. Without it, servers are told that there is no
        sampling."""
        on_elicitation: OnElicitation | None
        """A function that asks a person for what a server wants to know: with a form, or on a page of
        the server. Without it, servers are told that nobody can be asked."""
        roots: Sequence[str] | None
        """The directories that the work is about, as paths or file addresses. Servers that ask for roots
        get them."""
        server_request_timeout: float | None
        """How long a server waits for the answer of `on_sampling` and `on_elicitation`. A call that has
        caused the request does not time out meanwhile. In seconds. Default: 300.0."""
        check_output: bool | None
        """Whether structured results are compared with the `outputSchema` of their tool. One that does
        not match is `PROTOCOL_ERROR`. Default: False."""
        wrap: bool | None
        """Whether results for a model are marked as untrusted output of their tool. Default: True."""
        spill: Literal["none", "file"] | None
        """What happens to the part of a result that is cut. "file" keeps the whole in a file that only
        the user can read. Default: "none"."""
        call_events: bool | None
        """Whether the begin and the end of each call are events. Default: False."""
        telemetry: bool | Literal["error_messages"] | None
        """Whether calls become spans and metrics where OpenTelemetry has a provider. "error_messages"
        adds the messages of errors, which may hold words of the server; otherwise spans have only
        their codes. Default: True."""
        host_env: HostEnv | None
        """Environment, home and platform in place of the process's own."""
        pool: Pool | None
        """The pool whose connections are shared. The default is the pool of the process."""

    class FileOptions(ManagerOptions, total=False):
        """Options of a manager on a config file."""

        watch: bool | None
        """Whether changes of the config files are applied as they happen. Default: False."""

    class DiscoverOptions(TypedDict, total=False):
        """Options of discovery: where to look, and what to leave out."""

        project_config: bool | None
        """Whether the project's own files count. Default: True."""
        disabled_servers: Sequence[str] | None
        """Names of servers that are off, whatever any file says."""
        enabled_servers: Sequence[str] | None
        """Names of the only servers that are on. The default is all."""
        exclude: Sequence[str] | None
        """Globs over names and URLs of servers to leave out."""
        native: Sequence[str] | None
        """Servers that the host integrates itself. They are left out, and their keys are in the result."""
        mcp_remote: Literal["offer", "use"] | None
        """What happens to a server that is only a bridge, npx mcp-remote with a URL. "offer" keeps it
        and tells the direct definition, "use" replaces it. Default: "offer"."""
        providers: Sequence[str] | None
        """Names of the only products whose files are read. The default is all."""
        host_env: HostEnv | None
        """Environment, home and platform in place of the process's own."""

    class DiscoverManagerOptions(FileOptions, total=False):
        """Options of a manager that is made by discovery."""

        project_config: bool | None
        """Whether the project's own files count. Default: True."""
        disabled_servers: Sequence[str] | None
        """Names of servers that are off, whatever any file says."""
        enabled_servers: Sequence[str] | None
        """Names of the only servers that are on. The default is all."""
        exclude: Sequence[str] | None
        """Globs over names and URLs of servers to leave out."""
        native: Sequence[str] | None
        """Servers that the host integrates itself. They are left out, and their keys are in the result."""
        mcp_remote: Literal["offer", "use"] | None
        """What happens to a server that is only a bridge, npx mcp-remote with a URL. "offer" keeps it
        and tells the direct definition, "use" replaces it. Default: "offer"."""
        providers: Sequence[str] | None
        """Names of the only products whose files are read. The default is all."""

    class PoolOptions(TypedDict, total=False):
        """Options of a pool; the defaults are good."""

        keep_alive: float | Literal["always"] | None
        """How long a connection that no manager holds any more stays up. A server's own `keepAlive`
        wins. The default is not at all. In seconds."""
        client_info: ClientInfo | None
        """What servers are told about their client, in place of what is set for the process: the name
        and version of your agent. The default is our own."""
        clock: Literal["system", "manual"] | None
        """The clock of restarts and other waits. A "manual" one stands still until it is advanced; it is
        for tests. Default: "system"."""

    class CallOptions(TypedDict, total=False):
        """Options of one call."""

        timeout: float | None
        """How long the call may go without a message from the server, from its start and over all
        waiting and resending. Progress restarts this time; the time for an approval does not count.
        The default is the server's `toolTimeout`. In seconds."""
        max_total_timeout: float | None
        """The total time limit of the call, whatever the progress, including approvals. In seconds."""
        retry: Literal["never", "safe"] | None
        """Overrides which calls the manager sends again after a lost connection."""
        meta: Mapping[str, Any] | None
        """Becomes the request's `_meta`."""
        identity: str | None
        """The user or tenant that the call is made for. Each identity has connections of its own. The
        default is the manager's."""
        headers: Mapping[str, str] | None
        """Headers for a remote server, which replace those of its definition. Headers that say who
        calls, such as Authorization, need an `identity`; they then also serve the connection of that
        identity, until the next call brings others."""
        check_output: bool | None
        """Whether a structured result is compared with the tool's `outputSchema`. One that does not
        match is `PROTOCOL_ERROR`. The default is the manager's."""
        return_task: bool | None
        """Whether the call ends as soon as the server answers with a task: the result's `task` then has
        its id for `resume_task`. A server that answers without one gives its result. Default: False."""
        resume_task: str | None
        """The id of a task that an earlier call began, perhaps in another process: waits for its result.
        The tool is not called, and the arguments are not sent."""
        on_progress: OnProgress | None
        """A function that gets the progress that the server reports. It must not block."""

    class EditOptions(TypedDict, total=False):
        """Options of a change of a config file: which file it is."""

        scope: Literal["user", "project"] | None
        """Whose file is changed if none is named: the user's or the project's. Default: "user"."""
        file: str | PathLike[str] | None
        """The file to change; its extension tells the format."""
        cwd: str | PathLike[str] | None
        """The project's directory. The default is the process's working directory."""
        host_env: HostEnv | None
        """Environment, home and platform in place of the process's own."""


# The keywords of functions with `**options`, each with its type and its default, and what they do.
MANAGER: dict[str, tuple[str, object]] = {
    "naming": ("Naming | None", "plain"),
    "connect_concurrency": ("int | None", None),
    "gate": ("float | None", 0.25),
    "pending_without_cache": ('Literal["wait", "skip"] | None', "wait"),
    "restart_wait": ("float | None", 5.0),
    "retry": ('Literal["never", "safe"] | None', "never"),
    "cache_dir": ("str | PathLike[str] | Literal[False] | None", None),
    "trust": ("Trust | None", "stored"),
    "bare_env_names": ("bool | None", False),
    "enabled_tools": ("Sequence[str] | None", None),
    "disabled_tools": ("Sequence[str] | None", None),
    "drift": ('Literal["allow", "warn", "block"] | None', "warn"),
    "approval": ('Literal["always", "annotations", "never"] | None', "always"),
    "identity": ("str | None", None),
    "headers": ("Mapping[str, str | Mapping[str, str]] | None", None),
    "on_identity": ("OnIdentity | None", None),
    "on_auth": ("OnAuth | None", None),
    "login_store": ("LoginStore | None", None),
    "begin_auth": ("bool | None", True),
    "on_approval": ("OnApproval | None", None),
    "approval_timeout": ("float | None", 300.0),
    "on_sampling": ("OnSampling | None", None),
    "on_elicitation": ("OnElicitation | None", None),
    "roots": ("Sequence[str] | None", None),
    "server_request_timeout": ("float | None", 300.0),
    "check_output": ("bool | None", False),
    "wrap": ("bool | None", True),
    "spill": ('Literal["none", "file"] | None', "none"),
    "call_events": ("bool | None", False),
    "telemetry": ('bool | Literal["error_messages"] | None', True),
    "host_env": ("HostEnv | None", None),
    "pool": ("Pool | None", None),
}
MANAGER_DOC = """\
`naming`: How tools are named: "plain" gives mcp_server_tool, "letters" the same with digits
replaced, "double" gives mcp__server__tool, "raw" gives server.tool. A function of server and tool
gives any other name.
`connect_concurrency`: How many servers connect at the same time. The default is 64 remote ones, and
as many programs as the machine can start.
`gate`: How long `connect_all` waits for late servers whose tools are in the cache. In seconds.
`pending_without_cache`: Whether `connect_all` waits for late servers whose tools are not in the
cache.
`restart_wait`: How long a call waits for a server that is being restarted; 0 means not at all. In
seconds.
`retry`: Which calls are sent again when their connection is lost. "safe" means those of read-only
and idempotent tools.
`cache_dir`: Where tool lists are kept between runs. The default is $MCPOOL_CACHE_DIR, or the user's
cache directory; false means nowhere.
`trust`: What a project's definitions may do. "stored" is what the user has trusted, "strict" the
same for remote servers too, "all" trusts everything, "none" nothing. A function is asked about what
the user has not trusted yet.
`bare_env_names`: Whether a header or variable whose value is the name of a set variable gets that
variable's value.
`enabled_tools`: Globs over raw and catalog names: only these tools are offered.
`disabled_tools`: Globs over raw and catalog names: these tools are not offered, even if they are
enabled.
`drift`: What happens to a tool that is no longer as it was when it was first seen.
`approval`: Which tools need a person's approval. "annotations" means those that are not read-only.
`identity`: The user or tenant that calls are made for. Managers of different identities share no
connection.
`headers`: Headers for calls to remote servers, which replace those of their definitions. A text is
for all servers; an object under the name of a server is for that one. Headers that say who calls,
such as Authorization, are for one server and need an `identity`.
`on_identity`: A function that is asked for whom a call is made, if the call does not say it. It
returns an identity, headers, both or neither.
`on_auth`: A function that is asked to sign in to a server: it opens or shows the page. It may
return the URL that the browser was sent back to, for machines without a browser.
`login_store`: A function that keeps logins in place of files: it is asked to load, to save and to
remove texts by their keys.
`begin_auth`: Whether a sign-in is begun for a server that wants one: a client is registered if
needed, and the page to open is named. Otherwise only `authorize` begins one.
`on_approval`: A function that is asked about each call that needs approval. Without it, such calls
are sent unasked.
`approval_timeout`: How long a call waits for an approval. In seconds.
`on_sampling`: A function that samples a message from a model for a server that asks for one. It
returns the message, or only its text; nothing refuses. Without it, servers are told that there is
no sampling.
`on_elicitation`: A function that asks a person for what a server wants to know: with a form, or on
a page of the server. Without it, servers are told that nobody can be asked.
`roots`: The directories that the work is about, as paths or file addresses. Servers that ask for
roots get them.
`server_request_timeout`: How long a server waits for the answer of `on_sampling` and
`on_elicitation`. A call that has caused the request does not time out meanwhile. In seconds.
`check_output`: Whether structured results are compared with the `outputSchema` of their tool. One
that does not match is `PROTOCOL_ERROR`.
`wrap`: Whether results for a model are marked as untrusted output of their tool.
`spill`: What happens to the part of a result that is cut. "file" keeps the whole in a file that
only the user can read.
`call_events`: Whether the begin and the end of each call are events.
`telemetry`: Whether calls become spans and metrics where OpenTelemetry has a provider.
"error_messages" adds the messages of errors, which may hold words of the server; otherwise spans
have only their codes.
`host_env`: Environment, home and platform in place of the process's own.
`pool`: The pool whose connections are shared. The default is the pool of the process.
"""

FILE: dict[str, tuple[str, object]] = {
    "watch": ("bool | None", False),
    **MANAGER,
}

DISCOVER: dict[str, tuple[str, object]] = {
    "project_config": ("bool | None", True),
    "disabled_servers": ("Sequence[str] | None", None),
    "enabled_servers": ("Sequence[str] | None", None),
    "exclude": ("Sequence[str] | None", None),
    "native": ("Sequence[str] | None", None),
    "mcp_remote": ('Literal["offer", "use"] | None', "offer"),
    "providers": ("Sequence[str] | None", None),
    "host_env": ("HostEnv | None", None),
}
DISCOVER_DOC = """\
`project_config`: Whether the project's own files count.
`disabled_servers`: Names of servers that are off, whatever any file says.
`enabled_servers`: Names of the only servers that are on. The default is all.
`exclude`: Globs over names and URLs of servers to leave out.
`native`: Servers that the host integrates itself. They are left out, and their keys are in the
result.
`mcp_remote`: What happens to a server that is only a bridge, npx mcp-remote with a URL. "offer"
keeps it and tells the direct definition, "use" replaces it.
`providers`: Names of the only products whose files are read. The default is all.
`host_env`: Environment, home and platform in place of the process's own.
"""

DISCOVER_MANAGER: dict[str, tuple[str, object]] = {
    **DISCOVER,
    **FILE,
}

POOL: dict[str, tuple[str, object]] = {
    "keep_alive": ('float | Literal["always"] | None', None),
    "client_info": ("ClientInfo | None", None),
    "clock": ('Literal["system", "manual"] | None', "system"),
}
POOL_DOC = """\
`keep_alive`: How long a connection that no manager holds any more stays up. A server's own
`keepAlive` wins. The default is not at all. In seconds.
`client_info`: What servers are told about their client, in place of what is set for the process:
the name and version of your agent. The default is our own.
`clock`: The clock of restarts and other waits. A "manual" one stands still until it is advanced; it
is for tests.
"""

CALL: dict[str, tuple[str, object]] = {
    "timeout": ("float | None", None),
    "max_total_timeout": ("float | None", None),
    "retry": ('Literal["never", "safe"] | None', None),
    "meta": ("Mapping[str, Any] | None", None),
    "identity": ("str | None", None),
    "headers": ("Mapping[str, str] | None", None),
    "check_output": ("bool | None", None),
    "return_task": ("bool | None", False),
    "resume_task": ("str | None", None),
    "on_progress": ("OnProgress | None", None),
}
CALL_DOC = """\
`timeout`: How long the call may go without a message from the server, from its start and over all
waiting and resending. Progress restarts this time; the time for an approval does not count. The
default is the server's `toolTimeout`. In seconds.
`max_total_timeout`: The total time limit of the call, whatever the progress, including approvals.
In seconds.
`retry`: Overrides which calls the manager sends again after a lost connection.
`meta`: Becomes the request's `_meta`.
`identity`: The user or tenant that the call is made for. Each identity has connections of its own.
The default is the manager's.
`headers`: Headers for a remote server, which replace those of its definition. Headers that say who
calls, such as Authorization, need an `identity`; they then also serve the connection of that
identity, until the next call brings others.
`check_output`: Whether a structured result is compared with the tool's `outputSchema`. One that
does not match is `PROTOCOL_ERROR`. The default is the manager's.
`return_task`: Whether the call ends as soon as the server answers with a task: the result's `task`
then has its id for `resume_task`. A server that answers without one gives its result.
`resume_task`: The id of a task that an earlier call began, perhaps in another process: waits for
its result. The tool is not called, and the arguments are not sent.
`on_progress`: A function that gets the progress that the server reports. It must not block.
"""

EDIT: dict[str, tuple[str, object]] = {
    "scope": ('Literal["user", "project"] | None', "user"),
    "file": ("str | PathLike[str] | None", None),
    "cwd": ("str | PathLike[str] | None", None),
    "host_env": ("HostEnv | None", None),
}
EDIT_DOC = """\
`scope`: Whose file is changed if none is named: the user's or the project's.
`file`: The file to change; its extension tells the format.
`cwd`: The project's directory. The default is the process's working directory.
`host_env`: Environment, home and platform in place of the process's own.
"""
