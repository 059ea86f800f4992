"""Makes the page about the JSON Schema of a config file from the schema itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from promises import plain

SCHEMA = Path(__file__).resolve().parents[2] / "core" / "schema" / "mcpool.schema.json"
# Where the schema is in the site
PLACE = "reference/mcpool.schema.json"

INTRO = """\
# Schema of a config file

[mcpool.schema.json](mcpool.schema.json) is the JSON Schema of mcpool's own config files; it ships with the
packages too. Name it in `$schema` of a file, and an editor completes and checks the fields.
[Configuration](../configuration.md) has defaults and examples.
"""
HEAD = "| field | type | about |\n|---|---|---|\n"


def page() -> str:
    """The Markdown of the page."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    server = schema["properties"]["mcpServers"]["additionalProperties"]
    file_rows, server_rows = "".join(rows(schema, "")), "".join(rows(server, ""))
    return f"{INTRO}\n## The file\n\n{HEAD}{file_rows}\n## A server\n\n{HEAD}{server_rows}"


def rows(schema: dict[str, Any], prefix: str) -> Iterable[str]:
    """A row for each field, those of an object after it."""
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        yield f"| `{path}` | {plain(', '.join(types(field)))} | {plain(field.get('description', ''))} |\n"
        yield from rows(field, f"{path}.")


def types(field: dict[str, Any]) -> list[str]:
    """The types that a field may have; null, which is the same as leaving it out, is not named."""
    if "enum" in field:
        return [f"`{json.dumps(value)}`" for value in field["enum"] if value is not None]
    named = field.get("type", [])
    own = [named] if isinstance(named, str) else list(named)
    parts = [part for key in ("anyOf", "oneOf") for one in field.get(key, []) for part in types(one)]
    return [one for one in dict.fromkeys([*own, *parts]) if one != "null"]
