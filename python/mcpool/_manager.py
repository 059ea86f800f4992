"""The asyncio manager."""

from __future__ import annotations

from sys import modules

from . import _native, _options
from ._base import ManagerBase
from ._bridge import finish, give_up, require_loop
from ._calls import begin_span
from ._events import Events
from ._signature import show_keywords
from ._status import connect_report, reload_report

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self, Unpack

    from ._discover import Discovering
    from ._events import LogLevel
    from ._native import ToolResult
    from ._options import CallOptions, DiscoverManagerOptions
    from ._prompt import Completion, PromptList, PromptResult
    from ._resource import ResourceContent, ResourceList, ResourceTemplate
    from ._skill import SkillContent, SkillList
    from ._status import ConnectReport, ReloadReport
    from ._task import Task


class Manager(ManagerBase):
    """Connects to many MCP servers, lists their tools, routes calls.

    One manager serves any event loop, any thread and any number of `asyncio.run()` in a row: the connections
    belong to the core, not to the loop that opened them. Managers of a process share them by server name.
    """

    @classmethod
    @show_keywords(_options.DISCOVER_MANAGER)
    def discover(
        cls, cwd: str | PathLike[str] | None = None, **options: Unpack[DiscoverManagerOptions]
    ) -> Discovering[Self]:
        """A manager for the servers that the user already has: await it, or enter it with `async with`.

        The options of `mcpool.discover` say what to find and where; `watch` repeats the discovery when one of
        the files changes. The other options are those of the class.
        """
        from ._discover import Discovering

        async def make() -> Self:
            found, future = _native.discover_manager({**options, "cwd": cwd})
            await finish(future)
            return cls._of(found.take())

        return Discovering(make)

    async def connect_all(self) -> ConnectReport:
        """Connects all enabled servers in parallel. A failing server is in the report; it does not raise."""
        return connect_report(await finish(_native.connect_all(self._native)))

    async def connect(self, server: str) -> None:
        """Connects one server unless it is connected; joins an attempt in progress."""
        await finish(_native.connect(self._native, server))

    async def wait_for(self, server: str, timeout: float | None = None) -> None:
        """Returns when the server is connected, or raises its error. Starts nothing."""
        await finish(_native.wait_for(self._native, server, timeout))

    @show_keywords(_options.CALL, _options.CALL_DOC)
    async def call_tool(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> ToolResult:
        """Calls a tool by its server and its raw name.

        `is_error` is a result, not an exception. Cancelling the task notifies the server.
        """
        if "opentelemetry" in modules and (span := begin_span(self._native.telemetry, server, tool)):
            return await span.follow(_native.call, (self._native, server, tool, arguments), options)
        future = _native.call(self._native, server, tool, arguments, options)
        try:
            return await future
        except BaseException:
            give_up(future)
            raise

    @show_keywords(_options.CALL)
    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> ToolResult:
        """Calls a tool by its name in the catalog; otherwise the same as `call_tool`."""
        if "opentelemetry" in modules and (span := begin_span(self._native.telemetry, None, name)):
            return await span.follow(_native.call, (self._native, None, name, arguments), options)
        future = _native.call(self._native, None, name, arguments, options)
        try:
            return await future
        except BaseException:
            give_up(future)
            raise

    def events(self) -> Events:
        """Events from now on, as an async iterator."""
        return Events(self._native.events())

    async def reload(self, config: Mapping[str, Any] | str | None = None) -> ReloadReport:
        """Applies the difference to `config`, or reads the manager's files again and applies theirs.

        Unchanged servers keep their connections and calls; others are closed, connected or restarted.
        """
        return reload_report(await finish(_native.reload(self._native, config)))

    async def authorize(self, server: str, *, fresh: bool = False, device: bool = False) -> None:
        """Signs in to a server and connects it.

        `on_auth` is asked to open the page, and the event `auth_required` names it; this waits up to five
        minutes. Does nothing if the server is connected with a login. `fresh` forgets the login that there is
        first; `device` is for a browser on another device.
        """
        await finish(_native.authorize(self._native, server, fresh, device))

    async def complete_auth(self, redirect_url: str) -> None:
        """Finishes a sign-in with the URL that a browser was sent back to, and connects the server."""
        await finish(_native.complete_auth(self._native, redirect_url))

    async def forget_auth(self, server: str) -> None:
        """Forgets the login of a server, revokes it where possible, and disconnects the server."""
        await finish(_native.forget_auth(self._native, server))

    async def list_resources(self, server: str) -> ResourceList:
        """The resources of a server, all pages of them. Empty if it has none."""
        from ._resource import read_resources

        return read_resources(await self._request(server, "list_resources", {}))

    async def list_resource_templates(self, server: str) -> list[ResourceTemplate]:
        """The templates of a server's resources."""
        from ._resource import read_templates

        answer = await self._request(server, "list_resource_templates", {})
        return read_templates(answer)

    async def read_resource(self, server: str, uri: str) -> list[ResourceContent]:
        """Reads a resource: one part, or several."""
        from ._resource import read_contents

        answer = await self._request(server, "read_resource", {"uri": uri})
        return read_contents(answer)

    async def subscribe_resource(self, server: str, uri: str) -> None:
        """From now on, updates of the resource are events `resource_updated`, also after restarts."""
        await self._request(server, "subscribe_resource", {"uri": uri})

    async def unsubscribe_resource(self, server: str, uri: str) -> None:
        """Ends the updates of a resource."""
        await self._request(server, "unsubscribe_resource", {"uri": uri})

    async def list_prompts(self, server: str) -> PromptList:
        """The prompts of a server, all pages of them. Empty if it has none."""
        from ._prompt import read_prompts

        return read_prompts(await self._request(server, "list_prompts", {}))

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> PromptResult:
        """A prompt, filled in with these arguments."""
        from ._prompt import read_prompt

        params = {"name": name, "arguments": arguments}
        answer = await self._request(server, "get_prompt", params)
        return read_prompt(answer)

    async def complete(
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
        from ._prompt import read_completion

        return read_completion(await self._request(server, "complete", params))

    async def list_skills(self, server: str) -> SkillList:
        """The skills of a server, all pages of them. Empty if it has none. Reads no file of them."""
        from ._skill import read_skills

        return read_skills(await finish(_native.request(self._native, server, "list_skills", {})))

    async def read_skill(self, server: str, skill: str) -> SkillContent:
        """Reads the SKILL.md of a skill, by the skill's name or address.

        Raises ProtocolError if the file differs from the skill's entry in the latest list.
        """
        from ._skill import read_skill

        return read_skill(await finish(_native.request(self._native, server, "read_skill", {"skill": skill})))

    async def read_skill_file(self, server: str, skill: str, uri: str) -> ResourceContent:
        """Reads another file of a skill, by its address or its path beside SKILL.md.

        Raises InvalidArgumentsError if the skill has no such file, and ProtocolError if the file differs from
        the skill's entry.
        """
        from ._resource import read_contents

        params = {"skill": skill, "uri": uri}
        answer = await finish(_native.request(self._native, server, "read_skill_file", params))
        return read_contents([answer])[0]

    async def get_task(self, server: str, task_id: str) -> Task:
        """How far a task of a server is. The option `resume_task` of a call waits for its result."""
        from ._task import read_task

        return read_task(await self._request(server, "get_task", {"task_id": task_id}))

    async def cancel_task(self, server: str, task_id: str) -> None:
        """Asks a server to end a task. It may still finish."""
        await self._request(server, "cancel_task", {"task_id": task_id})

    async def set_log_level(self, server: str, level: LogLevel) -> None:
        """Sets which log messages the server sends, also after its restarts. They are events `log`."""
        await self._request(server, "set_log_level", {"level": level})

    async def _request(self, server: str, verb: str, params: Mapping[str, Any]) -> Any:
        """Asks a server, by the name of a verb of the core."""
        if "opentelemetry" in modules and (
            span := begin_span(self._native.request_telemetry, server, verb, params)
        ):
            return await span.follow(_native.request, (self._native, server, verb), params)
        return await finish(_native.request(self._native, server, verb, params))

    async def accept_drift(self, server: str, tool: str | None = None) -> list[str]:
        """Accepts tools and skills that have changed since they were first seen.

        Accepts one tool by its raw name or one skill by its uri, or all of the server. Returns their names.
        """
        accepted: list[str] = await finish(_native.accept_drift(self._native, server, tool))
        return accepted

    async def disconnect(self, server: str) -> None:
        """Closes one server's connection, unless other managers hold it, and drops its tools. Idempotent."""
        await finish(_native.disconnect(self._native, server))

    async def disconnect_all(self) -> None:
        """Closes every connection that no other manager holds; the manager can connect again. Idempotent."""
        await finish(_native.disconnect_all(self._native))

    async def close(self) -> None:
        """Closes the manager permanently: every later verb raises ClosedError. Idempotent."""
        await finish(_native.close(self._native))

    async def __aenter__(self) -> Self:
        require_loop()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
