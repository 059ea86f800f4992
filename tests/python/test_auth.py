"""The callback that signs in: in either kind of manager, plain or async, and when it fails."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, web
from person import get, load

PATIENCE = 30


def options(home: Path, **more: Any) -> dict[str, Any]:
    host_env: mcpool.HostEnv = {"env": {}, "home": str(home)}
    return {"pool": mcpool.Pool(), "cache_dir": False, "host_env": host_env, **more}


def bounded(coroutine: Any) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


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
