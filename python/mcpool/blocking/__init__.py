"""The same manager for plain scripts: every verb blocks, and Ctrl-C works meanwhile."""

from __future__ import annotations

from collections import deque
from sys import modules

from .. import _native, _options
from .._base import ManagerBase
from .._calls import begin_span
from .._events import read_event
from .._public import public_names
from .._signature import show_keywords
from .._status import connect_report, reload_report
from . import config

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self, Unpack

    from .._discover import Discovery
    from .._events import Event, LogLevel
    from .._host_env import HostEnv
    from .._native import NativeEvents, ToolResult
    from .._options import CallOptions, DiscoverManagerOptions, DiscoverOptions
    from .._prompt import Completion, PromptList, PromptResult
    from .._resource import ResourceContent, ResourceList, ResourceTemplate
    from .._skill import SkillContent, SkillList
    from .._status import ConnectReport, ReloadReport
    from .._task import Task
    from .._trust import Trusted

__all__ = ["Events", "Manager", "config", "discover", "trust", "trusted", "untrust"]


def __dir__() -> list[str]:
    return public_names(globals())


@show_keywords(_options.DISCOVER, _options.DISCOVER_DOC)
def discover(cwd: str | PathLike[str] | None = None, **options: Unpack[DiscoverOptions]) -> Discovery:
    """Finds the servers that are configured on this machine; see `mcpool.discover`."""
    from .._discover import read_discovery

    return read_discovery(_native.block_discover({**options, "cwd": cwd}))


def trust(
    path: str | PathLike[str],
    servers: Sequence[str] | None = None,
    *,
    host_env: HostEnv | None = None,
) -> list[Trusted]:
    """Trusts what a project's config file declares now, or only these servers; returns what is trusted."""
    return _request_trust("trust", path, servers, host_env)


def untrust(
    path: str | PathLike[str],
    servers: Sequence[str] | None = None,
    *,
    host_env: HostEnv | None = None,
) -> list[Trusted]:
    """Revokes the trust in a file's definitions, or only in these servers; returns what was trusted."""
    return _request_trust("untrust", path, servers, host_env)


def trusted(*, host_env: HostEnv | None = None) -> list[Trusted]:
    """Everything that the user trusts."""
    return _request_trust("trusted", None, None, host_env)


def _request_trust(
    verb: str, path: str | PathLike[str] | None, servers: Sequence[str] | None, host_env: HostEnv | None
) -> list[Trusted]:
    from .._trust import read_trusted, trust_request

    return read_trusted(_native.block_trust(verb, trust_request(path, servers, host_env)))


class Manager(ManagerBase):
    """Connects to many MCP servers, lists their tools, routes calls; for code without an event loop."""

    @classmethod
    @show_keywords(_options.DISCOVER_MANAGER)
    def discover(
        cls, cwd: str | PathLike[str] | None = None, **options: Unpack[DiscoverManagerOptions]
    ) -> Self:
        """A manager for the servers that the user already has.

        The options of `mcpool.discover` say what to find and where; `watch` repeats the discovery when one of
        the files changes. The other options are those of the class.
        """
        return cls._of(_native.block_discover_manager({**options, "cwd": cwd}))

    def connect_all(self) -> ConnectReport:
        """Connects all enabled servers in parallel. A failing server is in the report; it does not raise."""
        return connect_report(_native.block_connect_all(self._native))

    def connect(self, server: str) -> None:
        """Connects one server unless it is connected; joins an attempt in progress."""
        _native.block_connect(self._native, server)

    def wait_for(self, server: str, timeout: float | None = None) -> None:
        """Returns when the server is connected, or raises its error. Starts nothing."""
        _native.block_wait_for(self._native, server, timeout)

    @show_keywords(_options.CALL, _options.CALL_DOC)
    def call_tool(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> ToolResult:
        """Calls a tool by its server and its raw name. `is_error` is a result, not an exception."""
        if "opentelemetry" in modules and (span := begin_span(self._native.telemetry, server, tool)):
            return span.run(_native.block_call, (self._native, server, tool, arguments), options)
        return _native.block_call(self._native, server, tool, arguments, options)

    @show_keywords(_options.CALL)
    def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> ToolResult:
        """Calls a tool by its name in the catalog; otherwise the same as `call_tool`."""
        if "opentelemetry" in modules and (span := begin_span(self._native.telemetry, None, name)):
            return span.run(_native.block_call, (self._native, None, name, arguments), options)
        return _native.block_call(self._native, None, name, arguments, options)

    def events(self, *, timeout: float | None = None) -> Events:
        """Events from now on; the iteration ends after `timeout` seconds without an event."""
        return Events(self._native.events(), timeout)

    def reload(self, config: Mapping[str, Any] | str | None = None) -> ReloadReport:
        """Applies the difference to `config`, or reads the manager's files again and applies theirs.

        Unchanged servers keep their connections and calls; others are closed, connected or restarted.
        """
        return reload_report(_native.block_reload(self._native, config))

    def authorize(self, server: str, *, fresh: bool = False, device: bool = False) -> None:
        """Signs in to a server and connects it.

        `on_auth` is asked to open the page, and the event `auth_required` names it; this waits up to five
        minutes. Does nothing if the server is connected with a login. `fresh` forgets the login that there is
        first; `device` is for a browser on another device.
        """
        _native.block_authorize(self._native, server, fresh, device)

    def complete_auth(self, redirect_url: str) -> None:
        """Finishes a sign-in with the URL that a browser was sent back to, and connects the server."""
        _native.block_complete_auth(self._native, redirect_url)

    def forget_auth(self, server: str) -> None:
        """Forgets the login of a server, revokes it where possible, and disconnects the server."""
        _native.block_forget_auth(self._native, server)

    def list_resources(self, server: str) -> ResourceList:
        """The resources of a server, all pages of them. Empty if it has none."""
        from .._resource import read_resources

        return read_resources(self._request(server, "list_resources", {}))

    def list_resource_templates(self, server: str) -> list[ResourceTemplate]:
        """The templates of a server's resources."""
        from .._resource import read_templates

        return read_templates(self._request(server, "list_resource_templates", {}))

    def read_resource(self, server: str, uri: str) -> list[ResourceContent]:
        """Reads a resource: one part, or several."""
        from .._resource import read_contents

        return read_contents(self._request(server, "read_resource", {"uri": uri}))

    def subscribe_resource(self, server: str, uri: str) -> None:
        """From now on, updates of the resource are events `resource_updated`, also after restarts."""
        self._request(server, "subscribe_resource", {"uri": uri})

    def unsubscribe_resource(self, server: str, uri: str) -> None:
        """Ends the updates of a resource."""
        self._request(server, "unsubscribe_resource", {"uri": uri})

    def list_prompts(self, server: str) -> PromptList:
        """The prompts of a server, all pages of them. Empty if it has none."""
        from .._prompt import read_prompts

        return read_prompts(self._request(server, "list_prompts", {}))

    def get_prompt(self, server: str, name: str, arguments: Mapping[str, str] | None = None) -> PromptResult:
        """A prompt, filled in with these arguments."""
        from .._prompt import read_prompt

        params = {"name": name, "arguments": arguments}
        answer = self._request(server, "get_prompt", params)
        return read_prompt(answer)

    def complete(
        self,
        server: str,
        argument: str,
        value: str = "",
        *,
        prompt: str | None = None,
        resource: str | None = None,
        others: Mapping[str, str] | None = None,
    ) -> Completion:
        """Values for an argument of a prompt, or of a template of resources, that begin with `value`.

        `others` are the arguments that are known already.
        """
        target = {"prompt": prompt, "resource": resource}
        params = {**target, "argument": argument, "value": value, "others": others}
        from .._prompt import read_completion

        return read_completion(self._request(server, "complete", params))

    def list_skills(self, server: str) -> SkillList:
        """The skills of a server, all pages of them. Empty if it has none. Reads no file of them."""
        from .._skill import read_skills

        return read_skills(_native.block_request(self._native, server, "list_skills", {}))

    def read_skill(self, server: str, skill: str) -> SkillContent:
        """Reads the SKILL.md of a skill, by the skill's name or address.

        Raises ProtocolError if the file differs from the skill's entry in the latest list.
        """
        from .._skill import read_skill

        return read_skill(_native.block_request(self._native, server, "read_skill", {"skill": skill}))

    def read_skill_file(self, server: str, skill: str, uri: str) -> ResourceContent:
        """Reads another file of a skill, by its address or its path beside SKILL.md.

        Raises InvalidArgumentsError if the skill has no such file, and ProtocolError if the file differs from
        the skill's entry.
        """
        from .._resource import read_contents

        params = {"skill": skill, "uri": uri}
        answer = _native.block_request(self._native, server, "read_skill_file", params)
        return read_contents([answer])[0]

    def get_task(self, server: str, task_id: str) -> Task:
        """How far a task of a server is. The option `resume_task` of a call waits for its result."""
        from .._task import read_task

        return read_task(self._request(server, "get_task", {"task_id": task_id}))

    def cancel_task(self, server: str, task_id: str) -> None:
        """Asks a server to end a task. It may still finish."""
        self._request(server, "cancel_task", {"task_id": task_id})

    def set_log_level(self, server: str, level: LogLevel) -> None:
        """Sets which log messages the server sends, also after its restarts. They are events `log`."""
        self._request(server, "set_log_level", {"level": level})

    def _request(self, server: str, verb: str, params: Mapping[str, Any]) -> Any:
        """Asks a server, by the name of a verb of the core."""
        if "opentelemetry" in modules and (
            span := begin_span(self._native.request_telemetry, server, verb, params)
        ):
            return span.run(_native.block_request, (self._native, server, verb), params)
        return _native.block_request(self._native, server, verb, params)

    def accept_drift(self, server: str, tool: str | None = None) -> list[str]:
        """Accepts tools and skills that have changed since they were first seen.

        Accepts one tool by its raw name or one skill by its uri, or all of the server. Returns their names.
        """
        return _native.block_accept_drift(self._native, server, tool)

    def disconnect(self, server: str) -> None:
        """Closes one server's connection, unless other managers hold it, and drops its tools. Idempotent."""
        _native.block_disconnect(self._native, server)

    def disconnect_all(self) -> None:
        """Closes every connection that no other manager holds; the manager can connect again. Idempotent."""
        _native.block_disconnect_all(self._native)

    def close(self) -> None:
        """Closes the manager permanently: every later verb raises ClosedError. Idempotent."""
        _native.block_close(self._native)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Events:
    """A stream of events, from its creation until the manager closes or the timeout passes."""

    def __init__(self, native: NativeEvents, timeout: float | None) -> None:
        self._native = native
        self._timeout = timeout
        self._taken: deque[dict[str, Any]] = deque()

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> Event:
        while not self._taken:
            if not _native.block_events_ready(self._native, self._timeout):
                raise StopIteration
            self._taken.extend(self._native.take())
        return read_event(self._taken.popleft())

    @property
    def lost(self) -> int:
        """How many events this reader has missed because it was too slow."""
        return self._native.lost()
