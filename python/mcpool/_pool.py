"""The native pool, with the keywords of its options."""

from __future__ import annotations

from . import _options
from ._native import Pool
from ._signature import show_keywords

__all__ = ["Pool"]

show_keywords(_options.POOL, _options.POOL_DOC)(Pool)
