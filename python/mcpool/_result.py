"""The parts of a result."""

from __future__ import annotations

from typing import NamedTuple


class Image(NamedTuple):
    """An image of a result; `data` is base64."""

    mime_type: str
    data: str

    @property
    def url(self) -> str:
        """The image as a data URL."""
        return f"data:{self.mime_type};base64,{self.data}"

    def decode(self) -> bytes:
        """The image as bytes."""
        from base64 import b64decode

        return b64decode(self.data)
