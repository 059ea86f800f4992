"""How tools are named, for annotations. Imported on first use: the package itself loads no types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

Naming: TypeAlias = Literal["plain", "letters", "double", "raw"] | Callable[[str, str], str]
"""How tools are named: a style, or a function of server and raw tool name."""
