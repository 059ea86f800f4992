"""How each kind of work is measured for one contestant: a class per kind, which knows the unit of its samples.

Nothing here compares. What happens when servers get lost or into trouble is in `life.py`, config files and the command
line are in `config_kinds.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

from .config_kinds import Commanding, Discovering
from .kind import Kind, Sample
from .life import Interpreted, Recovering, Troubled
from .processes import Failed, Process, once
from .works import BIG

BURST = 0.4  # seconds


class Calls(Kind):
    """Bursts of small calls on one connection."""

    def start(self) -> None:
        self.connected = self.worker(self.server())
        self.count = calibrate(self.burst, 16 * self.work.concurrency)
        self.burst(self.count)  # warm: just-in-time compilers want more than the calibration

    def server(self) -> dict[str, Any]:
        if self.contestant.transport:
            return self.network(self.contestant.transport)
        return self.http() if self.work.http else self.stdio()

    def burst(self, count: int) -> dict[str, Any]:
        return self.connected.ask({"work": "echo", "concurrency": self.work.concurrency, "count": count})

    def sample(self) -> Sample:
        took = self.burst(self.count)
        return {
            "cpu_us": took["cpu_s"] / self.count * 1e6,
            "calls_s": self.count / took["wall_s"],
            "p50_us": took["p50_us"],
            "p99_us": took["p99_us"],
        }


class Logins(Calls):
    """Calls to a server that wants a token, which the definition brings or a sign-in gets."""

    def start(self) -> None:
        # Logins are stored.
        self.home = TemporaryDirectory()
        super().start()

    def worker(self, server: dict[str, Any] | None, env: dict[str, str] | None = None) -> Process:
        return super().worker(server, {**(env or {}), "XDG_CONFIG_HOME": self.home.name})

    def server(self) -> dict[str, Any]:
        server = self.http("--oauth", "--oauth-client", "bench:secret", "--oauth-preissued", "at-bench")
        if self.contestant.label == "with a header":
            return {**server, "headers": {"Authorization": "Bearer at-bench"}}
        login = {"grant": "clientCredentials", "clientId": "bench", "clientSecret": "secret"}
        return {**server, "auth": login}

    def close(self, patience: float = 10) -> None:
        super().close(patience)
        self.home.cleanup()


class Big(Kind):
    """Bursts of large results; the memory is what they need above the same process, connected and warm."""

    def start(self) -> None:
        self.connected = self.worker(self.stdio())
        idle = self.connected.ask({"work": "echo", "count": 500})
        self.idle_kb = idle["rss_kb"]
        self.done = 0
        self.peak_mb = self.above_idle(self.burst(20))
        self.count = calibrate(self.burst, 4)

    def burst(self, count: int) -> dict[str, Any]:
        self.done += count
        return self.connected.ask({"work": "big", "bytes": BIG, "count": count})

    def above_idle(self, took: dict[str, Any]) -> float:
        return float(took["peak_kb"] - self.idle_kb) * 1024 / 1e6

    def sample(self) -> Sample:
        took = self.burst(self.count)
        return {"call_ms": took["wall_s"] / self.count * 1e3, "cpu_ms": took["cpu_s"] / self.count * 1e3}

    def finish(self) -> Sample:
        if not self.full and not self.contestant.ours:
            return {"peak_mb": self.peak_mb}
        while self.done < 1000:
            self.burst(min(100, 1000 - self.done))
        return {"peak_mb": self.peak_mb, "peak_later_mb": self.above_idle(self.burst(20))}


class Showing(Kind):
    """A large text made fit for a model, less what it takes to get at the bare text; no limit cuts it."""

    def start(self) -> None:
        self.connected = self.worker({**self.stdio(), "maxResultChars": 2 * BIG})
        self.sample()

    def sample(self) -> Sample:
        took = self.connected.ask({"work": "for_model", "bytes": BIG, "count": 20})
        return {"chain_ms": took["for_model_ms"] - took["text_ms"]}


class Listing(Kind):
    """A fresh list. mcpool lists when it connects and keeps the list, so a fresh one needs a new connection; and
    so that all do the same, everybody connects anew: the sample is connect + list of 1 000 tools less connect +
    list of the bare fixture, with the connection's own cost gone from the difference."""

    def start(self) -> None:
        self.connected = self.worker(None)
        self.sample()

    def cost(self, touch: str, *knobs: str) -> dict[str, Any]:
        return self.connected.ask({"work": "list", "count": 3, "touch": touch, "server": self.stdio(*knobs)})

    def sample(self) -> Sample:
        many = ("--tools", "1000", "--tool-bytes", "2048")
        bare = self.cost("names")["cpu_s"]
        names, schemas = self.cost("names", *many), self.cost("schemas", *many)
        if names["tools"] < 1000:
            raise Failed(f"only {names['tools']} tools listed")
        return {"names_ms": (names["cpu_s"] - bare) * 1e3, "schemas_ms": (schemas["cpu_s"] - bare) * 1e3}


class Importing(Kind):
    """A new interpreter each time; the first one fills the caches of the file system and of bytecode."""

    def start(self) -> None:
        self.sample()

    def sample(self) -> Sample:
        script = "import_cost.py" if self.contestant.language == "Python" else "import_cost.mjs"
        took = once([*self.program(script), self.contestant.module], self.contestant.env)
        return {"cpu_ms": took["cpu_s"] * 1e3, "rss_mb": took["rss_kb"] * 1024 / 1e6}


class Gathering(Kind):
    """Many connections at once, in a process that has done it before."""

    def start(self) -> None:
        if self.contestant.language != "C":
            self.connected = self.worker(None)
        self.sample()

    def sample(self) -> Sample:
        if self.contestant.language == "C":
            took = once([self.place.connect, str(self.work.servers), self.place.fixture, "stdio"])
        else:
            took = self.connected.ask({"work": "connect", "count": self.work.servers, "server": self.stdio()})
        return {"wall_ms": took["wall_s"] * 1e3, "cpu_ms": took["cpu_s"] * 1e3}


class Idling(Kind):
    """Many connections left alone. A new process each round, since memory once taken does not come back; what
    the client starts on first use (threads, buffers) is counted to its connections."""

    def sample(self) -> Sample:
        server = self.http("--sessions") if self.work.http else self.stdio()
        work = {"work": "connect", "count": self.work.servers, "server": server, "idle_s": 2}
        took = self.worker(None).ask(work)
        self.close()
        each_kb = 1.024 / self.work.servers
        return {
            "connection_kb": (took["rss_kb"] - took["before_kb"]) * each_kb,
            "unread_kb": (took["unread_kb"] - took["before_kb"]) * each_kb,
            "idle_ms": took["idle_cpu_s"] * 1e3,
            "first_wall_ms": took["wall_s"] * 1e3,
            "close_ms": took["close_s"] * 1e3,
        }


KINDS: dict[str, type[Kind]] = {
    "calls": Calls,
    "transports": Calls,
    "logins": Logins,
    "big": Big,
    "showing": Showing,
    "listing": Listing,
    "importing": Importing,
    "gathering": Gathering,
    "idling": Idling,
    "recovering": Recovering,
    "troubled": Troubled,
    "interpreted": Interpreted,
    "discovering": Discovering,
    "commanding": Commanding,
}


def calibrate(burst: Callable[[int], dict[str, Any]], count: int) -> int:
    """How many calls fill a burst."""
    while (wall := burst(count)["wall_s"]) < BURST / 4:
        count *= 3
    return max(1, int(count * BURST / wall))
