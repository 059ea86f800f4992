"""Runs one file of `tests/scenarios`, whose words are explained there, against the asyncio manager."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcpool
from fixture_server import PATIENCE, PROGRAM, lives, processes, read_journal, until
from person import get, keeping, signing_in
from scenario_fixtures import Fixture, start_fixtures
from scenario_place import Place, answering, approving, described, holds, identifying, scripted, text_of
from scenario_steps import check_scenario, is_without_manager
from scenario_values import check, fill, is_subsequence, matches, plain

LIMIT = 120.0
MAIN = "main"
TOOL_FIELDS = (
    "name",
    "server",
    "raw_name",
    "title",
    "description",
    "input_schema",
    "output_schema",
    "annotations",
    "requires_approval",
    "provider",
    "state",
    "signals",
)


def run(file: Path, directory: Path, variant: str | None = None) -> None:
    """Runs a file, over one of its transports if it has some; an assertion says which step failed and how."""
    scenario = json.loads(file.read_text())
    check_scenario(scenario)
    names: dict[str, Any] = {
        "fixture": str(PROGRAM),
        "dir": str(directory.resolve()),
        "tests": str(Path(__file__).resolve().parent.parent),
    }
    with contextlib.ExitStack() as stack:
        fixtures = start_fixtures(scenario, variant, names, stack)
        scenario = fill(scenario, names)
        place = Place(scenario, directory.resolve())
        asyncio.run(asyncio.wait_for(play(scenario, directory, place, fixtures), LIMIT))
    # Tasks and tracebacks are cycles that hold the pool, and with it what is kept alive.
    gc.collect()
    for journal in directory.glob("*.jsonl"):
        for pid in processes(journal):
            assert until(lambda pid=pid: not lives(pid)), f"process {pid} of {journal.name} was left behind"  # type: ignore[misc]


async def play(scenario: dict[str, Any], directory: Path, place: Place, fixtures: dict[str, Fixture]) -> None:
    """Executes the steps on a pool of their own."""
    steps = Steps(mcpool.Pool(**in_seconds(scenario.get("pool", {}))), directory, place, fixtures)
    await steps.open(MAIN, scenario)
    try:
        for number, step in enumerate(scenario["steps"], 1):
            try:
                await steps.step(step)
            except Exception as problem:
                raise AssertionError(f"step {number} ({step['do']}): {problem}") from problem
    finally:
        for watched in steps.managers.values():
            await watched.manager.close()
            watched.collector.cancel()
    assert not steps.started, f"{list(steps.started)} were started and never finished"


class Watched:
    """A manager, and what it told so far."""

    def __init__(self, manager: mcpool.Manager, questions: list[Any]) -> None:
        self.manager = manager
        self.questions = questions
        self.seen: list[Any] = []
        self.collector = asyncio.create_task(self.collect(manager.events()))

    async def collect(self, events: mcpool.Events) -> None:
        """Keeps every event, as the other languages write it."""
        async for event in events:
            fields = plain(event)
            self.seen.append({**fields, **fields.pop("data")})


class Steps:
    """The steps of one scenario."""

    def __init__(
        self, pool: mcpool.Pool, directory: Path, place: Place, fixtures: dict[str, Fixture]
    ) -> None:
        self.pool = pool
        self.directory = directory
        self.place = place
        self.fixtures = fixtures
        self.managers: dict[str, Watched] = {}
        self.logins: dict[str, str] = {}
        self.started: dict[str, asyncio.Task[Any]] = {}

    async def open(self, name: str, description: dict[str, Any]) -> None:
        """Makes a manager by the `config`, `config_file` or `discover` and the `options` of a description."""
        given = in_seconds(description.get("options", {}))
        options = {"cache_dir": self.directory / "cache", **given, "pool": self.pool}
        options["host_env"] = self.place.host_env
        questions: list[Any] = []
        if isinstance(options.get("trust"), dict):
            options["trust"] = scripted(options["trust"]["answers"], questions)
        if "on_approval" in options:
            options["on_approval"] = approving(options["on_approval"]["answers"], questions)
        for callback in ("on_sampling", "on_elicitation"):
            if callback in options:
                options[callback] = answering(options[callback]["answers"], questions)
        if "on_identity" in options:
            options["on_identity"] = identifying(options["on_identity"]["answers"], questions)
        if "on_auth" in options:
            options["on_auth"] = signing_in(options["on_auth"]["answers"], questions)
        if "login_store" in options:
            options["login_store"] = keeping(self.logins, options["login_store"]["answers"])
        try:
            if "discover" in description:
                manager = await mcpool.Manager.discover(
                    **self.place.looking(description["discover"]), **options
                )
            elif "config_file" in description:
                manager = mcpool.Manager.from_file(description["config_file"], **options)
            else:
                manager = mcpool.Manager(description["config"], **options)
        except mcpool.McpoolError as error:
            assert "error" in description, f"failed with {type(error).__name__}: {error}"
            check(description["error"], plain(error))
            return
        self.managers[name] = Watched(manager, questions)
        assert "error" not in description, "should have failed"

    def on(self, step: dict[str, Any]) -> Watched:
        """The manager that a step is about."""
        return self.managers[step.get("on", MAIN)]

    async def step(self, step: dict[str, Any]) -> None:
        """Executes one step and holds it against what is expected."""
        match step["do"]:
            case "start":
                self.started[step["as"]] = asyncio.create_task(self.verb(step["step"]))
                # Its request is on its way before the next step begins.
                await asyncio.sleep(0)
            case "finish":
                task = self.started.pop(step["as"])
                done, _ = await asyncio.wait([task], timeout=PATIENCE)
                assert done, "did not finish"
                await judge(step, task)
            case "cancel":
                task = self.started.pop(step["as"])
                assert task.cancel(), "was done before it was cancelled"
                await asyncio.wait([task])
                assert task.cancelled(), "did not end as cancelled"
            case "parallel":
                await asyncio.gather(*(self.step(inner) for inner in step["steps"]))
            case "repeat":
                for _ in range(step["times"]):
                    await self.step(step["step"])
            case "events":
                seen = self.on(step).seen
                assert await eventually(lambda: is_subsequence(step["expect"], seen)), (
                    f"not in this order: {seen}"
                )
            case "no_events":
                seen = self.on(step).seen
                assert not is_subsequence(step["expect"], seen), f"came all the same: {seen}"
            case "questions":
                asked = self.on(step).questions
                await eventually(lambda: matches(step["expect"], asked))
                check(step["expect"], asked)
            case "await_status":
                manager = self.on(step).manager
                await eventually(lambda: matches(step["expect"], status_by_name(manager)))
                check(step["expect"], status_by_name(manager))
            case "journal":
                await journal(step)
            case "open":
                await self.open(step["as"], step)
            case "advance":
                self.pool.advance(step["ms"] / 1000)
            case "write":
                write(Path(step["file"]), text_of(step["text"]))
            case "remove_file":
                remove(Path(step["file"]))
            case "file":
                holds(Path(step["file"]), step["expect"])
            case "end_fixture":
                self.fixtures[step["fixture"]].end()
            case "start_fixture":
                self.fixtures[step["fixture"]].start()
            case _:
                await judge(step, asyncio.create_task(self.verb(step)))

    async def verb(self, step: dict[str, Any]) -> Any:
        """Executes a verb; what it returns is made plain."""
        if is_without_manager(step):
            return await self.place.verb(step)
        manager = self.on(step).manager
        limit = seconds(step, "timeout_ms")
        match step["do"]:
            case "connect_all":
                return plain(await manager.connect_all())
            case "connect":
                await manager.connect(step["server"])
            case "wait_for":
                await manager.wait_for(step["server"], timeout=limit)
            case "tools":
                return [tool.name for tool in manager.get_tools()]
            case "search_tools":
                limit = {"k": step["k"]} if "k" in step else {}
                return [tool.name for tool in manager.search_tools(step["query"], **limit)]
            case "tool":
                found = [tool for tool in manager.get_tools() if tool.name == step["name"]]
                return {field: plain(getattr(found[0], field)) for field in TOOL_FIELDS} if found else None
            case "get_tool":
                return manager.get_tool(step["name"]).name
            case "call_tool":
                options, told = call_options(step, limit)
                target = (step["server"], step["tool"])
                result = await manager.call_tool(*target, step.get("arguments"), **options)
                return answer(result, told, for_model=step.get("for_model", False))
            case "call":
                options, told = call_options(step, limit)
                result = await manager.call(step["name"], step.get("arguments"), **options)
                return answer(result, told, for_model=step.get("for_model", False))
            case "execute":
                options, told = call_options(step, limit)
                return output(await chosen(manager, step).execute(step.get("arguments"), **options), told)
            case "status":
                return status_by_name(manager)
            case "status_of":
                return plain(manager.status(step["server"]))
            case "warnings":
                return manager.warnings
            case "discovery":
                return described(manager.discovery)
            case "kill":
                (pid,) = (status.pid for status in manager.status() if status.name == step["server"])
                assert pid is not None, "the server has no process"
                os.kill(pid, signal.SIGKILL)
            case "child":
                self.managers[step["as"]] = Watched(manager.child(), self.on(step).questions)
            case "reload":
                return plain(await manager.reload(step.get("config")))
            case "authorize":
                await manager.authorize(
                    step["server"], fresh=step.get("fresh", False), device=step.get("device", False)
                )
            case "browse":
                return plain(await get(page_of(manager, step["server"])))
            case "complete_auth":
                await manager.complete_auth(step.get("url") or await redirected(manager, step["server"]))
            case "forget_auth":
                await manager.forget_auth(step["server"])
            case "accept_drift":
                return await manager.accept_drift(step["server"], step.get("tool"))
            case "ask_server":
                params = step.get("params", {})
                return as_written(await getattr(manager, step["verb"])(step["server"], **params))
            case "set_roots":
                manager.set_roots(step["roots"])
            case "disconnect":
                await manager.disconnect(step["server"])
            case "disconnect_all":
                await manager.disconnect_all()
            case "close":
                await manager.close()
            case unknown:
                raise AssertionError(f"there is no step {unknown!r}")
        return None


def as_written(answer: Any) -> Any:
    """An answer as the server wrote it."""
    if isinstance(answer, list):
        return [as_written(one) for one in answer]
    if isinstance(answer, mcpool.Completion):
        return {"values": answer.values, "total": answer.total, "hasMore": answer.has_more}
    if isinstance(answer, mcpool.SkillContent):
        return {"skill": answer.skill.raw, "text": answer.text, "body": answer.body}
    return getattr(answer, "raw", answer)


def page_of(manager: mcpool.Manager, server: str) -> str:
    """The page that the status of a server names."""
    error = next(status.error for status in manager.status() if status.name == server)
    assert error is not None and error.auth_url is not None, f"{server} names no page: {error}"
    return error.auth_url


async def redirected(manager: mcpool.Manager, server: str) -> str:
    """Where the page of a server leads to."""
    location = (await get(page_of(manager, server), follow=False)).location
    assert location is not None, "the page leads nowhere"
    return location


def in_seconds(options: dict[str, Any]) -> dict[str, Any]:
    """Options whose times are in milliseconds, which their names say, as Python's callers write them."""
    times = {name for name in options if name.endswith("_ms")}
    plain = {name: value for name, value in options.items() if name not in times}
    for name in times:
        value = options[name]
        plain[name.removesuffix("_ms")] = value if isinstance(value, str) else value / 1000
    return plain


def seconds(step: dict[str, Any], key: str) -> float | None:
    """The milliseconds under this key, as Python's callers write them."""
    return step[key] / 1000 if key in step else None


def call_options(step: dict[str, Any], limit: float | None) -> tuple[dict[str, Any], list[Any]]:
    """The options of a call, and where its progress is noted."""
    told: list[Any] = []
    options: dict[str, Any] = {
        "timeout": limit,
        "max_total_timeout": seconds(step, "max_total_timeout_ms"),
        "retry": step.get("retry"),
        "meta": step.get("meta"),
        "identity": step.get("identity"),
        "headers": step.get("headers"),
        "check_output": step.get("check_output"),
        "return_task": step.get("return_task"),
        "resume_task": step.get("resume_task"),
    }
    if step.get("progress"):
        options["on_progress"] = lambda progress: told.append(plain(progress))
    return options, told


def answer(result: mcpool.ToolResult, told: list[Any], *, for_model: bool = False) -> dict[str, Any]:
    """A result as the files see it."""
    fields = ("text", "is_error", "content", "structured", "raw", "json")
    task = result.task
    shown = {"for_model": result.for_model(), "signals": plain(result.signals)} if for_model else {}
    return {
        **{field: getattr(result, field) for field in fields},
        **shown,
        "task": task._asdict() if task else None,
        "progress": told,
    }


def chosen(manager: mcpool.Manager, step: dict[str, Any]) -> mcpool.Tool:
    """The tool that a step means."""
    if "name" in step:
        (tool,) = (tool for tool in manager.get_tools() if tool.name == step["name"])
    else:
        wanted = (step["server"], step["tool"])
        (tool,) = (tool for tool in manager.get_tools() if (tool.server, tool.raw_name) == wanted)
    return tool


def output(told_by: mcpool.ToolOutput, told: list[Any]) -> dict[str, Any]:
    """An output as the files see it."""
    fields = ("text", "is_error", "server", "tool", "provider", "content", "structured", "signals", "error")
    return {**{field: plain(getattr(told_by, field)) for field in fields}, "progress": told}


async def judge(step: dict[str, Any], task: asyncio.Task[Any]) -> None:
    """Holds the outcome against the step's `expect` or `error`."""
    try:
        value = await task
    except mcpool.McpoolError as error:
        assert "error" in step, f"failed with {type(error).__name__}: {error}"
        check(step["error"], plain(error))
        return
    assert "error" not in step, f"should have failed, gave {value}"
    if "expect" in step:
        check(step["expect"], value)


def status_by_name(manager: mcpool.Manager) -> dict[str, Any]:
    """The status of every server."""
    return {status.name: plain(status) for status in manager.status()}


async def journal(step: dict[str, Any]) -> None:
    """Waits for entries, then counts."""
    file = Path(step["file"])
    wanted = step.get("expect", [])
    assert await eventually(lambda: is_subsequence(wanted, read_journal(file))), (
        f"the journal holds {read_journal(file)}"
    )
    for count in step.get("count", []):
        times = sum(matches(count["entry"], entry) for entry in read_journal(file))
        assert times == count["times"], f"{count['entry']}: expected {count['times']}, got {times}"


def write(file: Path, text: str) -> None:
    """Replaces a file at once."""
    fresh = file.with_name(file.name + ".new")
    fresh.write_text(text)
    fresh.replace(file)


def remove(file: Path) -> None:
    file.unlink()


async def eventually(condition: Callable[[], bool]) -> bool:
    """Waits for the condition while the loop goes on."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.005)
    return True
