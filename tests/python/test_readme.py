"""The examples of the README and of docs/ are run: Python that begins with `# run`, definitions, commands.

Other tests run the blocks of frameworks, of web servers, of JavaScript and of Rust; none is left over.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import mcpool
import pytest
from fixture_server import ROOT
from user_home import user_env

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


# How a block begins that some test runs; those of Rust are doctests of the core.
RUN = {
    "python": r"# (run|with \w+( --\w+)?)\n|import sys\n\nCONFIG = ",
    "js": r"// (run(: [\w -]+)?|with \w+|\w+\.config\.mjs)\n",
    "ts": r"// [\w/]+\.ts\n",
    "rust": "",
    "json": "",
    "sh": "",
    "text": "",
}
WITH_RUST = {"quickstart.md"}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and content of each block."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def examples(page: Path) -> list[str]:
    """The blocks to run here."""
    return [block for language, block in blocks(page) if language == "python" and block.startswith("# run")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.name}")
def test_every_block_is_run(page: Path) -> None:
    for language, block in blocks(page):
        assert re.match(RUN[language], block), block
        assert language != "rust" or page.name in WITH_RUST


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.name}")
def test_every_link_has_a_target(page: Path) -> None:
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        target = page.parent / path if path else page
        assert target.exists(), path
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in headings]


def test_definitions_can_be_used() -> None:
    definitions = [block for page in PAGES for language, block in blocks(page) if language == "json"]
    assert definitions
    for definition in definitions:
        manager = mcpool.Manager(json.loads(definition))
        assert manager.warnings == []
        assert [status.error for status in manager.status() if status.error] == []


def test_commands_are_there() -> None:
    scripts = [block for page in PAGES for language, block in blocks(page) if language == "sh"]
    lines = [shlex.split(line, comments=True) for script in scripts for line in script.splitlines()]
    commands = {tuple(line[:2]) for line in lines if line}
    assert commands
    makefile = (ROOT / "Makefile").read_text()
    for program, *rest in commands:
        if program == "make":
            assert re.search(rf"^{rest[0]}:", makefile, re.MULTILINE)
        else:
            asked = [sys.executable, "-m", program, *rest, "--help"]
            assert subprocess.run(asked, capture_output=True, timeout=60, check=False).returncode == 0, rest


@pytest.mark.parametrize("example", [block for page in PAGES for block in examples(page)])
def test_an_example_runs(example: str, tmp_path: Path) -> None:
    # What the machine's user has configured is nobody's business here.
    env = user_env(tmp_path / "home")
    # The command line that an example may name is the one beside this interpreter.
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
    env["PYTHONPATH"] = str(Path(mcpool.__file__).parents[1])
    command = [sys.executable, "-c", example]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout
    assert ran.stderr == ""
