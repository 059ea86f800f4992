"""Under gevent, verbs of `mcpool.blocking` yield to the hub; under eventlet, nothing hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from fixture_server import PATIENCE, all_gone, read_journal, until

HEAD = """
from gevent import monkey; monkey.patch_all()
import sys
from pathlib import Path
import gevent
import mcpool
from mcpool import blocking
from fixture_server import config, lives, read_journal, stdio, until
journal = Path(sys.argv[1])
def manager(*knobs, **options):
    return blocking.Manager(config(a=stdio(*knobs, journal=journal)), cache_dir=False, **options)
def has(**entry):
    return any(entry.items() <= found.items() for found in read_journal(journal))
"""
PATCH = "from gevent import monkey; monkey.patch_all()\nimport sys"
GREEN = "import eventlet; eventlet.monkey_patch(); import eventlet.tpool\nimport sys"
EVENTLET = HEAD.replace(PATCH, GREEN).replace("import gevent\n", "")


def start(script: str, journal: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", script, str(journal)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def ran(script: str, tmp_path: Path) -> list[str]:
    """Runs a script to its end and returns the lines that it printed; its servers must be gone."""
    journal = tmp_path / "journal.jsonl"
    process = start(script, journal)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert all_gone(journal)
    return out.splitlines()


def test_a_waiting_call_lets_other_greenlets_run_and_ends_with_its_greenlet(tmp_path: Path) -> None:
    script = """
with manager() as m:
    assert m.connect_all().connected == ["a"]
    slow = gevent.spawn(m.call_tool, "a", "sleep", {"ms": 600_000}, timeout=600)
    assert until(lambda: has(event="ran", tool="sleep"))
    many = [gevent.spawn(m.call, "mcp_a_echo", {"text": str(n)}) for n in range(50)]
    print([greenlet.get().text for greenlet in many] == [str(n) for n in range(50)], slow.ready())
    slow.kill()
    print(until(lambda: has(event="cancelled")), type(slow.value).__name__)
    print(m.call_tool("a", "echo", {"text": "still up"}).text, "asyncio" in sys.modules)
"""
    assert ran(HEAD + script, tmp_path) == ["True False", "True GreenletExit", "still up False"]


def test_a_timeout_of_gevent_ends_a_call(tmp_path: Path) -> None:
    script = """
with manager() as m:
    m.connect_all()
    try:
        with gevent.Timeout(0.2):
            m.call_tool("a", "sleep", {"ms": 600_000}, timeout=600)
    except gevent.Timeout:
        print("over", until(lambda: has(event="cancelled")))
    try:
        m.call_tool("a", "sleep", {"ms": 600_000}, timeout=0.1)
    except mcpool.ToolTimeoutError as error:
        print(error.code)
"""
    assert ran(HEAD + script, tmp_path) == ["over True", "TOOL_TIMEOUT"]


def test_log_records_are_handled_in_a_greenlet_also_the_last_ones(tmp_path: Path) -> None:
    script = """
import logging
class Handler(logging.Handler):
    def emit(self, record):
        gevent.sleep(0)  # A handler may yield.
        seen.add(record.server)
        if record.server == "last": print("the last one", flush=True)
seen = set()
logging.basicConfig(level=logging.INFO, handlers=[Handler()])
def fail(name):
    blocking.Manager(config(**{name: {"command": "/nonexistent"}}), cache_dir=False).connect_all()
with manager() as m:
    m.connect_all()
    fail("first")
    print(until(lambda: "first" in seen))
fail("last")
"""
    lines = ran(HEAD + script, tmp_path)
    assert lines[0] == "True" and set(lines[1:]) == {"the last one"}


def test_questions_and_progress_are_answered_in_the_greenlet_of_the_call(tmp_path: Path) -> None:
    script = """
def approve(question):
    gevent.sleep(0.01)
    asked.append(gevent.getcurrent())
    return question.tool != "add"
asked, told = [], []
with manager(on_approval=approve) as m:
    m.connect_all()
    call = gevent.spawn(m.call_tool, "a", "progress", {"steps": 3, "ms": 1}, on_progress=told.append)
    call.get()
    print([progress.progress for progress in told], asked == [call])
    try:
        m.call_tool("a", "add", {"a": 1, "b": 2})
    except mcpool.NotApprovedError:
        print("refused")
"""
    assert ran(HEAD + script, tmp_path) == ["[1.0, 2.0, 3.0] True", "refused"]


def test_events_and_threads_are_greenlets(tmp_path: Path) -> None:
    script = """
import threading
with manager() as m:
    states = []
    def follow():
        states.extend(event.data["state"] for event in events if event.type == "status")
    events = m.events()
    thread = threading.Thread(target=follow)
    thread.start()
    m.connect_all()
    in_pool = gevent.get_hub().threadpool.apply(m.call_tool, ("a", "echo", {"text": "a real thread"}))
    print(in_pool.text)
thread.join()
print(states[:2])
"""
    assert ran(HEAD + script, tmp_path) == ["a real thread", "['connecting', 'connected']"]


def test_announced_tools_are_awaited_without_stopping_the_hub(tmp_path: Path) -> None:
    script = """
ticks = []
def tick():
    while True:
        gevent.sleep(0.001)
        ticks.append(1)
with manager("--slow", "tools/list=200") as m:
    m.connect_all()
    m.call_tool("a", "change_tools", {"name": "late"})
    gevent.spawn(tick)
    print("mcp_a_late" in m.get_tools(), len(ticks) > 0)
"""
    assert ran(HEAD + script, tmp_path) == ["True True"]


def test_an_open_manager_does_not_keep_the_hub_busy(tmp_path: Path) -> None:
    script = """
m = manager()
m.connect_all()
print(gevent.wait(timeout=60))
"""
    assert ran(HEAD + script, tmp_path) == ["True"]


def test_a_forked_child_has_its_own_manager(tmp_path: Path) -> None:
    script = """
import os
m = manager()
m.connect_all()
child = os.fork()
if child == 0:
    try:
        m.call_tool("a", "echo", {"text": "x"})
    except mcpool.ClosedError:
        with manager() as own:
            own.connect_all()
            print(own.call_tool("a", "echo", {"text": "in the child"}).text, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(m.call_tool("a", "echo", {"text": "in the parent"}).text)
m.close()
"""
    assert ran(HEAD + script, tmp_path) == ["in the child", "in the parent"]


def test_ctrl_c_ends_a_waiting_call(tmp_path: Path) -> None:
    script = """
with manager() as m:
    m.connect_all()
    try:
        m.call_tool("a", "sleep", {"ms": 600_000}, timeout=600)
    except KeyboardInterrupt:
        print("interrupted", until(lambda: has(event="cancelled")))
"""
    journal = tmp_path / "journal.jsonl"
    process = start(HEAD + script, journal)
    asked = {"event": "ran", "tool": "sleep"}
    assert until(lambda: any(asked.items() <= entry.items() for entry in read_journal(journal)))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert out.splitlines() == ["interrupted True"], err
    assert all_gone(journal)


def test_greenlets_without_patches_yield_too(tmp_path: Path) -> None:
    script = """
with manager() as m:
    m.connect_all()
    slow = gevent.spawn(m.call_tool, "a", "sleep", {"ms": 600_000}, timeout=600)
    gevent.sleep(0)
    print(gevent.spawn(m.call_tool, "a", "echo", {"text": "meanwhile"}).get().text)
    slow.kill()
"""
    unpatched = HEAD.replace(PATCH, "import sys")
    assert ran(unpatched + script, tmp_path) == ["meanwhile"]


def test_under_eventlet_nothing_hangs_and_records_arrive(tmp_path: Path) -> None:
    script = """
import logging
seen = []
class Handler(logging.Handler):
    def emit(self, record):
        seen.append(record)
logging.basicConfig(level=logging.INFO, handlers=[Handler()])
blocking.Manager(config(b={"command": "/nonexistent"}), cache_dir=False).connect_all()
with manager() as m:
    m.connect_all()
    print(m.call_tool("a", "echo", {"text": "one"}).text)
    print(eventlet.tpool.execute(m.call_tool, "a", "echo", {"text": "in a thread"}).text)
    print(until(lambda: seen))
"""
    assert ran(EVENTLET + script, tmp_path) == ["one", "in a thread", "True"]
