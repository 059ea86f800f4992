"""A config changes while its manager runs: what is the same stays untouched, the rest is a difference."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import PATIENCE, all_gone, config, processes, read_journal, stdio, until

Write = Callable[[Path, str], object]


def rename(file: Path, text: str) -> None:
    """As most editors do it."""
    fresh = file.with_name(".fresh")
    fresh.write_text(text)
    fresh.replace(file)


def write_in_place(file: Path, text: str) -> None:
    file.write_text(text)


@pytest.fixture
def journals(tmp_path: Path) -> dict[str, Path]:
    return {name: tmp_path / f"{name}.jsonl" for name in "abc"}


@pytest.fixture
def file(tmp_path: Path, journals: dict[str, Path]) -> Path:
    (tmp_path / "config").mkdir()
    file = tmp_path / "config" / "servers.json"
    file.write_text(json.dumps(config(a=stdio(journal=journals["a"]))))
    return file


@pytest.fixture
def manager(file: Path) -> Iterator[mcpool.blocking.Manager]:
    """A manager that follows the file."""
    with mcpool.blocking.Manager.from_file(file, watch=True, pool=mcpool.Pool()) as manager:
        manager.connect_all()
        yield manager


def states(manager: mcpool.blocking.Manager) -> dict[str, str]:
    return {status.name: status.state for status in manager.status()}


def told(events: mcpool.blocking.Events, kind: str) -> dict[str, Any]:
    """What the next event of this type says."""
    for event in events:
        if event.type == kind:
            return event.data
    raise AssertionError(f"there was no event {kind}")


def test_a_reload_leaves_what_is_the_same_to_its_calls(journals: dict[str, Path], tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.write_text("hold")
    a, b, c = (stdio("--hold", f"tools/call={gate}", journal=journals[name]) for name in "abc")

    async def main() -> None:
        async with mcpool.Manager(config(a=a, b=b), pool=mcpool.Pool()) as manager:
            events = manager.events()
            await manager.connect_all()
            call = asyncio.create_task(manager.call_tool("a", "echo", {"text": "held"}))
            assert await asyncio.to_thread(
                until, lambda: any(entry.get("tool") == "echo" for entry in read_journal(journals["a"]))
            )
            changed = {**b, "env": {"NEW": "1"}}
            report = await manager.reload(config(a=a, b=changed, c=c))
            assert not call.done()
            assert (report.added, report.removed, report.restarted) == (["c"], [], ["b"])
            assert (report.updated, report.unchanged) == ([], ["a"])
            assert sorted(report.connect.connected) == ["b", "c"]
            report = await manager.reload(config(a={**a, "toolTimeout": 5000}, c=c))
            assert (report.removed, report.updated, report.unchanged) == (["b"], ["a"], ["c"])
            assert not call.done()
            gate.write_text("go")
            assert (await call).text == "held"
            assert [status.name for status in manager.status()] == ["a", "c"]
            changes = []
            async for event in events:
                if event.type == "config_changed":
                    assert event.server == ""
                    changes.append(event.data)
                if len(changes) == 2:
                    break
            assert [change["removed"] for change in changes] == [[], ["b"]]

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert [len(processes(journals[name])) for name in "abc"] == [1, 2, 1]
    assert all_gone(*journals.values())


def test_a_reload_reads_the_file_again(file: Path, journals: dict[str, Path]) -> None:
    with mcpool.blocking.Manager.from_file(str(file), pool=mcpool.Pool()) as manager:
        assert manager.connect_all().connected == ["a"]
        servers = config(a=stdio(journal=journals["a"]), b=stdio(journal=journals["b"]))
        file.write_text(json.dumps(servers))
        report = manager.reload()
        assert (report.added, report.unchanged, report.connect.connected) == (["b"], ["a"], ["b"])
        file.write_text("{")
        with pytest.raises(mcpool.ConfigInvalidError, match=r"servers\.json:1"):
            manager.reload()
        assert states(manager) == {"a": "connected", "b": "connected"}
    assert all_gone(*(journals[name] for name in "ab"))


def test_a_result_is_shown_as_at_the_time_of_its_call() -> None:
    with mcpool.blocking.Manager(config(a=stdio(maxResultChars=20)), pool=mcpool.Pool()) as manager:
        manager.connect_all()
        result = manager.call_tool("a", "echo", {"text": "x" * 30})
        assert manager.reload(config(a=stdio(maxResultChars=50))).updated == ["a"]
        assert f"\n{'x' * 20}\n… (output truncated at 20 chars" in result.for_model()


def test_a_manager_without_a_file_has_nothing_to_read_again() -> None:
    with mcpool.blocking.Manager(config()) as manager:
        with pytest.raises(mcpool.ConfigInvalidError) as refused:
            manager.reload()
        assert refused.value.hint is not None
        with pytest.raises(mcpool.ConfigInvalidError):
            manager.reload("{")


def test_a_file_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    for manager in (mcpool.Manager, mcpool.blocking.Manager):
        with pytest.raises(mcpool.ConfigIoError):
            manager.from_file(tmp_path / "none.json", watch=True)


@pytest.mark.parametrize("write", [rename, write_in_place])
def test_a_watched_file_is_followed(
    manager: mcpool.blocking.Manager, file: Path, journals: dict[str, Path], write: Write
) -> None:
    events = manager.events(timeout=PATIENCE)
    write(file, json.dumps(config(a=stdio(journal=journals["a"]), b=stdio(journal=journals["b"]))))
    assert told(events, "config_changed")["added"] == ["b"]
    assert until(lambda: states(manager) == {"a": "connected", "b": "connected"})
    write(file, json.dumps(config(b=stdio(journal=journals["b"]))))
    assert told(events, "config_changed")["removed"] == ["a"]
    assert manager.call_tool("b", "echo", {"text": "x"}).text == "x"
    assert all_gone(journals["a"])
    assert len(processes(journals["b"])) == 1


@pytest.mark.parametrize("write", [rename, write_in_place])
def test_a_watched_file_that_cannot_be_used_changes_nothing(
    manager: mcpool.blocking.Manager, file: Path, journals: dict[str, Path], write: Write
) -> None:
    good = file.read_text()
    events = manager.events(timeout=PATIENCE)
    write(file, good[:-1])
    log = told(events, "log")
    assert (log["origin"], log["level"]) == ("mcpool", "warning") and "servers.json" in log["data"]
    file.unlink()
    assert told(events, "log")["level"] == "warning"
    assert manager.call_tool("a", "echo", {"text": "x"}).text == "x"
    write(file, json.dumps(config(a=stdio(journal=journals["a"]), c=stdio(journal=journals["c"]))))
    assert told(events, "config_changed")["added"] == ["c"]
    assert len(processes(journals["a"])) == 1


def tasks() -> set[str]:
    return set(os.listdir("/proc/self/task"))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_manager_that_closes_stops_watching(file: Path) -> None:
    def watch() -> mcpool.blocking.Manager:
        return mcpool.blocking.Manager.from_file(file, watch=True, pool=mcpool.Pool())

    def watches() -> bool:
        return any("notify" in name for name in thread_names())

    with watch():  # Whatever a process needs once is there then.
        assert until(watches)
    assert until(lambda: not watches())
    threads, before = tasks(), descriptors()
    python = threading.active_count()
    manager = watch()
    manager.connect_all()
    assert until(watches) and descriptors() > before
    manager.close()
    assert until(lambda: tasks() <= threads and descriptors() <= before)
    forgotten = watch()
    assert descriptors() > before
    del forgotten
    assert until(lambda: tasks() <= threads and descriptors() <= before)
    assert threading.active_count() == python


def thread_names() -> list[str]:
    names = []
    for task in tasks():
        try:
            names.append(Path(f"/proc/self/task/{task}/comm").read_text())
        except OSError:
            continue  # It has just ended.
    return names
