"""Runs the official conformance suite against the Python and the Node package. README.md has the rules."""

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
# mcpool does not speak the stateless protocol of this version yet. The suite would use it in scenarios that
# are new in it. What they test does not depend on the protocol, so they run over the version before.
STATELESS_VERSION = "2026-07-28"
INSTEAD_OF_STATELESS = ["--spec-version", "2025-11-25", "--force"]
# For a client and for a whole scenario, in seconds
CLIENT_LIMIT = 30
SCENARIO_LIMIT = 60
# The suite appends the server's address and runs this in a shell. It would count a client that crashed as a
# success, and wait for one that outlives the shell: so the shell reports the exit code and passes SIGTERM on.
COMMAND = " ".join(
    [
        """run() { trap 'kill $!; exit 143' TERM;""",
        """"$CLIENT_PROGRAM" "$CLIENT_FILE" "$1" & wait $!; code=$?;""",
        """echo $code >"$CLIENT_CODE"; exit $code; }; run""",
    ]
)
CLIENT_REFUSED = 1


class Client(NamedTuple):
    """A program that uses one of the packages."""

    name: str
    program: str
    file: Path


class Scenario(NamedTuple):
    """A scenario, and the first version of the specification that has it, or "extension"."""

    name: str
    since: str


class Outcome(NamedTuple):
    """How a client did in a scenario."""

    successes: int
    problems: list[str]


def known_clients() -> list[Client]:
    """The clients; the environment may name another build of the packages, for development."""
    python = os.environ.get("MCPOOL_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
    node = shutil.which("node") or "node"
    return [Client("python", python, HERE / "client.py"), Client("node", node, HERE / "client.mjs")]


def list_scenarios() -> list[Scenario]:
    """All scenarios for clients that the suite has."""
    listed = subprocess.run([*SUITE, "list", "--client"], check=True, capture_output=True, text=True)
    found = re.findall(r"^ +- (\S+) \[([^],]+)[^]]*\]$", listed.stdout, re.MULTILINE)
    if len(found) != listed.stdout.count(" - "):
        sys.exit(f"the suite lists its scenarios in another way:\n{listed.stdout}")
    return [Scenario(name, since) for name, since in found]


def check_isolation() -> None:
    tried = subprocess.run([*ISOLATED, "true"], stderr=subprocess.PIPE, text=True)
    if tried.returncode != 0:
        sys.exit(tried.stderr.strip())


def run_scenario(client: Client, scenario: Scenario) -> Outcome:
    """Runs one scenario in a network and a home directory of its own."""
    results = RESULTS / client.name / scenario.name
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    options = ["--timeout", str(CLIENT_LIMIT * 1000), "-o", str(results)]
    if scenario.since == STATELESS_VERSION:
        options += INSTEAD_OF_STATELESS
    command = [*ISOLATED, *SUITE, "client", "--scenario", scenario.name, "--command", COMMAND, *options]
    with tempfile.TemporaryDirectory(prefix="mcpool-conformance-") as home:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_CACHE_HOME": f"{home}/cache",
            "MCPOOL_KEYCHAIN": "off",
            "MCPOOL_NODE_PACKAGE": os.environ.get("MCPOOL_NODE_PACKAGE", str(ROOT)),
            "CLIENT_PROGRAM": client.program,
            "CLIENT_FILE": str(client.file),
            "CLIENT_CODE": str(results / "client-code.txt"),
        }
        with (results / "suite.txt").open("w") as log:
            code = run_group(command, env, log)
    return judge(results, code)


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


def judge(results: Path, code: int | None) -> Outcome:
    """Reads what the suite wrote, and believes in a success only if everything says so."""
    problems = []
    if code is None:
        problems.append(f"the suite did not end within {SCENARIO_LIMIT} s")
    elif code != 0:
        problems.append(f"the suite exited with {code}")
    client_code = results / "client-code.txt"
    ended = client_code.read_text().strip() if client_code.exists() else None
    if ended is None:
        problems.append(f"the client did not end within {CLIENT_LIMIT} s")
    elif ended not in ("0", str(CLIENT_REFUSED)):
        problems.append(f"the client exited with {ended}, which is no error of the package")
    written = list(results.rglob("checks.json"))
    if len(written) != 1:
        problems.append(f"the suite wrote {len(written)} lists of checks")
        return Outcome(0, problems + last_lines("suite", results / "suite.txt"))
    checks = json.loads(written[0].read_text())
    for check in checks:
        if check["status"] not in ("SUCCESS", "INFO"):
            said = check.get("errorMessage") or check["description"]
            problems.append(f"{check['status']} {check['id']}: {said}")
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
    parser.add_argument("--client", choices=[client.name for client in clients], help="only this client")
    parser.add_argument("--filter", default="", help="only scenarios whose name begins with this")
    parser.add_argument("--only", default="", metavar="WORD", help="only scenarios whose name contains this")
    parser.add_argument("--jobs", type=int, default=3, help="how many scenarios run at a time")
    chosen = parser.parse_args()
    check_isolation()
    clients = [client for client in clients if chosen.client in (None, client.name)]
    scenarios = [
        scenario
        for scenario in list_scenarios()
        if scenario.name.startswith(chosen.filter) and chosen.only in scenario.name
    ]
    if not scenarios:
        sys.exit("no scenario has such a name")
    with ThreadPoolExecutor(chosen.jobs) as pool:
        rows = [[pool.submit(run_scenario, client, it) for client in clients] for it in scenarios]
        width = max(len(scenario.name) for scenario in scenarios)
        print(f"{'':{width}}", *(f"{client.name:>8}" for client in clients), flush=True)
        for scenario, row in zip(scenarios, rows, strict=True):
            outcomes = [run.result() for run in row]
            cells = ["FAILED" if outcome.problems else f"{outcome.successes} ok" for outcome in outcomes]
            print(f"{scenario.name:{width}}", *(f"{cell:>8}" for cell in cells), flush=True)
    failed = [
        (scenario, client, run.result().problems)
        for scenario, row in zip(scenarios, rows, strict=True)
        for client, run in zip(clients, row, strict=True)
        if run.result().problems
    ]
    for scenario, client, problems in failed:
        print(f"\n{scenario.name} with {client.name}:", *problems, sep="\n  ")
    runs = len(scenarios) * len(clients)
    print(f"\n{runs - len(failed)} of {runs} passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
