"""What completion shows of a module: its public names."""

from __future__ import annotations

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def public_names(module: Mapping[str, Any]) -> list[str]:
    """The names in a module's `__all__`, and those that Python gives every module."""
    return sorted({*module["__all__"], *(name for name in module if name.startswith("__"))})
