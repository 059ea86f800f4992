"""The options of one call, and its span."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False  # The words of the core, for type checkers only.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, TypeAlias

    from ._telemetry import CallSpan

    Retry: TypeAlias = Literal["never", "safe"]
    """Which calls are sent again after a lost connection; a call that was never read is always sent again."""


class Progress(NamedTuple):
    """The progress of a call, in the server's own unit."""

    progress: float
    total: float | None
    message: str | None


_begin: Callable[..., CallSpan | None] | None = None


def begin_span(facts: Callable[..., dict[str, Any] | None], *which: str | None) -> CallSpan | None:
    """The span of a call that starts now; only for callers that have checked for OpenTelemetry."""
    global _begin
    if _begin is None:
        from ._telemetry import begin

        _begin = begin
    return _begin(facts, *which)
