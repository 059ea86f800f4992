"""Reading JSON Schemas of servers, which may be of any form."""

from __future__ import annotations

from typing import Any


def properties(schema: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an input schema, including those of its alternatives."""
    parts = [part for word in ("allOf", "anyOf", "oneOf") for part in members(schema.get(word))]
    found: dict[str, Any] = {}
    for part in parts:
        found |= properties(part)
    own = schema.get("properties")
    return found | own if isinstance(own, dict) else found


def is_open(schema: dict[str, Any]) -> bool:
    """Whether a schema says that there may be arguments which it does not name.

    One that says nothing about them has none: most tools without arguments have such a schema.
    """
    parts = [part for word in ("allOf", "anyOf", "oneOf") for part in members(schema.get(word))]
    others = schema.get("additionalProperties")
    has_others = others is True or isinstance(others, dict) or bool(schema.get("patternProperties"))
    return has_others or any(is_open(part) for part in parts)


def members(schemas: object) -> list[dict[str, Any]]:
    """The schemas of a list that are objects."""
    return [schema for schema in schemas if isinstance(schema, dict)] if isinstance(schemas, list) else []


def inlined(schema: Any, root: dict[str, Any]) -> Any:
    """The schema without references into its root, for frameworks that keep only the properties.

    Recursive, very large and deeply nested parts become empty schemas.
    """
    return Inliner(root).inlined(schema, ())


class Inliner:
    """Follows a limited number of references: a short schema can expand to any size."""

    def __init__(self, root: dict[str, Any], references: int = 500, depth: int = 100) -> None:
        self._root = root
        self._references = references
        self._depth = depth

    def inlined(self, schema: Any, within: tuple[str, ...], depth: int = 0) -> Any:
        if depth > self._depth:
            return {}
        if isinstance(schema, list):
            return [self.inlined(element, within, depth + 1) for element in schema]
        if not isinstance(schema, dict):
            return schema
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            # None, or a property of that name
            return {word: self.inlined(value, within, depth + 1) for word, value in schema.items()}
        others = {word: value for word, value in schema.items() if word != "$ref"}
        beside = self.inlined(others, within, depth)
        if not reference.startswith("#") or reference in within or self._references == 0:
            return beside
        self._references -= 1
        target = self.inlined(resolved(reference, self._root), (*within, reference), depth + 1)
        return {**target, **beside} if isinstance(target, dict) else beside


def resolved(reference: str, root: dict[str, Any]) -> Any:
    """The target of a local reference; None if there is none."""
    place: Any = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        place = place.get(name) if isinstance(place, dict) else None
    return place


def optional_as_null(schema: Any) -> Any:
    """The schema with null for every member that may be left out, for frameworks that demand them all."""
    if isinstance(schema, list):
        return [optional_as_null(element) for element in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {word: optional_as_null(value) for word, value in schema.items() if word != "properties"}
    if is_object(schema):
        needed = required(schema)
        own = {name: optional_as_null(member) for name, member in schema["properties"].items()}
        changed["properties"] = {
            name: member if name in needed or allows_null(member) else {"anyOf": [member, {"type": "null"}]}
            for name, member in own.items()
        }
    return changed


def without_nulls(value: Any, schema: Any) -> Any:
    """The arguments without the nulls that stand for what was left out."""
    if isinstance(value, list) and isinstance(schema, dict):
        return [without_nulls(element, schema.get("items")) for element in value]
    if not isinstance(value, dict) or not isinstance(schema, dict) or not is_object(schema):
        return value
    needed, members = required(schema), schema["properties"]
    return {
        name: without_nulls(member, members.get(name))
        for name, member in value.items()
        if member is not None or name in needed or name not in members or allows_null(members[name])
    }


def is_object(schema: dict[str, Any]) -> bool:
    return isinstance(schema.get("properties"), dict)


def required(schema: dict[str, Any]) -> list[Any]:
    names = schema.get("required")
    return names if isinstance(names, list) else []


def allows_null(schema: Any) -> bool:
    """Whether a schema allows null; without a type it allows everything."""
    if not isinstance(schema, dict):
        return schema is not False
    kinds = schema.get("type")
    if kinds is not None:
        return kinds == "null" or (isinstance(kinds, list) and "null" in kinds)
    alternatives = [*members(schema.get("anyOf")), *members(schema.get("oneOf"))]
    if alternatives:
        return any(allows_null(alternative) for alternative in alternatives)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return values is None or (isinstance(values, list) and None in values)
