"""Runs the official conformance suite against the Rust crate and both packages. README.md has the rules."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, TextIO

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ISOLATED = [sys.executable, str(HERE / "isolated.py")]
RESULTS = ROOT / "target" / "conformance"
SUITE = [
    str(HERE / "node_modules" / ".bin" / "node"),
    str(HERE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"),
]
# The first version without a handshake
STATELESS_VERSION = "2026-07-28"
# Authorisation and extensions do not depend on the handshake: their scenarios run with and without it.
BOTH_KINDS = ["2025-11-25", STATELESS_VERSION]
# What the client must refuse, with an error of mcpool. In all other scenarios it must succeed.
REFUSALS = [
    "auth/iss-normalized",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-issuer-mismatch",
    "auth/resource-mismatch",
    "auth/scope-retry-limit",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-frontmatter",
    "sep-2640-client-verify-size",
]
# Checks that are always skipped, by the names of scenario and check: these messages are not in 2026-07-28.
NEVER_CHECKED = [
    ("http-standard-headers", "ClientMcpMethodHeader_initialize"),
    ("http-standard-headers", "ClientMcpMethodHeader_notifications_initialized"),
]
# The suite measures the client in milliseconds here, so nothing else runs at the same time.
TIMED = ["sse-retry"]
# For a client and for a whole scenario, in seconds
CLIENT_LIMIT = 30
SCENARIO_LIMIT = 60
# The suite appends the server's address and runs this in a shell. It would count a client that crashed as a
# success, and wait for one that outlives the shell: so the shell reports the exit code and passes SIGTERM on.
COMMAND = " ".join(
    [
        """run() { trap 'kill $!; exit 143' TERM;""",
        """"$CLIENT_PROGRAM" ${CLIENT_FILE:+"$CLIENT_FILE"} "$1" & wait $!; code=$?;""",
        """echo $code >"$CLIENT_CODE"; exit $code; }; run""",
    ]
)


class Client(NamedTuple):
    """A program that uses mcpool; a script has a file."""

    name: str
    program: str
    file: Path | None = None


class Run(NamedTuple):
    """A scenario at a version of the protocol."""

    scenario: str
    version: str
    # Whether the scenario is not one of this version
    is_forced: bool

    def __str__(self) -> str:
        return f"{self.scenario}@{self.version}"


class Outcome(NamedTuple):
    """How a client did in a scenario."""

    successes: int
    problems: list[str]


def known_clients() -> list[Client]:
    """The clients; the environment may name another build of the packages, for development."""
    rust = ROOT / "target" / "debug" / "examples" / "conformance"
    python = os.environ.get("MCPOOL_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
    node = shutil.which("node") or "node"
    return [
        Client("rust", str(rust)),
        Client("python", python, HERE / "client.py"),
        Client("node", node, HERE / "client.mjs"),
    ]


def list_runs() -> list[Run]:
    """All scenarios for clients that the suite has, each at every version that it is for."""
    listed = subprocess.run([*SUITE, "list", "--client"], check=True, capture_output=True, text=True)
    found = re.findall(r"^ +- (\S+) \[([^]]+)\]$", listed.stdout, re.MULTILINE)
    if len(found) != listed.stdout.count(" - "):
        sys.exit(f"the suite lists its scenarios in another way:\n{listed.stdout}")
    return [run for name, versions in found for run in runs_of(name, versions.split(","))]


def runs_of(scenario: str, its_versions: list[str]) -> list[Run]:
    versions = [] if its_versions == ["extension"] else its_versions
    if not versions or (scenario.startswith("auth/") and versions == [STATELESS_VERSION]):
        versions = BOTH_KINDS
    return [Run(scenario, version, version not in its_versions) for version in versions]


def check_isolation() -> None:
    tried = subprocess.run([*ISOLATED, "true"], stderr=subprocess.PIPE, text=True)
    if tried.returncode != 0:
        sys.exit(tried.stderr.strip())


def run_client(client: Client, run: Run) -> Outcome:
    """Runs one scenario in a network and a home directory of its own."""
    results = RESULTS / client.name / run.version / run.scenario
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    options = ["--spec-version", run.version, "--timeout", str(CLIENT_LIMIT * 1000), "-o", str(results)]
    if run.is_forced:
        options.append("--force")
    command = [*ISOLATED, *SUITE, "client", "--scenario", run.scenario, "--command", COMMAND, *options]
    with tempfile.TemporaryDirectory(prefix="mcpool-conformance-") as home:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_CACHE_HOME": f"{home}/cache",
            "MCPOOL_KEYCHAIN": "off",
            "MCPOOL_NODE_PACKAGE": os.environ.get("MCPOOL_NODE_PACKAGE", str(ROOT)),
            "CLIENT_PROGRAM": client.program,
            "CLIENT_FILE": str(client.file or ""),
            "CLIENT_CODE": str(results / "client-code.txt"),
        }
        with (results / "suite.txt").open("w") as log:
            code = run_group(command, env, log)
    return judge(run, results, code)


def run_group(command: list[str], env: dict[str, str], log: TextIO) -> int | None:
    """Runs a command with all its children; returns its exit code, or None if it took too long."""
    process = subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    try:
        return process.wait(SCENARIO_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def judge(run: Run, results: Path, code: int | None) -> Outcome:
    """Reads what the suite wrote, and believes in a success only if everything says so."""
    problems = []
    if code is None:
        problems.append(f"the suite did not end within {SCENARIO_LIMIT} s")
    elif code != 0:
        problems.append(f"the suite exited with {code}")
    client_code = results / "client-code.txt"
    ended = client_code.read_text().strip() if client_code.exists() else None
    expected = "1" if run.scenario in REFUSALS else "0"
    if ended is None:
        problems.append(f"the client did not end within {CLIENT_LIMIT} s")
    elif ended != expected:
        problems.append(f"the client exited with {ended} instead of {expected}")
    written = list(results.rglob("checks.json"))
    if len(written) != 1:
        problems.append(f"the suite wrote {len(written)} lists of checks")
        return Outcome(0, problems + last_lines("suite", results / "suite.txt"))
    checks = json.loads(written[0].read_text())
    for check in checks:
        is_skipped = check["status"] == "SKIPPED" and (run.scenario, check["name"]) in NEVER_CHECKED
        if check["status"] not in ("SUCCESS", "INFO") and not is_skipped:
            said = check.get("errorMessage") or check["description"]
            problems.append(f"{check['status']} {check['id']}: {said}")
        # Where a client must refuse, it cannot say which protocol it speaks.
        method = (check.get("details") or {}).get("mcpMethod")
        if run.version == STATELESS_VERSION and method == "initialize":
            problems.append(f"{check['description']}, which {run.version} does not have")
    successes = sum(check["status"] == "SUCCESS" for check in checks)
    if successes == 0:
        problems.append("nothing was checked")
    if problems:
        problems += last_lines("client", written[0].with_name("stderr.txt"))
        problems.append(f"see {results}")
    return Outcome(successes, problems)


def last_lines(of: str, file: Path) -> list[str]:
    return [f"{of}: {line}" for line in file.read_text().splitlines()[-10:]]


def main() -> None:
    clients = known_clients()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "runs", nargs="*", default=["*"], metavar="RUN", help="SCENARIO@VERSION to run; * is for anything"
    )
    parser.add_argument("--client", choices=[client.name for client in clients], help="only this client")
    parser.add_argument("--only", default="", metavar="WORD", help="only runs whose name contains this")
    parser.add_argument("--jobs", type=int, default=3, help="how many scenarios run at a time")
    chosen = parser.parse_args()
    check_isolation()
    clients = [client for client in clients if chosen.client in (None, client.name)]
    every = list_runs()
    for pattern in chosen.runs:
        if not any(fnmatchcase(str(run), pattern) for run in every):
            sys.exit(f"no scenario is named {pattern}")
    named = [run for run in every if any(fnmatchcase(str(run), pattern) for pattern in chosen.runs)]
    runs = [run for run in named if chosen.only in str(run)]
    if not runs:
        sys.exit("no scenario has such a name")
    width = max(len(str(run)) for run in runs)
    print(f"{'':{width}}", *(f"{client.name:>8}" for client in clients), flush=True)
    timed = [run for run in runs if run.scenario in TIMED]
    others = [run for run in runs if run.scenario not in TIMED]
    failed = []
    for batch, jobs in [(timed, 1), (others, chosen.jobs)]:
        with ThreadPoolExecutor(jobs) as pool:
            rows = [[pool.submit(run_client, client, run) for client in clients] for run in batch]
            for run, row in zip(batch, rows, strict=True):
                outcomes = [outcome.result() for outcome in row]
                cells = ["FAILED" if outcome.problems else f"{outcome.successes} ok" for outcome in outcomes]
                print(f"{run!s:{width}}", *(f"{cell:>8}" for cell in cells), flush=True)
                failed += [(run, *it) for it in zip(clients, outcomes, strict=True) if it[1].problems]
    for run, client, outcome in failed:
        print(f"\n{run} with {client.name}:", *outcome.problems, sep="\n  ")
    total = len(runs) * len(clients)
    print(f"\n{total - len(failed)} of {total} passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
