"""How an error is shown: as text and in notebooks."""

from __future__ import annotations

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from ._error_classes import McpoolError


def error_text(error: McpoolError) -> str:
    """The text, the hint, and what the server wrote."""
    hint = f" ({error.hint})" if error.hint else ""
    stdout = f"; stdout:\n{error.stdout}" if error.stdout else ""
    stderr = f"; stderr:\n{error.stderr}" if error.stderr else ""
    return f"{error.text}{hint}{stdout}{stderr}"


def error_html(error: McpoolError) -> str:
    """A table with the fields that are set."""
    from . import _html

    return _html.error(error)
