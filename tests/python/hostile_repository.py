"""The home and the clone that `tests/hostile/repository.json` describes; its README has the words."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mcpool
from fixture_server import PROGRAM, ROOT

DESCRIPTION: dict[str, Any] = json.loads((ROOT / "tests/hostile/repository.json").read_text())
USERS: list[str] = DESCRIPTION["users"]


class HostileFile(NamedTuple):
    """A product's project file."""

    provider: str
    slug: str
    says: dict[str, Any]


FILES = [
    HostileFile(provider, f"{provider}-{at}", says)
    for provider, files in DESCRIPTION["products"].items()
    for at, says in enumerate(files, 1)
]


class Listener:
    """Nobody may dial it; whoever does is taken down."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    self.heard.append(connection.recv(65536).decode(errors="replace"))
                    connection.sendall(b"HTTP/1.1 500 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                except OSError as error:
                    self.heard.append(f"a connection: {error}")


class HostileRepository:
    """Every trap in every file; with a file, names of the user's servers in that file alone."""

    def __init__(self, root: Path, stealing: HostileFile | None = None) -> None:
        self._root = root.resolve()
        self.home, self.project, self._trips = (self._root / name for name in ("home", "project", "trips"))
        self._trips.mkdir()
        self.listener = Listener()
        for place in ("home", "project"):
            for path, content in DESCRIPTION[place].items():
                self._write(self._root / place / path, content)
        for path, target in DESCRIPTION["project_links"].items():
            (self.project / path).symlink_to(self._placed(target))
        for file in FILES if stealing is None else [stealing]:
            self._write_servers(file, stealing is not None)
        env = {name: self._placed(value) for name, value in DESCRIPTION["environment"].items()}
        path = [*(self._placed(part) for part in DESCRIPTION["path"]), os.environ["PATH"]]
        env |= {"PATH": ":".join(path), "HOME": str(self.home)}
        self.host_env: mcpool.HostEnv = {"env": env, "home": self.home}

    @property
    def where(self) -> dict[str, Any]:
        return {"cwd": self.project, "host_env": self.host_env}

    @property
    def options(self) -> dict[str, Any]:
        """For a manager on a pool of its own."""
        return {**self.where, "pool": mcpool.Pool(), "cache_dir": False}

    def check(self, what: str, *said: object) -> None:
        """Nothing went off, nothing was shown."""
        sprung = sorted(file.name for file in self._trips.iterdir())
        assert not sprung, f"{what} set off {sprung}"
        assert not self.listener.heard, f"{what} dialled: {self.listener.heard}"
        text = " ".join(f"{value!r} {value}" for value in said)
        for secret in DESCRIPTION["secrets"]:
            at = text.find(secret)
            assert at < 0, f"{what} shows {secret}: …{text[max(0, at - 300) : at + 60]}"

    def silent(self) -> Iterator[str]:
        """Traps that should have gone off by now, and have not."""
        for trap, products in DESCRIPTION["fires"].items():
            for file in FILES:
                name = f"{file.slug}.{trap}"
                dialled = any(f"/{name} " in heard for heard in self.listener.heard)
                if {"*", file.provider} & set(products) and not (dialled or (self._trips / name).exists()):
                    yield name

    def _write_servers(self, file: HostileFile, stealing: bool) -> None:
        native = DESCRIPTION["native"].get(file.provider, {})
        traps = DESCRIPTION["thefts"] if stealing else {**DESCRIPTION["traps"], **native}
        words = file.says.get("words", {})
        servers: Any = {}
        for trap, definition in traps.items():
            name = f"{file.slug}.{trap}"
            placed = json.loads(self._placed(json.dumps(definition), name))
            servers[trap if stealing else name] = {words.get(key, key): it for key, it in placed.items()}
        if file.says.get("as_list"):
            servers = [{"name": name, **definition} for name, definition in servers.items()]
        for key in reversed(file.says["at"]):
            servers = {key: servers}
        lists = file.says.get("lists", {}) if stealing else {}
        document = {**servers, **file.says.get("also", {}), **lists}
        document = json.loads(self._placed(json.dumps(document), f"{file.slug}.also"))
        path = self.project / file.says["file"]
        # YAML is a superset of JSON.
        self._write(path, _toml_document(document) if path.suffix == ".toml" else document)

    def _write(self, path: Path, content: object) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._placed(text))
        if text.startswith("#!"):
            path.chmod(0o755)

    def _placed(self, text: str, name: str = "") -> str:
        places = {
            "@project@": self.project,
            "@home@": self.home,
            "@trips@": self._trips,
            "@trip@": self._trips / name,
            "@id@": name,
            "@port@": self.listener.port,
            "@fixture@": PROGRAM.resolve(),
        }
        for place, value in places.items():
            text = text.replace(place, str(value))
        return text


def _toml_document(document: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in document.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        fields = (f"{json.dumps(key)} = {_toml(it)}" for key, it in value.items())
        return "{ " + ", ".join(fields) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)
