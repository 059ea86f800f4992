"""Makes the page "What is promised" from the scenario files and from the hazard tests."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "tests" / "scenarios"
HAZARDS = ROOT / "core" / "tests"
# Where the scenario files are in the site
FOLDER = "scenarios"

# The first word of a file's name says what it is about.
GROUPS = {
    "Connecting": "connect protocol gate lazy names tools server cwd env",
    "Calling": "call answers execute error progress timeout request retry concurrency",
    "Results": "result tool",
    "Losing a connection, and getting it back": "restart probe ping wait exit",
    "Ending": "close disconnect process idle keep",
    "Sharing": "pool identity",
    "Remote servers": "http sse websocket remote tls limits",
    "Signing in": "auth",
    "Configuration": "config schema values file user filter",
    "Finding, editing and reloading config files": "discover discovery edit reload",
    "Trust": "trust project drift",
    "Approval": "approval",
    "Cache and events": "cache events",
    "Resources, prompts, skills and requests of servers": "feature round",
    "Tasks": "task",
}
OTHERS = "Others"

INTRO = """\
# What is promised

{scenarios} scenarios, each of which is one behaviour in one file. The tests run every file in Rust, in Python
and in Node, and {multiple} of them over several transports: {runs} runs for each language. A behaviour that
is listed here holds in all three languages, or the tests fail. Then come {hazards} [hazards](#hazards): what
must not happen, each with a test that provokes it.

This page is made from `tests/scenarios` and `core/tests`. [Scenario files](project/scenarios.md) explains the
format; the name of a scenario leads to its file.

| about | scenarios |
|---|---|
"""


@dataclass(frozen=True)
class Scenario:
    """One behaviour."""

    name: str
    about: str
    transports: tuple[str, ...]

    @property
    def title(self) -> str:
        """The name of the file in words."""
        return self.name.replace("_", " ").capitalize()

    @property
    def group(self) -> str:
        """The part of the page that it belongs to."""
        word = self.name.split("_", 1)[0]
        return next((group for group, words in GROUPS.items() if word in words.split()), OTHERS)


def scenarios() -> list[Scenario]:
    """All scenarios by name."""
    found = []
    for path in sorted(SCENARIOS.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        found.append(Scenario(path.stem, content["about"], tuple(content.get("transports", ()))))
    return found


def hazards() -> list[tuple[str, str]]:
    """The name of each hazard test and what must not happen."""
    found = []
    for path in sorted(HAZARDS.glob("*.rs")):
        opening = re.match(r"//! Hazard: ((?:.+\n)(?://! .+\n)*)", path.read_text(encoding="utf-8"))
        if opening:
            found.append((path.stem, " ".join(opening[1].replace("//! ", "").split())))
    return found


def page() -> str:
    """The Markdown of the page."""
    every = scenarios()
    dangers = hazards()
    groups = {group: [one for one in every if one.group == group] for group in (*GROUPS, OTHERS)}
    text = INTRO.format(
        scenarios=len(every),
        multiple=sum(len(one.transports) > 1 for one in every),
        runs=sum(max(1, len(one.transports)) for one in every),
        hazards=len(dangers),
    )
    for group, members in groups.items():
        if members:
            text += f"| [{group}](#{anchor(group)}) | {len(members)} |\n"
    for group, members in groups.items():
        if members:
            text += f"\n## {group}\n\n{len(members)} scenarios.\n\n" + "".join(map(item, members))
    text += f"\n## Hazards\n\n{len(dangers)} tests in Rust, each of which provokes what must not happen.\n\n"
    text += "| test | must not happen |\n|---|---|\n"
    text += "".join(f"| `{name}` | {plain(danger)} |\n" for name, danger in dangers)
    return text


def item(scenario: Scenario) -> str:
    """A scenario in the list of its group: its name, the behaviour, and the transports."""
    link = f"[{plain(scenario.title)}]({FOLDER}/{scenario.name}.json)"
    over = f"<small>Over {', '.join(scenario.transports)}.</small>" if scenario.transports else ""
    return f"- {link} <br>{plain(sentence(scenario.about))} {over}\n".replace(" \n", "\n")


def sentence(text: str) -> str:
    """A text that begins and ends like a sentence; a name at its start stays as it is."""
    named = not re.match(r"[a-z']+[,:;]?(?= )", text)
    begun = text if named else text[0].upper() + text[1:]
    return begun if begun.endswith(".") else f"{begun}."


def plain(text: str) -> str:
    """Text that stays within a line or a cell; only code between backticks is read as Markdown."""
    parts = re.split(r"(`[^`|]+`)", text)
    parts[::2] = [re.sub(r"([\\`*_\[\]|])", r"\\\1", part).replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)


def anchor(title: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
