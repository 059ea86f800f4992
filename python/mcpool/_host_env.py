"""A replacement for the process's environment, home and platform."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, Literal, TypedDict


class HostEnv(TypedDict, total=False):
    """Environment, home and platform that replace the process's own; omitted keys are not replaced."""

    env: Mapping[str, str] | None
    home: str | PathLike[str] | None
    platform: Literal["linux", "macos", "windows"] | None


def plain_host_env(host_env: HostEnv | None) -> dict[str, Any] | None:
    """The same with JSON types only."""
    if host_env is None:
        return None
    plain: dict[str, Any] = dict(host_env)
    if plain.get("home") is not None:
        plain["home"] = fspath(plain["home"])
    return plain
