"""Finding the servers that the user has, without standing in anybody's way."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import stdio
from user_home import UserHome

PATIENCE = 20


@pytest.fixture
def home(tmp_path: Path) -> UserHome:
    return UserHome(tmp_path)


def where(home: UserHome) -> dict[str, Any]:
    return {"cwd": home.project, "host_env": home.host_env}


def test_what_is_found_is_typed(home: UserHome) -> None:
    home.user(a=stdio(env={"TOKEN": "t-1"}), bad={"type": "pigeon"})
    home.of_project(a={"url": "http://localhost:1/"})
    found = asyncio.run(mcpool.discover(**where(home)))
    assert isinstance(found, mcpool.Discovery)
    server = found.servers["a"]
    assert isinstance(server, mcpool.FoundServer)
    assert isinstance(server.source, mcpool.Source) and server.source.provider == "cursor"
    assert [shadow.level for shadow in server.shadows] == ["project"]
    assert server.enabled is True and server.error is None and server.direct is None
    assert isinstance(found.servers["bad"].error, mcpool.ConfigInvalidError)
    assert [type(file) for file in found.files] == [mcpool.FoundFile, mcpool.FoundFile]
    assert found.errors == [] and found.native == {}


def test_the_blocking_twin_finds_the_same(home: UserHome) -> None:
    home.user(a=stdio())
    assert mcpool.blocking.discover(**where(home)) == asyncio.run(mcpool.discover(**where(home)))


def test_a_manager_is_awaited_or_entered(home: UserHome) -> None:
    home.user(a=stdio())

    async def main() -> None:
        async with mcpool.Manager.discover(**home.options) as manager:
            assert (await manager.connect_all()).connected == ["a"]
            assert manager.discovery is not None and list(manager.discovery.servers) == ["a"]
        with pytest.raises(mcpool.ClosedError):
            await manager.connect_all()
        awaited = await mcpool.Manager.discover(**home.options)
        assert isinstance(awaited, mcpool.Manager)
        await awaited.close()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_asking_for_a_manager_needs_no_loop_yet(home: UserHome) -> None:
    coming = mcpool.Manager.discover(**home.options)

    async def main() -> None:
        async with coming as manager:
            assert manager.discovery is not None

    asyncio.run(main())


def test_a_subclass_is_made_by_discovery_too(home: UserHome) -> None:
    class Mine(mcpool.Manager):
        pass

    class MineToo(mcpool.blocking.Manager):
        pass

    async def main() -> None:
        async with Mine.discover(**home.options) as manager:
            assert type(manager) is Mine

    asyncio.run(main())
    with MineToo.discover(**home.options) as manager:
        assert type(manager) is MineToo


def test_a_manager_made_otherwise_has_no_discovery() -> None:
    assert mcpool.Manager({"mcpServers": {}}).discovery is None


def test_discovery_does_not_block_the_loop(home: UserHome) -> None:
    # Much to read: the loop would stand still for as long as that takes.
    bulk = {f"server-{number}": {"command": "x", "args": ["y" * 2000]} for number in range(1500)}
    home.user(**bulk)
    gaps: list[float] = []

    async def tick() -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0)
            gaps.append(loop.time() - before)

    async def main() -> None:
        ticking = asyncio.create_task(tick())
        for _ in range(10):
            await asyncio.sleep(0)
        gaps.clear()
        manager = await mcpool.Manager.discover(**home.options)
        turns = len(gaps)
        ticking.cancel()
        assert len(manager.status()) == 1500
        # It went on turning while the files were read.
        assert turns > 10
        await manager.close()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_a_discovery_that_nobody_waits_for_any_more_is_given_up(home: UserHome) -> None:
    async def main() -> None:
        making = asyncio.ensure_future(mcpool.discover(**where(home)))
        await asyncio.sleep(0)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


@pytest.mark.parametrize(
    "options",
    [{"mcp_remote": "maybe"}, {"exclude": "a*"}, {"project_config": "no"}, {"host_env": {"planet": "x"}}],
)
def test_an_option_that_means_nothing_is_refused(options: dict[str, Any], home: UserHome) -> None:
    given = {**where(home), **options}
    with pytest.raises(mcpool.ConfigInvalidError):
        asyncio.run(mcpool.discover(**given))
    with pytest.raises(mcpool.ConfigInvalidError):
        mcpool.blocking.discover(**given)
    with pytest.raises(mcpool.ConfigInvalidError):
        mcpool.blocking.Manager.discover(**given)


def test_keys_of_native_servers_are_secrets(home: UserHome) -> None:
    home.user(exa={"url": "https://mcp.exa.ai/mcp?exaApiKey=k-123"})
    found = mcpool.blocking.discover(native=["exa"], **where(home))
    (key,) = found.native["exa"]
    assert isinstance(key, mcpool.Secret)
    assert key.expose() == "k-123"
    for shown in (repr(found), str(key), f"{key}", repr(key), "%s" % key, json.dumps(found, default=str)):  # noqa: UP031
        assert "k-123" not in shown and "***" in shown
    assert key == mcpool.Secret("k-123") and key != "k-123"
    assert copy.deepcopy(found) == found
    with pytest.raises(TypeError):
        pickle.dumps(key)
