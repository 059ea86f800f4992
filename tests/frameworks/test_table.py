"""The table of adapters: every way to hand tools to a framework, by everything that happens to an agent.

Each cell is a test. What a framework cannot do is in `table.py`, and what it does instead is asserted here.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import os
import re
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import mcpool
import mcpool.blocking
import pytest
from fixture_server import ROOT, config, processes, read_journal, stdio
from mcpool.adapters._approval import ask_about
from script import (
    SLEEP,
    AnyManager,
    Call,
    Script,
    Turn,
    after_restart,
    echo,
    give_up_in_mid_call,
    once_listed,
    received,
)
from table import COLUMNS, LIMITS, ROWS, Ask, Limit, Loop, Seen, Told, limit, markdown

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CHANGE: Call = ("mcp_a_change_tools", {"name": "fresh"})
FRESH = "mcp_a_fresh"
UNCERTAIN = "The call may have been carried out; check before you repeat it."
PAGE = ROOT / "docs" / "adapters.md"
MARKS = re.compile(r"(<!-- table of adapters -->\n)(.*?)(<!-- end of the table -->)", re.DOTALL)

Turns: TypeAlias = Callable[[AnyManager], list[Turn]]


def loops() -> dict[str, Loop]:
    """Those of this environment, of which one is CrewAI's own."""
    alone = importlib.util.find_spec("crewai") is not None
    modules = [name for name in ROWS if (name == "crewai") is alone]
    found = {name: importlib.import_module(f"test_{name}").LOOPS for name in modules}
    assert {name: [*loops] for name, loops in found.items()} == {name: ROWS[name] for name in modules}
    return {row: loop for loops in found.values() for row, loop in loops.items()}


class World:
    """A fixture server, and agents of one kind."""

    def __init__(self, row: str, column: str, folder: Path) -> None:
        self.row = row
        self.loop = loops()[row]
        self.limit = limit(row, column)
        self.folder = folder
        self.journal = folder / "a.jsonl"
        self.asks_elsewhere = False
        self.is_async = asyncio.iscoroutinefunction(getattr(self.loop.run, "func", self.loop.run))

    def run(self, *turns: Turn, **options: Any) -> Seen:
        """Runs an agent from the first of these turns to its end."""
        (seen,) = self.run_with(lambda _manager: list(turns), **options)
        return seen

    def run_with(self, *runs: Turns, ask: Ask | None = None, **options: Any) -> list[Seen]:
        """Runs one agent after the other on one manager, which their turns may need."""
        knobs: list[str] = options.pop("knobs", [])
        servers = options.pop("servers", None) or config(a=stdio(*knobs, journal=self.journal))
        options = {"pool": mcpool.Pool(), "wrap": False, **options}

        async def main() -> list[Seen]:
            async with mcpool.Manager(servers, **options) as manager:
                await manager.connect_all()
                return [await self.start(manager, Script(*turns(manager), "done"), ask) for turns in runs]

        if self.is_async:
            return asyncio.run(main())
        with mcpool.blocking.Manager(servers, **options) as manager:
            manager.connect_all()
            return [self.start(manager, Script(*turns(manager), "done"), ask) for turns in runs]

    def start(self, manager: AnyManager, script: Script, ask: Ask | None = None) -> Any:
        if ask is None:
            return self.loop.run(manager, script, None)
        if self.asks_elsewhere and self.loop.ask_elsewhere:
            self.loop.ask_elsewhere(manager)
        return self.loop.run(manager, script, ask, not self.asks_elsewhere)

    def is_marked(self, told: Told) -> bool:
        """Whether an answer is an error to the framework, as far as it has a mark."""
        return told.is_error is (None if limit(self.row, "error") else True)

    def called(self, tool: str) -> bool:
        return any(entry.get("tool") == tool for entry in read_journal(self.journal))


def structured(world: World) -> None:
    (told,) = world.run([("mcp_a_add", {"a": 1, "b": 2})]).told
    assert told.text == "3" and not told.is_error
    assert told.structured == (None if world.limit else {"sum": 3})


def image(world: World) -> None:
    (told,) = world.run([("mcp_a_image", {})]).told
    assert "[Image: image/png]" in told.text and "one pixel" in told.text and not told.is_error
    assert told.images == (0 if world.limit else 1)


def error(world: World) -> None:
    failed, unharmed = world.run([("mcp_a_fail", {"message": "no such file"})], [echo("unharmed")]).told
    assert failed.text.endswith("Error: no such file") and world.is_marked(failed)
    assert unharmed.text == "unharmed" and not unharmed.is_error


def error_with_image(world: World) -> None:
    block = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    result = json.dumps({"content": [block], "isError": True})
    (told,) = world.run([("mcp_a_raw", {"json": result})]).told
    assert told.text.endswith("Error: [Image: image/png]") and world.is_marked(told) and told.images == 0


def unknown_tool(world: World) -> None:
    turns: list[Turn] = [[("mcp_a_ecko", {"text": "x"})], [echo("unharmed")]]
    if world.limit and world.limit.kind == "raises":
        with pytest.raises(Exception, match="mcp_a_ecko"):
            world.run(*turns)
        return
    unknown, unharmed = world.run(*turns).told
    assert unharmed.text == "unharmed"
    if world.limit and world.limit.kind == "guesses":
        assert unknown.text == "x"
    elif world.limit:
        assert re.search("mcp_a_ecko|not found", unknown.text)
    else:
        assert '"mcp_a_ecko"' in unknown.text and "mcp_a_echo" in unknown.text and world.is_marked(unknown)


def bad_arguments(world: World) -> None:
    wrong, unharmed = world.run([("mcp_a_echo", {"text": 5})], [echo("unharmed")]).told
    assert unharmed.text == "unharmed"
    assert ("text" if world.limit else "argument text must be a string") in wrong.text
    if not world.loop.takes_text:
        return
    said = {"{": "not valid JSON", "[]": "must be a JSON object", "": "", "null": ""}
    for arguments, refusal in {**said, '{"key": 1e999}': "out of range"}.items():
        (told,) = world.run([("mcp_a_count", arguments)]).told
        assert refusal in told.text if refusal else told.text == "1", arguments


def free_form_arguments(world: World) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": True}
    names = ["add", "echo"]
    tools = {"a": [{"name": name, "description": "free", "inputSchema": schema} for name in names]}
    file = world.folder / "tools.json"
    file.write_text(json.dumps(tools))
    knobs = ["--tools-from", str(file), "--name", "a"]
    further = "further_arguments"

    def given(arguments: dict[str, Any]) -> dict[str, Any]:
        return {further: json.dumps(arguments)} if world.limit else arguments

    calls: list[Turn] = [[("mcp_a_add", given({"a": 1, "b": 2.5}))], [("mcp_a_echo", given({"text": "ä"}))]]
    seen = world.run(*calls, knobs=knobs)
    assert [told.text for told in seen.told] == ["3.5", "ä"]
    if world.limit:
        twice: Turn = [("mcp_a_add", {"a": 1, **given({"a": 5, "b": 2})})]
        (clash,) = world.run(twice, knobs=knobs).told
        assert '"a" appears twice' in clash.text and world.is_marked(clash)


def kill_between_turns(world: World) -> None:
    def turns(manager: AnyManager) -> list[Turn]:
        return [[echo("before")], after_restart(manager, ("mcp_a_pid", {}))]

    (seen,) = world.run_with(turns)
    before, after = seen.told
    assert before.text == "before" and not after.is_error
    assert int(after.text) == processes(world.journal)[-1]


def kill_within_a_call(world: World) -> None:
    lost, back = world.run([("mcp_a_exit", {"code": 3})], [echo("back")]).told
    assert "MCP error: " in lost.text and UNCERTAIN in lost.text and world.is_marked(lost)
    assert back.text == "back" and not back.is_error


def list_change(world: World) -> None:
    if world.limit:
        changing: Turns = lambda manager: [[CHANGE], once_listed(manager, FRESH, echo("a")), [echo("b")]]  # noqa: E731
        first, second = world.run_with(changing, lambda _manager: [[(FRESH, {})]])
        assert not any(FRESH in offered for offered in first.offered)
        assert FRESH in second.offered[0] and second.told[0].text == "fresh ran"
        return
    seen = world.run([CHANGE], [(FRESH, {})])
    assert [FRESH in offered for offered in seen.offered] == [False, True, True]
    assert seen.told[1].text == "fresh ran"


def refused(world: World) -> None:
    def refuse(_question: object) -> bool:
        return False

    async def refuse_later(_question: object) -> bool:
        return False

    answer = refuse_later if world.is_async else refuse
    count: Turn = [("mcp_a_count", {})]
    (told,) = world.run(count, on_approval=answer).told
    assert "not approved" in told.text and world.is_marked(told) and not world.called("count")
    if not world.loop.ask_elsewhere:

        def turns(manager: AnyManager) -> list[Turn]:
            ask_about(manager, needs_approval=True)  # as an adapter that can ask does
            return [count]

        (seen,) = world.run_with(turns)
        assert "not approved" in seen.told[0].text and not world.called("count")
    for asks_elsewhere in (False, True) if world.loop.ask_elsewhere else ():
        world.asks_elsewhere = asks_elsewhere
        refused_by_the_framework(world)


def refused_by_the_framework(world: World) -> None:
    """A person who is asked says no, also to a tool that comes later."""
    asked: list[str] = []

    def ask(name: str) -> bool:
        asked.append(name)
        return name in ("mcp_a_change_tools", "mcp_a_echo")

    def turns(manager: AnyManager) -> list[Turn]:
        if limit(world.row, "list change"):
            return [[("mcp_a_count", {})]]
        return [[CHANGE], once_listed(manager, FRESH, echo("wait")), [(FRESH, {})]]

    (seen,) = world.run_with(turns, ask=ask)
    assert asked in (["mcp_a_count"], ["mcp_a_change_tools", "mcp_a_echo", FRESH])
    assert seen.told[-1].text not in ("1", "fresh ran")
    assert not world.called("count") and not world.called("fresh")


def cancelled(world: World) -> None:
    async def main() -> None:
        servers = config(a=stdio(journal=world.journal))
        async with mcpool.Manager(servers, pool=mcpool.Pool()) as manager:
            await manager.connect_all()
            await give_up_in_mid_call(world.start(manager, Script([SLEEP], "done")), world.journal)
            assert manager.status()[0].state == "connected"

    def interrupt() -> None:
        if received(world.journal, "tools/call"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    if world.is_async:
        asyncio.run(main())
    elif world.limit:
        closed_in_mid_call(world)
    else:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            world.run([SLEEP])
        assert received(world.journal, "notifications/cancelled")


def closed_in_mid_call(world: World) -> None:
    with (
        mcpool.blocking.Manager(config(a=stdio(journal=world.journal)), pool=mcpool.Pool()) as manager,
        ThreadPoolExecutor(1) as threads,
    ):
        manager.connect_all()
        run = threads.submit(world.start, manager, Script([SLEEP], "done"))
        assert received(world.journal, "tools/call")
        manager.close()
        (told,) = run.result(60).told
        assert "MCP error: " in told.text


def two_agents(world: World) -> None:
    servers, pool = config(a=stdio()), mcpool.Pool()
    pid: Call = ("mcp_a_pid", {})

    def script(name: str) -> Script:
        return Script([echo(name)], [pid], "done")

    async def main() -> list[Seen]:
        async with mcpool.Manager(servers, pool=pool, wrap=False) as manager, manager.child() as other:
            await asyncio.gather(manager.connect_all(), other.connect_all())
            return await asyncio.gather(
                world.start(manager, script("left")), world.start(other, script("right"))
            )

    if world.is_async:
        left, right = asyncio.run(main())
    else:
        with mcpool.blocking.Manager(servers, pool=pool, wrap=False) as manager, manager.child() as other:
            manager.connect_all()
            other.connect_all()
            with ThreadPoolExecutor(2) as threads:
                runs = [
                    threads.submit(world.start, manager, script("left")),
                    threads.submit(world.start, other, script("right")),
                ]
                left, right = (run.result() for run in runs)
    assert (left.told[0].text, right.told[0].text) == ("left", "right")
    assert left.told[1].text == right.told[1].text


def long_result(world: World) -> None:
    servers = config(a=stdio(maxResultChars=500))
    (told,) = world.run([("mcp_a_big", {"bytes": 100_000})], servers=servers).told
    assert "(output truncated at 500 chars, " in told.text and len(told.text) < 1000


CASES = {
    "structured": structured,
    "image": image,
    "error": error,
    "error with image": error_with_image,
    "unknown tool": unknown_tool,
    "bad arguments": bad_arguments,
    "free-form arguments": free_form_arguments,
    "kill between turns": kill_between_turns,
    "kill within a call": kill_within_a_call,
    "list change": list_change,
    "refused": refused,
    "cancelled": cancelled,
    "two agents": two_agents,
    "long result": long_result,
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", loops())
def test_cell(row: str, column: str, tmp_path: Path) -> None:
    CASES[column](World(row, column, tmp_path))


@pytest.mark.parametrize("row", loops())
def test_completion_shows_what_an_adapter_is_for(row: str) -> None:
    (name,) = (name for name, rows in ROWS.items() if row in rows)
    adapter = importlib.import_module(f"mcpool.adapters.{name}")
    assert [name for name in dir(adapter) if not name.startswith("__")] == sorted(adapter.__all__)


def test_no_cell_is_empty_and_every_limit_has_one() -> None:
    assert [*CASES] == COLUMNS
    assert set(LIMITS) <= {row for rows in ROWS.values() for row in rows}
    assert {column for limits in LIMITS.values() for column in limits} <= set(COLUMNS)
    kinds: dict[str, Limit] = {}
    for each in (each for limits in LIMITS.values() for each in limits.values()):
        assert kinds.setdefault(each.kind, each) == each


def test_the_docs_show_the_table() -> None:
    page = PAGE.read_text()
    table = MARKS.sub(lambda found: found[1] + markdown() + found[3], page)
    if os.environ.get("MCPOOL_WRITE_GENERATED"):
        PAGE.write_text(table)
    assert MARKS.search(page) and (page == table or os.environ.get("MCPOOL_WRITE_GENERATED"))
