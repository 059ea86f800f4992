"""The table of adapters without any framework: its rows, its columns, and what a framework cannot do.

`test_table.py` checks every cell, and that docs/adapters.md shows this table.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

# What a person answers to the question about a call, given the name of its tool.
Ask: TypeAlias = Callable[[str], bool]


@dataclass
class Told:
    """What a model is told of one call, and the data for the application. None: the framework has no mark."""

    text: str
    is_error: bool | None = None
    images: int = 0
    structured: Any = None


@dataclass
class Seen:
    """What the model of one agent was told, and which tools it was offered on each turn."""

    told: list[Told] = field(default_factory=list)
    offered: list[set[str]] = field(default_factory=list)


class Loop(NamedTuple):
    """An agent over a manager, from its first turn to `done`."""

    run: Callable[..., Seen | Coroutine[Any, Any, Seen]]
    # If the framework itself can ask a person: hands the tools over on another way, with `needs_approval`.
    ask_elsewhere: Callable[[Any], object] | None = None
    takes_text: bool = False  # The model's arguments are text, which may be anything.


# The rows, by the module of their tests.
ROWS = {
    "langchain": ["LangChain `tools`", "LangChain `live_tools`"],
    "openai_agents": ["OpenAI Agents `tools`", "OpenAI Agents `server`"],
    "pydantic_ai": ["Pydantic AI `toolset`"],
    "anthropic": ["Anthropic `run`", "Anthropic `runner_tools`"],
    "openai": ["OpenAI `run_response`", "OpenAI `run_chat`"],
    "google_genai": ["Google Gen AI `run`", "Google Gen AI `functions`"],
    "llama_index": ["LlamaIndex `tools`", "LlamaIndex `ToolRetriever`"],
    "smolagents": ["smolagents `ToolCallingAgent`", "smolagents `CodeAgent`"],
    "crewai": ["CrewAI, native calls", "CrewAI, ReAct"],
}

COLUMNS = [
    "structured",
    "image",
    "error",
    "error with image",
    "unknown tool",
    "bad arguments",
    "free-form arguments",
    "kill between turns",
    "kill within a call",
    "list change",
    "refused",
    "cancelled",
    "two agents",
    "long result",
]


class Limit(NamedTuple):
    """What a framework does instead; `kind` is what the test of its column checks."""

    kind: str
    text: str


NO_PLACE = Limit("no place", "The application gets the text only; call `tool.execute` itself for the data.")
NAMED = Limit("named", "The image is named in the text, not shown.")
UNMARKED = Limit("unmarked", "There is no mark for errors; the text begins with `Error:` or `MCP error:`.")
OWN_TEXT = Limit("own text", "The framework itself tells the model that there is no such tool.")
RAISES = Limit("raises", "The framework ends the run with an exception of its own.")
GUESSES = Limit("guesses", "The framework calls the tool with the most similar name.")
OWN_CHECK = Limit("own check", "The framework itself checks the types of arguments and tells the model.")
AS_JSON = Limit(
    "as JSON", "The model gives them as one JSON object in `further_arguments`, and a warning is logged."
)
NEXT_RUN = Limit("next run", "The list is that of the beginning of a run; the next run has the new one.")
CLOSED = Limit("closed", "The framework cannot cancel a call; `toolTimeout` or closing the manager ends it.")

LIMITS: dict[str, dict[str, Limit]] = {
    "LangChain `tools`": {"unknown tool": OWN_TEXT, "list change": NEXT_RUN},
    "OpenAI Agents `tools`": {
        "structured": NO_PLACE,
        "error": UNMARKED,
        "unknown tool": RAISES,
        "list change": NEXT_RUN,
    },
    "OpenAI Agents `server`": {"error": UNMARKED, "unknown tool": RAISES},
    "Pydantic AI `toolset`": {"unknown tool": OWN_TEXT},
    "Anthropic `run`": {"structured": NO_PLACE},
    "Anthropic `runner_tools`": {"structured": NO_PLACE, "unknown tool": OWN_TEXT},
    "OpenAI `run_response`": {"structured": NO_PLACE, "error": UNMARKED},
    "OpenAI `run_chat`": {"structured": NO_PLACE, "image": NAMED, "error": UNMARKED},
    "Google Gen AI `run`": {"structured": NO_PLACE},
    "Google Gen AI `functions`": {
        "structured": NO_PLACE,
        "image": NAMED,
        "unknown tool": RAISES,
        "free-form arguments": AS_JSON,
        "list change": NEXT_RUN,
    },
    "LlamaIndex `tools`": {"unknown tool": OWN_TEXT, "list change": NEXT_RUN},
    "LlamaIndex `ToolRetriever`": {"unknown tool": OWN_TEXT},
    "smolagents `ToolCallingAgent`": {
        "structured": NO_PLACE,
        "error": UNMARKED,
        "unknown tool": OWN_TEXT,
        "bad arguments": OWN_CHECK,
        "free-form arguments": AS_JSON,
    },
    "smolagents `CodeAgent`": {
        "structured": NO_PLACE,
        "error": UNMARKED,
        "unknown tool": OWN_TEXT,
        "free-form arguments": AS_JSON,
    },
    "CrewAI, native calls": {
        "image": NAMED,
        "unknown tool": OWN_TEXT,
        "free-form arguments": AS_JSON,
        "cancelled": CLOSED,
    },
    "CrewAI, ReAct": {
        "image": NAMED,
        "unknown tool": GUESSES,
        "free-form arguments": AS_JSON,
        "list change": NEXT_RUN,
        "cancelled": CLOSED,
    },
}


def limit(row: str, column: str) -> Limit | None:
    return LIMITS.get(row, {}).get(column)


def markdown() -> str:
    """The table as the docs show it."""
    kinds = list({limit.kind: limit for limits in LIMITS.values() for limit in limits.values()}.values())
    letters = {limit.kind: chr(ord("a") + number) for number, limit in enumerate(kinds)}

    def cell(row: str, column: str) -> str:
        found = limit(row, column)
        return "yes" if found is None else letters[found.kind]

    rows = [row for rows in ROWS.values() for row in rows]
    lines = [f"| | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    lines += [f"| {row} | {' | '.join(cell(row, column) for column in COLUMNS)} |" for row in rows]
    lines += ["", *(f"- **{letters[limit.kind]}**: {limit.text}" for limit in kinds)]
    return "\n".join(lines) + "\n"
