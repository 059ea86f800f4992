"""Servers over a network that others wrote, as processes that can be killed and started again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import mcpool
from fixture_server import ROOT, until

SERVERS = ROOT / "tests" / "servers"
CERTS = ROOT / "tests" / "certs"
# Of a call to a server that was killed: it is sent, waits for the server or comes between two attempts.
LOST = (mcpool.ConnectionLostError, mcpool.ToolTimeoutError, mcpool.RestartInProgressError)


def environment(group: str) -> Path:
    """The programs of an environment with libraries for servers."""
    programs = ROOT / ".venv-servers" / group / "bin"
    assert programs.is_dir(), f"{programs} is missing: `make .venv-servers/{group}/ready`"
    return programs


def free_port() -> int:
    """A port that the system gives to nobody who asks for any: other tests do that all the time."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def eventually(condition: Callable[[], Awaitable[bool]], patience: float = 30) -> None:
    """Waits for a condition that only a call can check."""

    async def holds() -> None:
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    await asyncio.wait_for(holds(), patience)


class RealServer:
    """A process that listens at a port of its own while the context lasts."""

    def __init__(
        self,
        command: Callable[[int], list[str]],
        url: str,
        kind: str = "http",
        env: Callable[[int], Mapping[str, str]] = lambda port: {},
        cwd: Path | None = None,
    ) -> None:
        self.port = free_port()
        self.url = url.format(port=self.port)
        self.kind = kind
        self._command = command(self.port)
        self._env = {**os.environ, **env(self.port)}
        self._cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None

    def definition(self) -> dict[str, str]:
        return {"type": self.kind, "url": self.url}

    def start(self) -> None:
        quiet = subprocess.DEVNULL
        streams: dict[str, Any] = {"stdin": quiet, "stdout": quiet, "start_new_session": True}
        self._process = subprocess.Popen(self._command, env=self._env, cwd=self._cwd, **streams)
        assert until(lambda: listens(self.port) or self._ended()), "it never listened"
        assert not self._ended(), self._command

    def kill(self) -> None:
        """Ends it and its children with a signal that they cannot handle."""
        if self._process is not None and self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def __enter__(self) -> RealServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def everything(mode: str, path: str, kind: str) -> RealServer:
    """The everything server of npm."""
    program = SERVERS / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    assert program.is_file(), f"{program} is missing: `npm install --no-package-lock` in tests/servers"
    command = [node(), str(program), mode]
    url = "http://127.0.0.1:{port}" + path
    return RealServer(lambda _: command, url, kind, lambda port: {"PORT": str(port)})


def on_python(library: str, transport: str, kind: str | None = None, *, tls: bool = False) -> RealServer:
    """`tests/servers/python_server.py` on one of its libraries."""
    python = environment("mcp1" if library == "mcp1" else "current") / "python"
    scheme = ("ws" if transport == "websocket" else "http") + ("s" if tls else "")
    path = {"http": "mcp", "sse": "sse", "websocket": "ws"}[transport]
    url = scheme + "://127.0.0.1:{port}/" + path
    command = [str(python), str(SERVERS / "python_server.py"), library, transport]
    options = ["tls"] if tls else []
    return RealServer(lambda port: [*command, str(port), *options], url, kind or transport)


def on_hypercorn(*options: str, tls: bool = True) -> RealServer:
    """The Python SDK's Streamable HTTP over HTTP/2; the server requires a certificate of its clients."""
    secured = ["--certfile", "server.pem", "--keyfile", "server.key", "--ca-certs", "ca.pem"]
    secured = [str(CERTS / word) if word.endswith((".pem", ".key")) else word for word in secured]
    secured += ["--verify-mode", "CERT_REQUIRED"]

    def command(port: int) -> list[str]:
        # Without workers it serves in its own process.
        words = ["--bind", f"127.0.0.1:{port}", "--workers", "0", *(secured if tls else []), *options]
        return [str(environment("current") / "hypercorn"), *words, 'python_server:application("mcp", "http")']

    url = f"http{'s' if tls else ''}://127.0.0.1:{{port}}/mcp"
    return RealServer(command, url, env=lambda _: {"PYTHONPATH": str(SERVERS)})


def proxy(log: Path, *options: str) -> RealServer:
    """A proxy that writes down its requests."""
    words = ["--hostname", "127.0.0.1", "--num-acceptors", "1", "--num-workers", "1", "--log-file", str(log)]
    command = [str(environment("current") / "proxy"), *words, *options]
    return RealServer(lambda port: [*command, "--port", str(port)], "http://127.0.0.1:{port}")


def on_typescript() -> RealServer:
    """`tests/servers/websocket.mjs`."""
    program = str(SERVERS / "websocket.mjs")
    return RealServer(lambda port: [node(), program, str(port)], "ws://127.0.0.1:{port}", "websocket")


def protected(program: str, path: str = "/mcp", kind: str = "http", **options: Any) -> RealServer:
    """A server that demands a token, with its authorisation server: a program of `tests/servers`."""
    command = [node(), str(SERVERS / program)]
    url = "http://127.0.0.1:{port}" + path
    words = json.dumps({"path": path, **options})
    return RealServer(lambda port: [*command, str(port), words], url, kind)


def python_with_auth(library: str, *upstream: int) -> RealServer:
    """`tests/servers/python_auth.py` on one of its libraries, or `mcp1_auth.py`."""
    if library == "mcp1":
        command = [str(environment("mcp1") / "python"), str(SERVERS / "mcp1_auth.py")]
    else:
        command = [str(environment("current") / "python"), str(SERVERS / "python_auth.py"), library]
    words = [str(port) for port in upstream]
    return RealServer(lambda port: [*command, str(port), *words], "http://127.0.0.1:{port}/mcp")


def node() -> str:
    found = shutil.which("node")
    assert found, "node is missing"
    return found
