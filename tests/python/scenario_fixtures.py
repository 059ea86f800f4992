"""The fixture servers of a scenario: on which transport each runs, ending and starting again."""

from __future__ import annotations

import contextlib
from typing import Any
from urllib.parse import urlsplit

from fixture_server import PROGRAM, web
from scenario_steps import TRANSPORTS
from scenario_values import fill


class Fixture(contextlib.ExitStack):
    """A fixture that can be ended and started again at the same address."""

    def __init__(self, transport: str, knobs: list[str]) -> None:
        super().__init__()
        self.transport = transport
        self.knobs = knobs
        # Over stdio, managers start it.
        self.url: str | None = None
        self.start()

    def start(self) -> None:
        """Starts it, at the same address if it had one."""
        if self.transport == "stdio":
            return
        self.close()
        port = ["--port", str(urlsplit(self.url).port)] if self.url else []
        self.url = self.enter_context(web(*self.knobs, *port, transport=self.transport))

    def end(self) -> None:
        """Kills it."""
        assert self.url, "the runner has not started it"
        self.close()

    @property
    def definition(self) -> dict[str, Any]:
        """The definition of a server that reaches it."""
        if self.url is None:
            return {"command": str(PROGRAM), "args": [self.transport, *self.knobs]}
        return {"type": self.transport, "url": self.url}


def start_fixtures(
    scenario: dict[str, Any], variant: str | None, names: dict[str, Any], stack: contextlib.ExitStack
) -> dict[str, Fixture]:
    """Starts the fixtures in their order, and adds what they are called to `names`."""
    usual, *more = (variant or "http").split(" ")
    names["transport"] = usual
    fixtures = {}
    for name, words in scenario.get("fixtures", {}).items():
        words = fill(words, names)
        is_own = words[:1] and words[0] in TRANSPORTS
        fixture = Fixture(words[0], words[1:]) if is_own else Fixture(usual, [*words, *more])
        fixtures[name] = stack.enter_context(fixture)
        names[f"{name}:server"] = fixture.definition
        if fixture.url:
            names[name] = fixture.url
            place = urlsplit(fixture.url)
            names[f"{name}:origin"] = f"{place.scheme}://{place.netloc}"
    return fixtures
