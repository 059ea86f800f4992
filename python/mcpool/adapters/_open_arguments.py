"""Arguments that a schema does not name, for frameworks that pass only arguments with a name.

They are one argument more, whose value is a JSON object; nothing that a model says is dropped.
"""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .._errors import McpoolError
from .._native import parse_arguments
from ._schema import is_open, properties

if TYPE_CHECKING:
    from .._native import Tool

DESCRIPTION = "Further arguments of this tool, which have no names here: one JSON object."


class OpenArguments:
    """The arguments of one tool in a framework that passes only named ones."""

    def __init__(self, tool: Tool, framework: str) -> None:
        self._schema = tool.object_schema
        self.name: str | None = _free_name(self._schema) if is_open(self._schema) else None
        if self.name is not None:
            _warn(framework, tool.name, self.name)

    def schema(self) -> dict[str, Any]:
        """The schema of the arguments, with the one for those without a name."""
        if self.name is None:
            return self._schema
        own = self._schema.get("properties")
        further = {"type": "string", "description": DESCRIPTION}
        closed = {word: said for word, said in self._schema.items() if word != "patternProperties"}
        named = {**(own if isinstance(own, dict) else {}), self.name: further}
        return {**closed, "properties": named, "additionalProperties": False}

    def gathered(self, arguments: dict[str, Any]) -> Any:
        """The arguments as the server wants them. The core refuses what is no JSON object."""
        if self.name is None or self.name not in arguments:
            return arguments
        named = {name: value for name, value in arguments.items() if name != self.name}
        further = arguments[self.name]
        if isinstance(further, str) and named:
            try:
                further = parse_arguments(further)
            except McpoolError:
                return further
        if further is None:
            return named
        if not isinstance(further, dict):
            return further
        return _both(further, named) if further.keys() & named.keys() else {**further, **named}


def _both(*objects: dict[str, Any]) -> str:
    """One JSON text. The core refuses the names that are in both."""
    return "{" + ",".join(json.dumps(each, default=str)[1:-1] for each in objects) + "}"


def _free_name(schema: dict[str, Any]) -> str:
    name, taken = "further_arguments", properties(schema)
    while name in taken:
        name += "_"
    return name


@lru_cache(maxsize=1024)  # Tools are made anew for each turn; the warning is for the first.
def _warn(framework: str, tool: str, argument: str) -> None:
    logging.getLogger("mcpool.adapters").warning(
        "%s takes arguments without names, which %s cannot pass: the model gives them as JSON in %r",
        tool,
        framework,
        argument,
    )
