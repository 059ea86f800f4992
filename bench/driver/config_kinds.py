"""A user's config files: how much it costs to find the servers in them, and how long a command takes to list tools."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from .kind import Kind, Sample
from .processes import Failed, once, sweep
from .setup import PEERS, ROOT

FILES = 20
EACH = 10  # servers in a file
HEALTHY = 9
BOUND_S = 45

# Where products keep their servers, and under which key.
JSON_FILES = {
    ".claude.json": "mcpServers",
    ".cursor/mcp.json": "mcpServers",
    ".gemini/settings.json": "mcpServers",
    ".codeium/windsurf/mcp_config.json": "mcpServers",
    ".kiro/settings/mcp.json": "mcpServers",
    ".lmstudio/mcp.json": "mcpServers",
    ".aws/amazonq/mcp.json": "mcpServers",
    ".omp/mcp.json": "mcpServers",
    ".config/zed/settings.json": "context_servers",
    "project/.mcpool/mcp.json": "mcpServers",
    "project/.mcp.json": "mcpServers",
    "project/mcp.json": "mcpServers",
    "project/.cursor/mcp.json": "mcpServers",
    "project/.gemini/settings.json": "mcpServers",
    "project/.kiro/settings/mcp.json": "mcpServers",
    "project/.vscode/mcp.json": "servers",
}
TOML_FILES = {
    ".config/mcpool/mcp.toml": "mcpServers",
    ".codex/config.toml": "mcp_servers",
    "project/.codex/config.toml": "mcp_servers",
}
YAML_FILE = ".continue/config.yaml"


class Discovering(Kind):
    """Finding every server of a home, in a new process each time; the import is not counted."""

    def start(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="mcpool-bench-"))
        write_home(self.home)
        self.sample()

    def sample(self) -> Sample:
        script = "discover_cost.py" if self.contestant.language == "Python" else "discover_cost.mjs"
        took = once([*self.program(script), str(self.home)], self.contestant.env)
        if (took["files"], took["servers"]) != (FILES, FILES * EACH):
            raise Failed(f"found {took['servers']} servers in {took['files']} files")
        return {"cpu_ms": took["cpu_s"] * 1e3, "wall_ms": took["wall_s"] * 1e3}

    def close(self, patience: float = 10) -> None:
        super().close(patience)
        shutil.rmtree(self.home, ignore_errors=True)


class Commanding(Kind):
    """A command that lists the tools of ten servers, one of which hangs. Before that it has run once when that one
    did not; peers remember nothing, and wait."""

    def start(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="mcpool-bench-"))
        self.held, self.config = self.home / "held", self.home / "mcp.json"
        servers = {f"healthy{index}": self.stdio() for index in range(HEALTHY)}
        servers["hanging"] = self.stdio("--hold", f"initialize={self.held}")
        self.config.write_text(json.dumps({"mcpServers": servers}))
        self.run()
        self.held.write_text("hold")

    def sample(self) -> Sample:
        wall_s = self.run()
        return {"wall_ms": "hangs" if wall_s is None else wall_s * 1e3}

    def run(self) -> float | None:
        env = {
            **os.environ,
            **self.contestant.env,
            "HOME": str(self.home),
            "MCPOOL_CACHE_DIR": str(self.home / "cache"),
        }
        began = time.monotonic()
        try:
            done = subprocess.run(
                self.command(),
                env=env,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=BOUND_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        finally:
            took = time.monotonic() - began
            sweep()
        if b"healthy" not in done.stdout:
            raise Failed((done.stderr or done.stdout).decode(errors="replace").strip()[-160:])
        return took

    def command(self) -> list[str]:
        if not self.contestant.ours:
            program = str(PEERS / "node_modules" / ".bin" / "mcporter")
            return [self.place.node, program, "--config", str(self.config), "list"]
        words = ["tools", "--config", str(self.config)]
        if self.contestant.language == "Python":
            return [self.place.python, "-m", "mcpool", *words]
        built = Path(self.contestant.env.get("BENCH_MCPOOL_NODE", ROOT))
        native = str(built / "node" / "native.js")
        run = "process.exitCode = require(process.argv[1]).runCommand(process.argv.slice(2), [])"
        return [self.place.node, "-e", run, native, *words]

    def close(self, patience: float = 10) -> None:
        super().close(patience)
        shutil.rmtree(self.home, ignore_errors=True)


def write_home(home: Path) -> None:
    """The files, each as its product writes it, with names that nobody else uses."""
    for number, (path, key) in enumerate(JSON_FILES.items()):
        _write(home / path, json.dumps({key: _servers(number)}, indent=2))
    for number, (path, key) in enumerate(TOML_FILES.items(), len(JSON_FILES)):
        _write(home / path, "".join(_toml(key, name, server) for name, server in _servers(number).items()))
    rows = [{"name": name, **server} for name, server in _servers(FILES - 1).items()]
    # JSON is YAML, but nobody writes it so.
    _write(home / YAML_FILE, "mcpServers:\n" + "".join(_yaml(row) for row in rows))


def _servers(number: int) -> dict[str, dict[str, Any]]:
    return {
        f"server-{number}-{index}": {
            "command": "npx",
            "args": ["-y", f"@example/server-{index}", "--root", "${HOME}/work"],
            "env": {"API_KEY": "${API_KEY}", "LOG_LEVEL": "debug"},
        }
        for index in range(EACH)
    }


def _toml(key: str, name: str, server: dict[str, Any]) -> str:
    env = ", ".join(f"{name} = {json.dumps(value)}" for name, value in server["env"].items())
    args = json.dumps(server["args"])
    return f'[{key}."{name}"]\ncommand = "{server["command"]}"\nargs = {args}\nenv = {{ {env} }}\n\n'


def _yaml(row: dict[str, Any]) -> str:
    args = "".join(f"      - {json.dumps(arg)}\n" for arg in row["args"])
    env = "".join(f"      {name}: {json.dumps(value)}\n" for name, value in row["env"].items())
    return f"  - name: {row['name']}\n    command: {row['command']}\n    args:\n{args}    env:\n{env}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
