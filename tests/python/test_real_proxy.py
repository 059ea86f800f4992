"""A proxy that others wrote: which requests go through it, and who sees its login."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixture_server import config, until
from real_server import CERTS, RealServer, free_port, on_hypercorn, on_python, proxy

PASSWORD = "s3cret-of-the-proxy"
OURS = {"ca": str(CERTS / "ca.pem"), "cert": str(CERTS / "client.pem"), "key": str(CERTS / "client.key")}

# A process of its own: the variables are those of the process that dials.
PROGRAM = """
import json, sys
import mcpool.blocking
with mcpool.blocking.Manager(json.loads(sys.argv[1]), cache_dir=False) as manager:
    failed = manager.connect_all().failed.get("s")
    if failed:
        out = {"code": failed.code, "error": f"{failed} {failed!r} {vars(failed)}"}
    else:
        out = {"echo": manager.call_tool("s", "echo", {"text": "through"}).text}
        if sys.argv[2] != "websocket":
            out["request"] = json.loads(manager.call_tool("s", "request").text)
print(json.dumps(out))
"""


class Proxy:
    def __init__(self, server: RealServer, log: Path) -> None:
        self.server, self.log = server, log

    def address(self, login: str = f"user:{PASSWORD}@") -> str:
        return f"http://{login}127.0.0.1:{self.server.port}"

    def has_seen(self, words: str) -> bool:
        """Whether it was asked for this; it writes a request down when the request has ended."""
        return words in self.log.read_text()


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    log = tmp_path_factory.mktemp("proxy") / "log"
    with proxy(log, "--basic-auth", f"user:{PASSWORD}") as server:
        yield Proxy(server, log)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, RealServer]]:
    started = {
        "http": on_python("mcp", "http"),
        "sse": on_python("mcp", "sse"),
        "websocket": on_python("mcp1", "websocket"),
        "https": on_hypercorn(),
        "wss": on_python("mcp1", "websocket", tls=True),
    }
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(server) for name, server in started.items()}


def call(server: RealServer, tls: dict[str, str] | None = None, **variables: str) -> dict[str, Any]:
    """Connects and calls in a process with these variables; what it printed, and all that it said."""
    definition: dict[str, Any] = {**server.definition(), "timeout": 30_000, "restart": "never"}
    if server.url.startswith(("https", "wss")):
        definition["tls"] = OURS
    if tls:
        definition["tls"] = tls
    env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    command = [sys.executable, "-c", PROGRAM, json.dumps(config(s=definition)), server.kind]
    ended = subprocess.run(command, env={**env, **variables}, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return {**json.loads(ended.stdout), "stderr": ended.stderr}


def both(address: str) -> dict[str, str]:
    return {"HTTP_PROXY": address, "HTTPS_PROXY": address}


@pytest.mark.parametrize("name", ["http", "sse"])
def test_http_is_forwarded(name: str, servers: dict[str, RealServer], proxied: Proxy) -> None:
    server = servers[name]
    # The login is part of each request. This proxy takes it out of the first of a connection only.
    assert call(server, HTTP_PROXY=proxied.address())["echo"] == "through"
    assert until(lambda: proxied.has_seen(f"POST 127.0.0.1:{server.port}/"))
    assert not proxied.has_seen(f"CONNECT 127.0.0.1:{server.port}")


@pytest.mark.parametrize(
    ("name", "variable"),
    [("https", "HTTPS_PROXY"), ("websocket", "HTTP_PROXY"), ("wss", "HTTPS_PROXY")],
)
def test_tls_and_websocket_get_a_tunnel(
    name: str, variable: str, servers: dict[str, RealServer], proxied: Proxy
) -> None:
    server = servers[name]
    told = call(server, **{variable: proxied.address()})
    assert told["echo"] == "through"
    assert until(lambda: proxied.has_seen(f"CONNECT 127.0.0.1:{server.port}"))
    if name == "https":
        assert told["request"]["version"] == "2"
        assert "proxy-authorization" not in told["request"]["headers"]


@pytest.mark.parametrize("name", ["http", "sse", "websocket", "https", "wss"])
def test_excluded_servers_are_dialled_directly(name: str, servers: dict[str, RealServer]) -> None:
    # Nothing listens there.
    nobody = f"http://user:{PASSWORD}@127.0.0.1:{free_port()}"
    told = call(servers[name], **both(nobody), NO_PROXY="example.org,127.0.0.1")
    assert told["echo"] == "through"
    if "request" in told:
        assert "proxy-authorization" not in told["request"]["headers"]
    told = call(servers[name], **both(nobody), NO_PROXY="example.org")
    assert told["code"] == "CONNECT_FAILED"
    assert "proxy" in told["error"].lower(), told
    assert PASSWORD not in told["error"] + told["stderr"]


@pytest.mark.parametrize("name", ["http", "sse", "websocket", "https", "wss"])
@pytest.mark.parametrize("login", ["", "user:wr0ng-pass@"])
def test_a_proxy_that_wants_another_login_is_named(
    name: str, login: str, servers: dict[str, RealServer], proxied: Proxy
) -> None:
    told = call(servers[name], **both(proxied.address(login)))
    assert told["code"] == "CONNECT_FAILED", told
    assert "proxy" in told["error"].lower(), told
    assert "wr0ng-pass" not in told["error"] + told["stderr"]


def test_a_proxy_over_tls_is_verified_with_the_certificates_of_the_system(
    servers: dict[str, RealServer], tmp_path: Path
) -> None:
    secured = ["--cert-file", str(CERTS / "server.pem"), "--key-file", str(CERTS / "server.key")]
    ca, other = str(CERTS / "ca.pem"), str(CERTS / "other.pem")
    with proxy(tmp_path / "log", *secured) as server:
        address = f"https://127.0.0.1:{server.port}"
        # The authorities of a server are not those of the proxy.
        for tls in (None, {"ca": other}):
            told = call(servers["http"], tls, HTTP_PROXY=address, SSL_CERT_FILE=ca)
            assert told.get("echo") == "through", told
        told = call(servers["http"], {"ca": ca}, HTTP_PROXY=address, SSL_CERT_FILE=other)
        assert told["code"] == "CONNECT_FAILED"
        assert "certificate" in told["error"].lower()
