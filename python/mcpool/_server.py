"""What the surroundings may say: words for type checkers and editors."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Literal, TypedDict


class Surroundings(TypedDict, total=False):
    """Environment, home and platform in place of the process's own; what is left out is the process's own."""

    env: Mapping[str, str] | None
    home: str | PathLike[str] | None
    platform: Literal["linux", "macos", "windows"] | None
