"""A replacement for the process's environment, home and platform."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Literal, TypedDict


class HostEnv(TypedDict, total=False):
    """Environment, home and platform that replace the process's own; omitted keys are not replaced."""

    env: Mapping[str, str] | None
    home: str | PathLike[str] | None
    platform: Literal["linux", "macos", "windows"] | None
