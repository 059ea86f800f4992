"""The callback that signs in: in either kind of manager, plain or async, and when it fails."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, read_journal, until, web
from person import get, load

PATIENCE = 30


def options(home: Path, **more: Any) -> dict[str, Any]:
    host_env: mcpool.HostEnv = {"env": {}, "home": str(home)}
    return {"pool": mcpool.Pool(), "cache_dir": False, "host_env": host_env, **more}


def bounded(coroutine: Any) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


def count(journal: Path, **fields: str) -> int:
    """How many entries of a journal have these values."""
    return sum(fields.items() <= entry.items() for entry in read_journal(journal))


def redirected(prompt: mcpool.AuthPrompt) -> str | None:
    return load(prompt.url, follow=False).location


def test_a_blocking_manager_asks_on_the_callers_thread(tmp_path: Path) -> None:
    with (
        web("--oauth") as url,
        mcpool.blocking.Manager(config(a={"url": url}), **options(tmp_path, on_auth=redirected)) as manager,
    ):
        assert manager.connect_all().connected == ["a"]
        assert manager.call_tool("a", "echo", {"text": "hi"}).text == "hi"
        manager.forget_auth("a")
        manager.authorize("a")
        assert manager.status()[0].state == "connected"


def test_a_blocking_manager_can_be_completed(tmp_path: Path) -> None:
    with (
        web("--oauth") as url,
        mcpool.blocking.Manager(config(a={"url": url}), **options(tmp_path)) as manager,
    ):
        error = manager.connect_all().failed["a"]
        assert isinstance(error, mcpool.AuthRequiredError) and error.auth_url
        location = load(error.auth_url, follow=False).location
        assert location
        manager.complete_auth(location)
        assert manager.status()[0].state == "connected"


@pytest.mark.parametrize("is_async", [False, True])
def test_the_callback_may_be_plain_or_async(tmp_path: Path, is_async: bool) -> None:
    async def later(prompt: mcpool.AuthPrompt) -> str | None:
        return (await get(prompt.url, follow=False)).location

    async def main() -> None:
        with web("--oauth") as url:
            on_auth = later if is_async else redirected
            async with mcpool.Manager(
                config(a={"url": url}), **options(tmp_path, on_auth=on_auth)
            ) as manager:
                assert (await manager.connect_all()).connected == ["a"]

    bounded(main())


@pytest.mark.parametrize("answer", ["raise", 7, True, "no URL"])
def test_a_callback_that_fails_leaves_the_sign_in_open(
    tmp_path: Path, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def on_auth(prompt: mcpool.AuthPrompt) -> Any:
        if answer == "raise":
            raise RuntimeError("no browser")
        return answer

    async def main() -> None:
        with web("--oauth") as url:
            async with mcpool.Manager(
                config(a={"url": url}), **options(tmp_path, on_auth=on_auth)
            ) as manager:
                error = (await manager.connect_all()).failed["a"]
                assert error.code in ("AUTH_REQUIRED", "AUTH_FAILED")
                assert manager.status()[0].state == "needs_auth"
                if answer != "no URL":
                    assert error.auth_url
                    await get(error.auth_url)
                    await manager.wait_for("a", timeout=PATIENCE)

    with caplog.at_level(logging.WARNING, logger="mcpool"):
        bounded(main())
    if answer != "no URL":
        assert any("auth callback failed" in record.message for record in caplog.records)


def test_a_login_is_not_found_by_another_user(tmp_path: Path) -> None:
    async def main() -> None:
        with web("--oauth") as url:
            for home in ("one", "two"):
                (tmp_path / home).mkdir()
                servers = config(a={"url": url})
                async with mcpool.Manager(servers, **options(tmp_path / home)) as manager:
                    error = (await manager.connect_all()).failed["a"]
                    assert error.code == "AUTH_REQUIRED" and error.auth_url
                    if home == "one":
                        await get(error.auth_url)
                        await manager.wait_for("a", timeout=PATIENCE)

    bounded(main())


def test_the_callback_is_asked_while_nobody_waits_for_the_manager(tmp_path: Path) -> None:
    async def main() -> None:
        with web("--oauth") as url:
            waits = {"gate": 0, "pending_without_cache": "skip", "on_auth": redirected}
            manager = mcpool.Manager(config(a={"url": url}), **options(tmp_path, **waits))
            await manager.connect_all()
            assert await asyncio.to_thread(until, lambda: manager.status()[0].state == "connected")
            await manager.close()

    bounded(main())


def test_a_refresh_is_saved_although_its_call_was_given_up(tmp_path: Path) -> None:
    saved: list[str] = []

    async def store(request: mcpool.LoginStoreRequest) -> str | None:
        if request.op == "save" and request.value:
            saved.append(request.value)
        return saved[-1] if request.op == "load" and saved else None

    async def main() -> None:
        held, journal = tmp_path / "held", tmp_path / "journal.jsonl"
        knobs = ["--oauth-rotate", "--oauth-expire-at-call", "1", "--oauth-hold", f"token={held}"]
        with web("--oauth", *knobs, "--journal", str(journal)) as url:
            servers, own = config(a={"url": url}), options(tmp_path, login_store=store)
            manager = mcpool.Manager(servers, **own, on_auth=redirected)
            assert (await manager.connect_all()).connected == ["a"]
            signed_in = saved[-1]
            held.write_text("hold")
            call = asyncio.ensure_future(manager.call_tool("a", "echo", {"text": "hi"}))
            assert await asyncio.to_thread(until, lambda: count(journal, grant="refresh_token"))
            call.cancel()
            held.write_text("")
            assert await asyncio.to_thread(until, lambda: saved[-1] != signed_in)
            await manager.close()
            async with mcpool.Manager(servers, **own) as after:
                assert (await after.connect_all()).connected == ["a"]
            assert not count(journal, event="family_revoked")

    bounded(main())


def test_a_forgotten_manager_with_callbacks_is_collected(tmp_path: Path) -> None:
    class Agent:
        def __init__(self) -> None:
            self.manager = mcpool.Manager(config(), **options(tmp_path, on_auth=self.sign_in))

        def sign_in(self, prompt: mcpool.AuthPrompt) -> None:
            raise AssertionError(prompt)

    async def main() -> None:
        agent = Agent()
        await agent.manager.connect_all()
        gone = weakref.ref(agent)
        del agent
        gc.collect()
        assert gone() is None

    bounded(main())
