"""What stands in for the machine's environment, home and platform."""

from __future__ import annotations

from os import fspath

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from typing import Any

    from ._server import Surroundings


def plain_surroundings(surroundings: Surroundings | None) -> dict[str, Any] | None:
    """The same with nothing in it but what JSON knows."""
    if surroundings is None:
        return None
    plain: dict[str, Any] = dict(surroundings)
    if plain.get("home") is not None:
        plain["home"] = fspath(plain["home"])
    return plain
