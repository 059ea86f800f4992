"""HTML for notebooks. Imported by the first `_repr_html_`, never by the package itself."""

from .found import discovery
from .offers import prompt_list, resource_list, skill_list
from .results import output, result
from .servers import error, report, status, status_table
from .tools import tool, tool_list, tool_table

__all__ = [
    "discovery",
    "error",
    "output",
    "prompt_list",
    "report",
    "resource_list",
    "result",
    "skill_list",
    "status",
    "status_table",
    "tool",
    "tool_list",
    "tool_table",
]
