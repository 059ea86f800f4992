"""Log records go where the program's own go: to `logging`, and nowhere else."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import mcpool
import mcpool.blocking
import pytest
from fixture_server import PROGRAM, config, stdio, until, web

HEAD = """
import logging, os, sys, threading, time
import mcpool.blocking

program = sys.argv[1]

def servers(**knobs):
    return {"mcpServers": {name: {"command": program, "args": ["stdio", *of]} for name, of in knobs.items()}}
"""

GONE = {"command": "no-such-program", "restart": "never"}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


class Memory(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def of(self, name: str, level: int) -> list[str]:
        found = [record for record in self.records if record.name == name and record.levelno == level]
        return [record.getMessage() for record in found]

    def text(self) -> str:
        return "\n".join(f"{record.getMessage()} {vars(record)}" for record in self.records)


@pytest.fixture
def memory() -> Iterator[Memory]:
    """What reaches the logger of the package, which is as loud as it is without any setting."""
    logger = logging.getLogger("mcpool")
    handler = Memory()
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("mcpool")]:
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a script in an interpreter of its own."""

    def begin(script: str, **env: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "host.py"
        file.write_text(HEAD + textwrap.dedent(script))
        path = str(Path(mcpool.__file__).parents[1])
        clean = {name: value for name, value in os.environ.items() if name != "MCPOOL_LOG"}
        return subprocess.run(
            [sys.executable, str(file), str(PROGRAM)],
            env={**clean, "PYTHONPATH": path, **env},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return begin


def connect(servers: dict[str, object]) -> None:
    with mcpool.blocking.Manager(servers) as manager:
        manager.connect_all()


def test_a_server_that_fails_is_an_error_of_its_own_logger(memory: Memory) -> None:
    before = time.time()
    once = {"restart": "never"}
    connect(
        config(gone={"command": "no-such-program", **once}, ill=stdio("--exit-at", "initialize:7", **once))
    )
    assert until(lambda: len(memory.records) == 2)
    (gone,) = memory.of("mcpool.server.gone", logging.ERROR)
    (ill,) = memory.of("mcpool.server.ill", logging.ERROR)
    assert "no-such-program" in gone and "code 7" in ill
    record = memory.records[0]
    assert record.__dict__["server"] in ("gone", "ill")
    assert before - 0.001 <= record.created <= time.time()
    assert record.threadName == "mcpool-logs"


def test_a_warning_of_the_config_concerns_no_server(memory: Memory) -> None:
    mcpool.Manager(config(a=stdio(colour="blue")))
    assert until(lambda: memory.of("mcpool", logging.WARNING))
    assert "colour" in memory.of("mcpool", logging.WARNING)[0]
    assert memory.records[0].__dict__["server"] is None


def test_stderr_of_a_server_is_logged_at_debug(memory: Memory) -> None:
    logging.getLogger("mcpool").setLevel(logging.DEBUG)
    connect(config(a=stdio("--stderr", "50% \x1b[31mdone", "--stderr", "ready")))
    expected = ["50% \\u{1b}[31mdone", "ready"]
    assert until(lambda: memory.of("mcpool.server.a", logging.DEBUG)[:2] == expected)


LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.ERROR,
    "alert": logging.ERROR,
    "emergency": logging.ERROR,
}


def test_what_a_server_logs_has_its_level(memory: Memory) -> None:
    logging.getLogger("mcpool").setLevel(logging.DEBUG)
    with mcpool.blocking.Manager(config(a=stdio())) as manager:
        manager.connect_all()
        for level in LEVELS:
            manager.call_tool("a", "log", {"level": level, "text": f"it is {level}"})
        for level, ours in LEVELS.items():
            expected = f"fixture: it is {level}"
            assert until(lambda: expected in memory.of("mcpool.server.a", ours)), level  # noqa: B023


def test_what_a_server_logs_is_bounded_and_harmless(memory: Memory) -> None:
    secret = {"env": {"SECRET_OF_A": "hunter2-hunter2"}}
    with mcpool.blocking.Manager(config(a=stdio(**secret))) as manager:
        manager.connect_all()
        words = "\x1b[2J hunter2-hunter2 " + "x" * 1_000_000
        manager.call_tool("a", "log", {"level": "error", "text": words})
        assert until(lambda: memory.of("mcpool.server.a", logging.ERROR))
    (line,) = memory.of("mcpool.server.a", logging.ERROR)
    assert line.startswith("fixture: \\u{1b}[2J *** xxx") and len(line) < 5000


def test_what_a_server_logs_below_the_level_is_not_made(memory: Memory) -> None:
    with mcpool.blocking.Manager(config(a=stdio())) as manager:
        manager.connect_all()
        for level in ("debug", "info", "warning"):
            manager.call_tool("a", "log", {"level": level, "text": level})
        assert until(lambda: memory.records)
    assert [record.getMessage() for record in memory.records] == ["fixture: warning"]


def test_stderr_of_a_server_is_not_logged_above_debug(memory: Memory) -> None:
    logging.getLogger("mcpool").setLevel(logging.INFO)
    connect(config(a=stdio("--stderr", "quiet please"), gone=GONE))
    assert until(lambda: memory.of("mcpool.server.gone", logging.ERROR))
    assert "quiet please" not in memory.text()


def test_one_servers_logger_can_be_louder_than_the_others(memory: Memory) -> None:
    logging.getLogger("mcpool.server.a").setLevel(logging.DEBUG)
    connect(config(a=stdio("--stderr", "of a"), b=stdio("--stderr", "of b")))
    assert until(lambda: "of a" in memory.of("mcpool.server.a", logging.DEBUG))
    assert memory.of("mcpool.server.b", logging.DEBUG) == []


def test_a_level_that_is_set_later_counts_from_the_next_connect_all(memory: Memory) -> None:
    with mcpool.blocking.Manager(config(a=stdio("--stderr", "hello"))) as manager:
        logging.getLogger("mcpool").setLevel(logging.DEBUG)
        manager.connect_all()
        assert until(lambda: "hello" in memory.of("mcpool.server.a", logging.DEBUG))


def test_logging_that_is_disabled_is_silent(memory: Memory) -> None:
    logging.disable(logging.ERROR)
    try:
        connect(config(gone=GONE))
    finally:
        logging.disable(logging.NOTSET)
    connect(config(later=GONE))
    assert until(lambda: memory.of("mcpool.server.later", logging.ERROR))
    assert memory.of("mcpool.server.gone", logging.ERROR) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_handler_that_raises_costs_only_its_own_record(memory: Memory) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise SystemExit("on purpose") if "first" in record.name else LookupError("on purpose")

    raised: list[type[BaseException]] = []
    before, threading.excepthook = threading.excepthook, lambda args: raised.append(args.exc_type)
    logger, broken = logging.getLogger("mcpool.server"), Broken()
    logger.addHandler(broken)
    try:
        connect(config(first=GONE))
        connect(config(second=GONE))
        assert until(lambda: raised == [SystemExit, LookupError])
    finally:
        logger.removeHandler(broken)
        threading.excepthook = before
    connect(config(third=GONE))
    assert until(lambda: memory.of("mcpool.server.third", logging.ERROR))


def test_no_secret_is_in_the_records(memory: Memory) -> None:
    logging.getLogger("mcpool").setLevel(1)
    with web("--status", "401") as refusing, web() as url:
        headers = {"Authorization": "Bearer hunter2"}
        servers = config(
            a=stdio("--stderr", "up", env={"TOKEN": "hunter2"}),
            ill=stdio("--exit-at", "initialize:7", env={"TOKEN": "hunter2"}),
            gone={"command": "no-such-program", "env": {"TOKEN": "hunter2"}},
            odd={"command": "x", "env": {"TOKEN": ["hunter2"]}},
            web={"url": url + "?api_key=hunter2", "headers": headers},
            refused={"url": refusing.replace("//", "//me:hunter2@"), "headers": headers},
            dead={"url": "http://me:hunter2@127.0.0.1:9/?token=hunter2", "headers": headers},
            unsendable={"url": url, "headers": {"X": "hunter2\n"}},
        )
        with mcpool.blocking.Manager(servers) as manager:
            report = manager.connect_all()
            assert set(report.connected) == {"a", "web"}
            manager.call_tool("a", "echo", {"text": "x"})
            failed = {"ill", "gone", "refused", "dead", "unsendable"}
            assert until(
                lambda: (
                    failed
                    == {
                        record.__dict__["server"]
                        for record in memory.records
                        if record.levelno == logging.ERROR
                    }
                )
            )
    assert "hunter2" not in memory.text()


def test_nothing_is_printed_by_itself(run: Run) -> None:
    ran = run("""
        mixed = servers(a=["--stderr", "x"], ill=["--exit-at", "initialize:7"])
        with mcpool.blocking.Manager(mixed) as manager:
            report = manager.connect_all()
            assert list(report.failed) == ["ill"], report
    """)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_variable_brings_the_records_to_stderr(run: Run) -> None:
    script = """
        with mcpool.blocking.Manager(servers(a=["--stderr", "from a"])) as manager:
            manager.connect_all()
    """
    ran = run(script, MCPOOL_LOG="debug")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert any(line.endswith("Z DEBUG a: from a") for line in ran.stderr.splitlines()), ran.stderr
    ran = run(script, MCPOOL_LOG="loud")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == 'MCPOOL_LOG is "loud"; it may be error, warn, info, debug, trace\n'


@pytest.mark.parametrize("time", range(10))
def test_the_last_records_before_the_exit_are_delivered(run: Run, time: int) -> None:
    ran = run("""
        import mcpool._logs
        mcpool._logs._FAREWELL = 60  # For a machine that is busy with other things.
        layout = "%(levelname)s %(name)s %(message)s"
        logging.basicConfig(stream=sys.stdout, level=logging.DEBUG, format=layout)
        manager = mcpool.blocking.Manager(servers(a=["--stderr", "x"], ill=["--exit-at", "initialize:7"]))
        manager.connect_all()
    """)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "ERROR mcpool.server.ill attempt 1 failed" in ran.stdout


def test_a_flood_of_records_ends_with_the_interpreter(run: Run) -> None:
    for _ in range(5):
        ran = run("""
            logging.basicConfig(stream=open(os.devnull, "w"), level=logging.DEBUG)
            manager = mcpool.blocking.Manager(servers(a=["--stderr-flood", "3000000"]))
            manager.connect_all()
            for _ in range(2):
                manager.call_tool("a", "echo", {"text": "x"})
        """)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_handler_that_hangs_does_not_hold_up_the_exit(run: Run) -> None:
    # Those who run it wait for less than the handler does.
    ran = run("""
        stuck = threading.Event()

        class Stuck(logging.Handler):
            def handle(self, record):  # Not in `emit`: its lock would stop the shutdown of `logging` itself.
                stuck.set()
                time.sleep(600)

        logging.getLogger("mcpool").addHandler(Stuck())
        mcpool.blocking.Manager(servers(ill=["--exit-at", "initialize:7"])).connect_all()
        assert stuck.wait(60)
    """)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_manager_made_at_exit_is_a_manager(run: Run) -> None:
    ran = run("""
        import atexit

        atexit.register(lambda: print(mcpool.blocking.Manager(servers(a=[])).status()[0].state))
    """)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "idle\n", "")


def test_a_forked_child_logs_for_itself(run: Run) -> None:
    ran = run("""
        import warnings
        import mcpool._logs
        mcpool._logs._FAREWELL = 60  # For a machine that is busy with other things.
        warnings.simplefilter("ignore", DeprecationWarning)
        logging.basicConfig(stream=sys.stdout, format=f"%(process)d %(message)s")

        def make():
            odd = servers(a=[])
            odd["mcpServers"]["a"]["colour"] = "blue"
            mcpool.blocking.Manager(odd)

        make()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                if _ % 2:
                    make()
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
        print(os.getpid())
    """)
    assert (ran.returncode, ran.stderr) == (0, "")
    *told, parent = ran.stdout.splitlines()
    processes = [line.split()[0] for line in told if "colour" in line]
    assert len(processes) == len(set(processes)) == 11 and parent in processes


def test_one_thread_serves_all_managers(run: Run) -> None:
    ran = run("""
        managers = [mcpool.blocking.Manager(servers()) for _ in range(5)]
        print([thread.name for thread in threading.enumerate()])
    """)
    assert ran.stdout == "['MainThread', 'mcpool-logs']\n", ran.stderr
