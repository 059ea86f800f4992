"""The prompts of a server. Imported by the first verb about them, never by the package itself."""

from __future__ import annotations

from typing import Any, NamedTuple


class PromptArgument(NamedTuple):
    """What a prompt is filled in with."""

    name: str
    title: str | None
    description: str | None
    required: bool


class Prompt(NamedTuple):
    """A prompt that a server offers; `raw` is all that the server says of it."""

    name: str
    title: str | None
    description: str | None
    arguments: list[PromptArgument]
    raw: dict[str, Any]

    @property
    def icons(self) -> list[dict[str, Any]] | None:
        """Its icons as the server gives them, or None."""
        return self.raw.get("icons")


class PromptMessage(NamedTuple):
    """A message of a prompt; `content` is a block as in a result."""

    role: str
    content: dict[str, Any]

    @property
    def text(self) -> str | None:
        """The text, if the content is one."""
        return self.content.get("text") if self.content.get("type") == "text" else None


class PromptResult(NamedTuple):
    """A prompt that is filled in."""

    description: str | None
    messages: list[PromptMessage]
    raw: dict[str, Any]


class Completion(NamedTuple):
    """Values that an argument may have."""

    values: list[str]
    total: int | None
    has_more: bool


class PromptList(list[Prompt]):
    """A list of prompts, which a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from . import _html

        return _html.prompt_list(self)


def read_prompts(rows: list[dict[str, Any]]) -> PromptList:
    return PromptList(
        Prompt(
            row["name"],
            row.get("title"),
            row.get("description"),
            [_argument(argument) for argument in row["arguments"]],
            row,
        )
        for row in rows
    )


def _argument(row: dict[str, Any]) -> PromptArgument:
    return PromptArgument(row["name"], row.get("title"), row.get("description"), row["required"])


def read_prompt(row: dict[str, Any]) -> PromptResult:
    messages = [PromptMessage(message["role"], message["content"]) for message in row["messages"]]
    return PromptResult(row.get("description"), messages, row)


def read_completion(row: dict[str, Any]) -> Completion:
    return Completion(row["values"], row.get("total"), row["hasMore"])
