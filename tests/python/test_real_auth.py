"""Sign-ins at authorisation servers that others wrote, for servers that others wrote."""

from __future__ import annotations

import asyncio
import contextlib
import json
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import mcpool
import pytest
from fixture_server import config
from real_server import CERTS, LOST, RealServer, eventually, everything, protected, python_with_auth
from user_home import UserHome
from visitor import OnAuth, Visitor

MACHINE: dict[str, Any] = {"grant": "clientCredentials", "clientId": "machine"}
MACHINE["clientSecret"] = "the secret: of a+machine/%"


@pytest.fixture
def home(tmp_path: Path) -> UserHome:
    return UserHome(tmp_path)


def run(main: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 60))


@contextlib.asynccontextmanager
async def manage(
    server: RealServer, home: UserHome, on_auth: OnAuth | None = None, **auth: Any
) -> AsyncIterator[mcpool.Manager]:
    """A manager of this server on a pool of its own. It keeps its logins in the home of the test."""
    definition = {**server.definition(), "timeout": 30_000, **({"auth": auth} if auth else {})}
    options: Any = {"host_env": home.host_env, "cache_dir": False, "pool": mcpool.Pool()}
    async with mcpool.Manager(config(s=definition), on_auth=on_auth, **options) as manager:
        yield manager


async def connect(manager: mcpool.Manager) -> None:
    report = await manager.connect_all()
    assert report.connected == ["s"], report.failed


async def echo(manager: mcpool.Manager, text: str = "x") -> str:
    return (await manager.call_tool("s", "echo", {"text": text})).text


async def echo_many(*managers: mcpool.Manager, times: int = 20) -> None:
    calls = [echo(manager, f"{at}") for at in range(times) for manager in managers]
    assert await asyncio.gather(*calls) == [f"{at}" for at in range(times) for _ in managers]


async def who(manager: mcpool.Manager) -> Any:
    """What the token says about its owner."""
    return json.loads((await manager.call_tool("s", "who")).text)


async def seen(server: RealServer) -> dict[str, int]:
    """What the authorisation server has done."""

    def get() -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{server.port}/seen", timeout=30) as answer:
            return json.load(answer)

    found: dict[str, int] = await asyncio.to_thread(get)
    return found


def logins(home: UserHome) -> list[Path]:
    return [file for file in home.home.rglob("login.json") if file.is_file()]


def test_a_person_signs_in_once_and_the_login_is_kept_until_it_is_forgotten(home: UserHome) -> None:
    async def main() -> None:
        with protected("oidc.mjs") as server:
            person = Visitor()
            async with manage(server, home, person.on_auth) as first:
                await connect(first)
                assert await who(first) == {"sub": "ada"}
                async with manage(server, home) as second:
                    await connect(second)
                    await echo_many(first, second)
                    once = {"registration": 1, "authorization_code": 1}
                    assert (len(person.prompts), await seen(server)) == (1, once)

                    assert len(logins(home)) == 1
                    await first.forget_auth("s")
                    assert (logins(home), (await seen(server))["revocation"]) == ([], 1)
                    with pytest.raises(mcpool.AuthRequiredError) as refused:
                        await echo(second)
                    assert refused.value.auth_url is not None
                    assert refused.value.auth_url.startswith("http://127.0.0.1:")
                await first.authorize("s")
                assert await echo(first, "again") == "again"
                assert len(person.prompts) == 2

    run(main)


def test_a_new_manager_signs_in_anew_and_forgets_what_another_has_stored(home: UserHome) -> None:
    async def main() -> None:
        with protected("oidc.mjs") as server:
            person = Visitor()
            async with manage(server, home, person.on_auth) as manager:
                await manager.forget_auth("s")
                assert person.prompts == []
                await manager.authorize("s")
            async with manage(server, home, person.on_auth) as manager:
                await manager.authorize("s")
                assert len(person.prompts) == 1
            async with manage(server, home, person.on_auth) as manager:
                await manager.authorize("s", fresh=True)
                assert (len(person.prompts), await echo(manager)) == (2, "x")
                assert (await seen(server))["revocation"] == 1
            async with manage(server, home) as manager:
                await manager.forget_auth("s")
                assert (logins(home), (await seen(server))["revocation"]) == ([], 2)

    run(main)


def test_the_address_that_the_browser_was_sent_to_can_be_handed_over(home: UserHome) -> None:
    async def main() -> None:
        with protected("oidc.mjs") as server:
            async with manage(server, home, Visitor().on_auth_by_hand) as manager:
                await connect(manager)
                assert await who(manager) == {"sub": "ada"}
            async with manage(server, UserHome(home.project)) as manager:
                report = await manager.connect_all()
                error = report.failed["s"]
                assert isinstance(error, mcpool.AuthRequiredError) and error.auth_url is not None
                page = await asyncio.to_thread(Visitor().sign_in, error.auth_url, follow=False)
                assert page.location is not None
                await manager.complete_auth(page.location)
                assert await echo(manager, "by hand") == "by hand"

    run(main)


def test_a_person_who_refuses_is_not_signed_in(home: UserHome) -> None:
    async def main() -> None:
        with protected("oidc.mjs") as server:
            async with manage(server, home, Visitor(refuses=True).on_auth) as manager:
                error = (await manager.connect_all()).failed["s"]
                assert isinstance(error, mcpool.AuthFailedError)
                assert "access_denied" in str(error)
                assert "authorization_code" not in await seen(server)

    run(main)


@pytest.mark.parametrize("program", ["oidc.mjs", "better-auth.mjs", "workers.mjs"])
def test_calls_of_two_managers_share_each_refresh_of_a_token_that_rotates(
    home: UserHome, program: str
) -> None:
    async def main() -> None:
        with protected(program, seconds=3) as server:
            person = Visitor()
            async with (
                manage(server, home, person.on_auth) as first,
                manage(server, home) as second,
            ):
                await connect(first)
                await connect(second)
                assert await who(first) == await who(second) == {"sub": "ada"}

                async def refreshed() -> bool:
                    await echo_many(first, second)
                    return (await seen(server)).get("refresh_token", 0) >= 2

                await eventually(refreshed)
                done = await seen(server)
                refreshes = done.pop("refresh_token")
                assert done == {"registration": 1, "authorization_code": 1}, refreshes
                assert len(person.prompts) == 1

                await first.forget_auth("s")
                assert (await seen(server))["revocation"] >= 1

                async def signed_out() -> bool:
                    # A signed token is accepted until it expires.
                    with contextlib.suppress(mcpool.AuthRequiredError):
                        return await echo(second) != "x"
                    return True

                await eventually(signed_out)

    run(main)


TELEVISION = {"clientId": "television", "clientSecret": "television"}


@pytest.mark.parametrize("auth", [{}, TELEVISION], ids=["registered", "configured"])
def test_a_code_is_typed_on_another_device(home: UserHome, auth: dict[str, Any]) -> None:
    async def main() -> None:
        with protected("oidc.mjs") as server:
            person = Visitor()
            async with manage(server, home, person.on_auth, **auth) as manager:
                await manager.authorize("s", device=True)
                assert await who(manager) == {"sub": "ada"}
                assert [bool(prompt.user_code) for prompt in person.prompts] == [True]
                done = await seen(server)
                assert done["urn:ietf:params:oauth:grant-type:device_code"] == 1
                assert done.get("registration", 0) == (0 if auth else 1)
                await manager.forget_auth("s")
                assert (await seen(server))["revocation"] == 1

    run(main)


def test_tokens_are_bound_to_a_key(home: UserHome) -> None:
    async def main() -> None:
        with protected("oidc.mjs", dpop=True, seconds=3) as server:
            person = Visitor()
            async with (
                manage(server, home, person.on_auth) as first,
                manage(server, home, person.on_auth) as second,
            ):
                await connect(first)
                await connect(second)
                assert set(await who(first)) == {"sub", "cnf"}
                assert await who(first) == await who(second)

                async def refreshed() -> bool:
                    await echo_many(first, second, times=5)
                    return "refresh_token" in await seen(server)

                await eventually(refreshed)
                assert len(person.prompts) == 1
                done = await seen(server)
                assert (done["authorization_code: use_dpop_nonce"], done["authorization_code"]) == (1, 1)

    run(main)


PRIVATE_KEY = (CERTS / "client.key").read_text()
MACHINES = {
    "secret": MACHINE,
    "key": {"grant": "clientCredentials", "clientId": "signing-machine", "privateKey": PRIVATE_KEY},
}


@pytest.mark.parametrize("dpop", [False, True], ids=["bearer", "dpop"])
@pytest.mark.parametrize("auth", MACHINES.values(), ids=MACHINES)
def test_a_machine_signs_in_without_a_person(home: UserHome, auth: dict[str, Any], dpop: bool) -> None:
    async def main() -> None:
        with protected("oidc.mjs", seconds=2, dpop=dpop) as server:
            async with manage(server, home, **auth) as manager:
                await connect(manager)

                async def renewed() -> bool:
                    await echo_many(manager, times=5)
                    return (await seen(server))["client_credentials"] >= 2

                await eventually(renewed)

    run(main)


@pytest.mark.parametrize("library", ["mcp", "mcp1", "fastmcp", "fastmcp-proxy"])
def test_libraries_with_a_sign_in_of_their_own(home: UserHome, library: str) -> None:
    async def main() -> None:
        with contextlib.ExitStack() as stack:
            upstream = [stack.enter_context(protected("oidc.mjs")).port] if "proxy" in library else []
            server = stack.enter_context(python_with_auth(library, *upstream))
            person = Visitor()
            async with manage(server, home, person.on_auth) as first, manage(server, home) as second:
                await connect(first)
                await connect(second)
                await echo_many(first, second)
                assert len(person.prompts) == 1
                # It forgets its clients and their tokens.
                server.kill()
                server.start()

                async def signed_in_anew() -> bool:
                    with contextlib.suppress(*LOST):
                        return await echo(first) == "x"
                    return False

                await eventually(signed_in_anew)
                assert len(person.prompts) == 2
                await first.forget_auth("s")
                assert logins(home) == []
                with pytest.raises(mcpool.AuthRequiredError):
                    await echo(second)

    run(main)


# By `type: "http"` it is found to speak only the older transport.
EVERYTHING = {
    "http": ("streamableHttp", "/mcp", "http"),
    "sse": ("sse", "/sse", "sse"),
    "fallback": ("sse", "/sse", "http"),
}


@pytest.mark.parametrize("how", EVERYTHING.values(), ids=EVERYTHING)
def test_the_everything_server_behind_a_proxy_that_demands_a_token(
    home: UserHome, how: tuple[str, str, str]
) -> None:
    async def main() -> None:
        mode, path, kind = how
        with (
            everything(mode, path, kind) as behind,
            protected("oidc.mjs", path, kind, upstream=behind.url, seconds=3) as server,
        ):
            person = Visitor()
            async with manage(server, home, person.on_auth) as manager:
                await connect(manager)

                async def refreshed() -> bool:
                    result = await manager.call_tool("s", "get-sum", {"a": 40, "b": 2})
                    assert "42" in result.text
                    return "refresh_token" in await seen(server)

                await eventually(refreshed)
                assert manager.status()[0].restarts == 0
                assert len(person.prompts) == 1

    run(main)
