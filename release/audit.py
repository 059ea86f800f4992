"""Asks what is known against the packages that we use: licences, sources and weaknesses.

Ends with 1 if something was found, and with 2 if a service could not be asked: silence is no good answer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Answer:
    """What a check says: nothing, what it found, or why it could not be asked."""

    found: str = ""
    unasked: str = ""


@dataclass(frozen=True)
class Ran:
    """A program that has ended."""

    code: int
    stdout: str
    stderr: str


def run(*command: str) -> Ran:
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def words_of(ran: Ran) -> str:
    """What a program said last; one that fails without a word must not look like a good answer."""
    return ran.stderr or ran.stdout or f"it ended with {ran.code} and said nothing"


def judge_policy(ran: Ran) -> Answer:
    """`cargo deny check` of licences, bans and sources needs nobody else."""
    return Answer(found=words_of(ran)) if ran.code else Answer()


def judge_crates(ran: Ran) -> Answer:
    """`cargo deny check advisories` fetches its database first."""
    if ran.code and "advisory database" in ran.stderr:
        return Answer(unasked=words_of(ran))
    return judge_policy(ran)


def judge_npm(ran: Ran) -> Answer:
    """`npm audit --json` prints the error of the registry instead of a report."""
    report = parsed(ran.stdout)
    if "vulnerabilities" not in report:
        return Answer(unasked=str(report.get("message") or words_of(ran)))
    weak = [
        f"{name}: {entry['severity']}, {entry['range']}" for name, entry in report["vulnerabilities"].items()
    ]
    return Answer(found="\n".join(weak))


def judge_pip(ran: Ran) -> Answer:
    """`pip-audit` leaves out packages that the service does not know and still calls the rest good."""
    report = parsed(ran.stdout)
    if "dependencies" not in report:
        return Answer(unasked=words_of(ran))
    packages = report["dependencies"]
    weak = [
        f"{package['name']} {package['version']}: {weakness['id']}"
        for package in packages
        for weakness in package.get("vulns", [])
    ]
    skipped = [
        package["skip_reason"]
        for package in packages
        if "skip_reason" in package and package["name"] != "mcpool"
    ]
    return Answer(found="\n".join(weak), unasked="\n".join(skipped))


def parsed(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pip-audit", required=True, help="the program")
    parser.add_argument(
        "--environment", required=True, help="the environment of the tests and the linters", type=Path
    )
    asked = parser.parse_args()
    packages = next((ROOT / asked.environment).glob("lib/python*/site-packages"))
    deny = ["cargo", "deny", "--log-level", "error", "--locked", "check"]
    pip = [asked.pip_audit, "--path", str(packages), "--format", "json", "--progress-spinner", "off"]
    checks: dict[str, tuple[Callable[[Ran], Answer], list[str]]] = {
        "crates: licences, bans, sources": (judge_policy, [*deny, "licenses", "bans", "sources"]),
        "crates: known weaknesses": (judge_crates, [*deny, "advisories"]),
        "npm packages: known weaknesses": (judge_npm, ["npm", "audit", "--package-lock-only", "--json"]),
        "Python packages: known weaknesses": (judge_pip, pip),
    }
    code = 0
    for name, (judge, command) in checks.items():
        answer = judge(run(*command))
        print(
            f"{name}: {'FOUND' if answer.found else 'COULD NOT BE ASKED' if answer.unasked else 'none known'}"
        )
        for text in filter(None, [answer.found, answer.unasked]):
            print("  " + text.strip().replace("\n", "\n  "))
        code = 1 if answer.found else code or (2 if answer.unasked else 0)
    sys.exit(code)


if __name__ == "__main__":
    main()
