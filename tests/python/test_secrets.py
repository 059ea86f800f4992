"""A secret of a definition is nowhere but with its server: not in anything that is said or shown.

What a tool answers, and how a server describes its tools, are the server's own words and are not looked at.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import traceback
from pathlib import Path

import mcpool
import mcpool.blocking
import pytest
from fixture_server import until
from marker_world import Heard, MarkerWorld, marker_world

FILES = [".config/mcpool/mcp.json", ".cursor/mcp.json", ".codex/config.toml", ".continue/config.yaml"]
BAD = [
    {"url": "https://me:swordfish@h/", "command": "swordfish", "headers": {"A": "swordfish"}},
    {"command": ["swordfish"]},
    {"command": "x", "env": "swordfish"},
    {"url": "swordfish"},
]
CALLS = [
    ("log", {"level": "info", "text": "it is {}"}),
    ("rpc_error", {"code": -32000, "message": "it is {}"}),
    ("no_such_tool", {}),
    ("exit", {"code": 3}),
]


def error_of(heard: Heard, place: str, error: BaseException) -> None:
    heard.show(place, error)
    heard.say(f"{place}, its trace", "".join(traceback.format_exception(error)))
    if isinstance(error, mcpool.McpoolError):
        heard.say(f"{place}, its parts", f"{vars(error)!r} {error.__cause__!r}")
        heard.say(f"{place}, pickled", str(pickle.dumps(error)))


class Listening(logging.Handler):
    """Every record, formatted as logging would."""

    def __init__(self, heard: Heard) -> None:
        super().__init__(level=1)
        self.heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.say(f"log {record.name}", f"{self.format(record)} {record.__dict__!r}")


async def call(manager: mcpool.Manager, heard: Heard, server: str) -> None:
    # What another server was given is no secret of this one.
    secret = "swordfish-work" if server == "works" else "nothing"
    for tool, arguments in CALLS:
        filled = {
            key: value.format(secret) if isinstance(value, str) else value for key, value in arguments.items()
        }
        try:
            await manager.call_tool(server, tool, filled, timeout=20)
        except mcpool.McpoolError as error:
            error_of(heard, f"calling {tool} of {server}", error)


async def live(world: MarkerWorld, heard: Heard) -> None:
    found = await mcpool.discover(**world.where)
    heard.show("discovery", found)
    assert found.native["exa"][0].expose() == "swordfish-exa"
    heard.show("native", copy.deepcopy(found.native))
    with pytest.raises(TypeError):
        pickle.dumps(found.native)
    heard.say("discovery, pickled", str(pickle.dumps(found._replace(native={}))))

    asked = []

    def trust(question: mcpool.TrustQuestion) -> bool:
        asked.append(question)
        return False

    options = {**world.where, "pool": mcpool.Pool(), "cache_dir": world.home / "cache", "trust": trust}
    async with mcpool.Manager.discover(**options) as manager:
        events = manager.events()
        report = await manager.connect_all()
        heard.show("report", report)
        assert "talks" in report.connected
        heard.say("report, pickled", str(pickle.dumps(report)))
        for name in found.servers:
            for attempt in (manager.connect(name), manager.wait_for(name, 0.05)):
                try:
                    await attempt
                except mcpool.McpoolError as error:
                    error_of(heard, f"connecting {name}", error)
            await call(manager, heard, name)
        heard.show("manager", manager)
        heard.show("warnings", manager.warnings)
        heard.show("discovery of the manager", manager.discovery)
        for status in manager.status():
            heard.show(f"status of {status.name}", status)
            heard.say(f"status of {status.name}, pickled", str(pickle.dumps(status)))
    async for event in events:
        heard.show("event", event)
        heard.say("event, pickled", str(pickle.dumps(event)))
    assert asked
    heard.show("question", asked)


def test_no_secret_is_in_anything_that_is_said(tmp_path: Path) -> None:
    heard = Heard()
    logger = logging.getLogger("mcpool")
    before, handler = logger.level, Listening(heard)
    logger.addHandler(handler)
    logger.setLevel(1)
    try:
        with marker_world(tmp_path) as world:
            asyncio.run(live(world, heard))
            world.check_arrivals()
            written = world.written()
            assert any("cache" in file for file in written)
            for file, text in written.items():
                heard.say(file, text)
        assert until(lambda: "not a message" in heard.all())
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
    for sign in ("exited with code 3", "stderr:", "401", "500", "redirects", "***"):
        assert sign in heard.all(), sign
    heard.check()


def test_no_secret_is_in_what_is_wrong_with_a_config(tmp_path: Path) -> None:
    heard = Heard()
    with marker_world(tmp_path) as world:
        for path in FILES:
            file = world.home / path
            for make in (mcpool.Manager.from_file, mcpool.blocking.Manager.from_file):
                try:
                    manager = make(file, host_env=world.host_env, pool=mcpool.Pool())
                    heard.show(path, manager)
                    heard.show(path, manager.status())
                    heard.show(path, manager.warnings)
                except mcpool.McpoolError as error:
                    error_of(heard, path, error)
            try:
                heard.show(path, mcpool.Manager(file.read_text()))
            except mcpool.McpoolError as error:
                error_of(heard, path, error)
        for given in BAD:
            with pytest.raises(mcpool.McpoolError) as caught:
                asyncio.run(mcpool.config.add("x", given, file=tmp_path / "new.json"))
            error_of(heard, "adding", caught.value)
        for env in ("swordfish", {"A": ["swordfish"]}):
            with pytest.raises((mcpool.McpoolError, TypeError)) as failed:
                asyncio.run(mcpool.discover(host_env={"env": env}))  # type: ignore[typeddict-item]
            error_of(heard, "host_env", failed.value)
    heard.check()
