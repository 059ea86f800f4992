"""Where a scenario plays: its files, home and environment, and the verbs that have to do with these alone."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcpool
from scenario_values import check, plain


class Place:
    """Writes the files of a scenario and reads its host environment."""

    def __init__(self, scenario: dict[str, Any], directory: Path) -> None:
        self.project = directory / "project"
        self.host_env: mcpool.HostEnv | None = None
        for name, text in scenario.get("files", {}).items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(text_of(text))
        for name, target in scenario.get("links", {}).items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).symlink_to(directory / target)
        if "env" in scenario:
            home = directory / "home"
            self.project.mkdir(exist_ok=True)
            home.mkdir(exist_ok=True)
            env = {"PATH": os.environ["PATH"], "HOME": str(home), **scenario["env"]}
            self.host_env = {"env": env, "home": home, "platform": scenario.get("platform")}

    @property
    def own(self) -> mcpool.HostEnv:
        """A scenario without a host environment must not find, nor change, what is on this machine."""
        assert self.host_env is not None, "the scenario needs an env"
        return self.host_env

    def looking(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options of discovery, without the host environment."""
        assert self.own
        return {"cwd": self.project, **options}

    async def verb(self, step: dict[str, Any]) -> Any:
        """Executes a verb that is about no manager."""
        match step["do"]:
            case "schema":
                return mcpool.config.schema()
            case "discover":
                looking = self.looking(step.get("options", {}))
                return described(await mcpool.discover(**looking, host_env=self.own))
            case "edit":
                where = {key: step[key] for key in ("scope", "file", "cwd") if key in step}
                words = [step["name"], *([step["definition"]] if "definition" in step else [])]
                edit = getattr(mcpool.config, step["verb"])
                return plain(await edit(*words, **{"cwd": self.project, **where}, host_env=self.own))
            case "trusted":
                return plain(await mcpool.trusted(host_env=self.own))
            case verb:
                change = getattr(mcpool, verb)
                return plain(await change(step["path"], step.get("servers"), host_env=self.own))


def described(found: mcpool.Discovery | None) -> Any:
    """What was found, as the files see it."""
    return None if found is None else {**plain(found), "order": list(found.servers)}


def scripted(answers: dict[str, Any], questions: list[Any]) -> Callable[[mcpool.TrustQuestion], Any]:
    """A callback that answers by the script: true, false, or `fail`; what it does not name is refused."""

    async def answer(question: mcpool.TrustQuestion) -> bool:
        questions.append(plain(question))
        answer = answers.get(question.server, False)
        if answer == "fail":
            raise RuntimeError("the script says so")
        return bool(answer)

    return answer


def approving(answers: dict[str, Any], questions: list[Any]) -> Callable[[mcpool.ApprovalQuestion], Any]:
    """A callback that answers by the script: true, false, `fail`, `hang`; it refuses what is not named."""

    async def answer(question: mcpool.ApprovalQuestion) -> bool:
        questions.append(plain(question))
        answer = answers.get(question.tool, False)
        if answer == "fail":
            raise RuntimeError("the script says so")
        if answer == "hang":
            await asyncio.Event().wait()
        return bool(answer)

    return answer


def identifying(answers: dict[str, Any], questions: list[Any]) -> Callable[[mcpool.IdentityQuestion], Any]:
    """A callback that answers who calls a tool by the script: a caller, null, `fail`, `hang`."""

    async def answer(question: mcpool.IdentityQuestion) -> Any:
        questions.append(plain(question))
        answer = answers.get(question.tool)
        if answer == "fail":
            raise RuntimeError("the script says so")
        if answer == "hang":
            await asyncio.Event().wait()
        return answer

    return answer


def answering(answers: dict[str, Any], questions: list[Any]) -> Callable[[Any], Any]:
    """A callback for requests of servers that answers by their names: an answer, `fail`, `hang`."""

    async def answer(request: Any) -> Any:
        asked = plain(request)
        questions.append({name: value for name, value in asked.items() if value is not None})
        answer = answers.get(request.server)
        if answer == "fail":
            raise RuntimeError("the script says so")
        if answer == "hang":
            await asyncio.Event().wait()
        return answer

    return answer


def text_of(value: Any) -> str:
    """The text of a file: a string as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, indent=2)


def holds(file: Path, expected: Any) -> None:
    """Holds a file against a text, or against JSON; None means that it is not there."""
    if expected is None:
        assert not file.exists(), f"{file} is there"
        return
    text = file.read_text()
    check(expected, text if isinstance(expected, str) else json.loads(text))
