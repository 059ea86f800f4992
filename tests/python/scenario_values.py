"""What "matches" means in a scenario, and how Python's values are written in the files' words."""

from __future__ import annotations

from typing import Any

import mcpool


def plain(value: Any) -> Any:
    """Records and errors as the JSON that the files are written in."""
    if isinstance(value, mcpool.McpoolError):
        fields = {name: plain(getattr(value, name)) for name in mcpool.McpoolError.__annotations__}
        return {**fields, "cause": plain(value.__cause__)}
    if isinstance(value, Exception):
        return {"message": str(value), "errno": getattr(value, "errno", None)}
    if isinstance(value, mcpool.Secret):
        return value.expose()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def check(expected: Any, actual: Any, at: str = "") -> None:
    """Says where `actual` differs from what is expected."""
    if expected == "${any}":
        assert actual is not None, f"{at}: is missing"
    elif isinstance(expected, str) and expected.startswith("${has:") and isinstance(actual, str):
        part = expected.removeprefix("${has:").removesuffix("}")
        assert part in actual, f"{at}: {part!r} is not in {actual!r}"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            check(value, actual.get(key), f"{at}.{key}")
    elif isinstance(expected, list) and isinstance(actual, list):
        assert len(expected) == len(actual), f"{at}: expected {expected}, got {actual}"
        for index, (value, item) in enumerate(zip(expected, actual, strict=True)):
            check(value, item, f"{at}[{index}]")
    else:
        # To Python, true is 1.
        same_kind = isinstance(expected, bool) == isinstance(actual, bool)
        assert same_kind and expected == actual, f"{at}: expected {expected!r}, got {actual!r}"


def matches(expected: Any, actual: Any) -> bool:
    """Whether `actual` is what is expected."""
    try:
        check(expected, actual)
    except AssertionError:
        return False
    return True


def is_subsequence(expected: list[Any], actual: list[Any]) -> bool:
    """Whether the items match in this order, with others between them."""
    rest = iter(actual)
    return all(any(matches(wanted, item) for item in rest) for wanted in expected)


def fill(value: Any, names: dict[str, Any]) -> Any:
    """`value` with `${name}` replaced: a text in every string, anything else where it is the whole string.

    A member `...` is replaced by the members of its value.
    """
    if isinstance(value, str):
        for name, replacement in names.items():
            pattern = f"${{{name}}}"
            if isinstance(replacement, str):
                value = value.replace(pattern, replacement)
            elif value == pattern:
                return replacement
        return value
    if isinstance(value, list):
        return [fill(item, names) for item in value]
    if isinstance(value, dict):
        filled = {key: fill(entry, names) for key, entry in value.items()}
        return {**filled.pop("...", {}), **filled}
    return value
