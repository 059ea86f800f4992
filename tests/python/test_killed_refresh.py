"""A refresh of this interpreter goes on in a process of its own: a kill does not lose the login."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import mcpool
from fixture_server import config, read_journal, until, web
from mcpool import _relaunch
from person import load

CALLER = """
import asyncio, sys
import mcpool

async def main(url, home):
    config, host_env = {"mcpServers": {"a": {"url": url}}}, {"env": {}, "home": home}
    async with mcpool.Manager(config, cache_dir=False, host_env=host_env) as manager:
        await manager.connect_all()
        await manager.call_tool("a", "echo", {"text": "hi"})

asyncio.run(main(*sys.argv[1:]))
"""


def refreshes(journal: Path) -> int:
    return sum(entry.get("grant") == "refresh_token" for entry in read_journal(journal))


def test_the_login_survives_a_kill_before_the_answer(tmp_path: Path) -> None:
    held, journal = tmp_path / "held", tmp_path / "journal.jsonl"
    host_env: mcpool.HostEnv = {"env": {}, "home": str(tmp_path)}

    async def calls(url: str, *, may_sign_in: bool) -> str:
        def on_auth(prompt: mcpool.AuthPrompt) -> str | None:
            return load(prompt.url, follow=False).location

        async with mcpool.Manager(
            config(a={"url": url}),
            pool=mcpool.Pool(),
            cache_dir=False,
            host_env=host_env,
            on_auth=on_auth if may_sign_in else None,
        ) as manager:
            await manager.connect_all()
            return (await manager.call_tool("a", "echo", {"text": "hi"})).text

    knobs = ["--oauth", "--oauth-rotate", "--oauth-expire-at-call", "2", "--oauth-hold", f"token={held}"]
    with web(*knobs, "--journal", str(journal)) as url:
        assert asyncio.run(calls(url, may_sign_in=True)) == "hi"
        held.write_text("hold")
        with subprocess.Popen([sys.executable, "-c", CALLER, url, str(tmp_path)]) as caller:
            assert until(lambda: refreshes(journal))
            caller.kill()
        held.write_text("")
        assert asyncio.run(calls(url, may_sign_in=False)) == "hi"
    assert refreshes(journal) == 1
    assert not [entry for entry in read_journal(journal) if entry["event"] == "family_revoked"]


def test_the_command_line_is_not_taken_from_the_working_directory(tmp_path: Path) -> None:
    for name in ("mcpool", "json", "importlib", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('somebody else')")
    done = subprocess.run([*_relaunch.words(), "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (f"mcpool {mcpool.__version__}\n", 0), done.stderr


def test_the_command_line_is_that_of_this_package(tmp_path: Path) -> None:
    other = tmp_path / "mcpool"
    other.mkdir()
    (other / "__init__.py").write_text("raise SystemExit('somebody else')")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([*_relaunch.words(), "--version"], env=env, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (f"mcpool {mcpool.__version__}\n", 0), done.stderr


def test_the_package_can_be_imported_from_a_path_that_is_no_text(tmp_path: Path) -> None:
    place = os.path.join(os.fsencode(tmp_path), b"odd-\xff")
    os.mkdir(place)
    os.symlink(os.path.dirname(_relaunch.__file__), os.path.join(place, b"mcpool"))
    script = "import sys; sys.path.insert(0, sys.argv[1]); from mcpool._relaunch import words; print(words())"
    done = subprocess.run([sys.executable, "-c", script, place], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
