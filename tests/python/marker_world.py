"""The world of `tests/secrets/world.json`, and listening to everything that is said in it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcpool
from fixture_server import PROGRAM, ROOT, read_journal, web

MARKERS = ("swordfish", "c3dvcmRmaXNo")
"""As written, and in base64."""


class MarkerWorld:
    """A home with config files, an environment, and servers that repeat what they were given."""

    def __init__(self, home: Path, description: dict[str, Any], ports: dict[str, str]) -> None:
        self.home = home
        self.project = home / "project"
        self.journal = home / "journal.jsonl"
        self._description = description
        places = {"@fixture@": str(PROGRAM), "@home@": str(home), "@journal@": str(self.journal), **ports}
        for path, content in description["files"].items():
            text = content if isinstance(content, str) else json.dumps(content)
            for place, value in places.items():
                text = text.replace(place, value)
            file = home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        env = {**description["environment"], "HOME": str(home), "PATH": os.environ["PATH"]}
        self.host_env: mcpool.HostEnv = {"env": env, "home": home}

    @property
    def where(self) -> dict[str, Any]:
        return {"cwd": self.project, "native": ["exa"], "host_env": self.host_env}

    def check_arrivals(self) -> None:
        """Each value reached its server."""
        given = [entry["words"] for entry in read_journal(self.journal) if "words" in entry]
        missing = [
            value for value in self._description["arrive"] if not any(value in words for words in given)
        ]
        assert not missing

    def written(self) -> dict[str, str]:
        """What mcpool wrote below the home."""
        known = {self.home / path for path in self._description["files"]} | {self.journal}
        files = [file for file in self.home.rglob("*") if file.is_file() and file not in known]
        return {str(file): file.read_text(errors="replace") for file in files}


@contextlib.contextmanager
def marker_world(home: Path) -> Iterator[MarkerWorld]:
    """Builds the world and starts its servers."""
    description = json.loads((ROOT / "tests/secrets/world.json").read_text())
    journal = str(home / "journal.jsonl")
    with contextlib.ExitStack() as servers:
        ports = {}
        for name, knobs in description["web"].items():
            url = servers.enter_context(web(*knobs, "--parrot", "refusal", "--journal", journal))
            ports[f"@port:{name}@"] = url.split(":")[2].split("/")[0]
        yield MarkerWorld(home, description, ports)


class Heard:
    """Everything that was said, each with where it was said."""

    def __init__(self) -> None:
        self._said: list[tuple[str, str]] = []

    def say(self, place: str, text: str) -> None:
        self._said.append((place, text))

    def show(self, place: str, value: object) -> None:
        """Every way in which Python shows an object."""
        self.say(place, f"{value!r} {value} {value:}")
        for attribute in ("_repr_html_", "to_json", "_asdict", "__dict__", "args"):
            found = getattr(value, attribute, None)
            if found is not None:
                self.say(f"{place}.{attribute}", repr(found() if callable(found) else found))

    def all(self) -> str:
        return "\n".join(text for _, text in self._said)

    def check(self) -> None:
        """The marker is nowhere."""
        leaks = []
        for place, text in self._said:
            for marker in MARKERS:
                at = text.find(marker)
                if at >= 0:
                    leaks.append(f"{place}: …{text[max(0, at - 80) : at + 60]}")
        assert not leaks, "\n".join(leaks)
