"""Each mistake of a newcomer gets a message that names it and the way out."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, stdio


def test_a_path_in_place_of_a_config_names_from_file() -> None:
    for path in ("mcp.json", Path("some") / "servers.yaml"):
        for manager in (mcpool.Manager, mcpool.blocking.Manager):
            wrong: Any = path
            with pytest.raises(mcpool.ConfigInvalidError, match=r"Manager\.from_file") as refused:
                manager(wrong)
            assert str(path) in refused.value.message


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("gate", "soon", "a number of seconds, not a str"),
        ("restart_wait", [1], "a number of seconds, not a list"),
        ("gate", -1, "a number of seconds, from 0 to 1e19"),
        ("gate", 1e300, "a number of seconds, from 0 to 1e19"),
        ("wrap", 1, "true or false, not a number"),
        ("connect_concurrency", True, "0 or more, not a bool"),
    ],
)
def test_an_option_of_the_wrong_type_is_named_with_what_it_must_be_and_what_it_is(
    option: str, value: object, expected: str
) -> None:
    options: Any = {option: value}
    with pytest.raises(mcpool.ConfigInvalidError) as refused:
        mcpool.Manager(config(a=stdio()), **options)
    assert f'"{option}"' in refused.value.message
    assert refused.value.message.endswith(expected)


def test_an_option_of_a_call_of_the_wrong_type_is_named() -> None:
    async def main() -> None:
        async with mcpool.Manager(config(a=stdio())) as manager:
            await manager.connect_all()
            wrong: Any = {"max_total_timeout": "soon"}
            with pytest.raises(mcpool.InvalidArgumentsError, match=r'"max_total_timeout".*not a str'):
                await manager.call_tool("a", "echo", {}, **wrong)

    asyncio.run(main())


def test_an_error_shows_its_text_or_else_its_message() -> None:
    text = 'Server "a": The server exited'
    told = mcpool.ConnectionLostError("The server exited", server="a", hint="look", text=text)
    assert str(told) == f"{text} (look)"
    assert str(pickle.loads(pickle.dumps(told))) == str(told)
    assert str(mcpool.ClosedError("The manager is closed")) == "The manager is closed"


def test_an_error_of_the_core_names_its_server() -> None:
    async def main() -> None:
        broken = {"command": "no-such-program -m x", "restart": "never"}
        async with mcpool.Manager(config(broken=broken, a=stdio())) as manager:
            report = await manager.connect_all()
            assert str(report.failed["broken"]).count('"broken"') == 1
            with pytest.raises(mcpool.ToolRejectedError, match='"mcp_a_echo"'):
                await manager.call("echo", {"text": "x"})

    asyncio.run(main())
