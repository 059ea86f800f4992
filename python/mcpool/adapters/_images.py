"""The images of a result, as bytes: what every framework with a content type for images is made from."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Image(NamedTuple):
    """One image of a result."""

    data: bytes
    mime_type: str


def images(content: Sequence[dict[str, Any]]) -> list[Image]:
    """The images among these blocks, in order; what cannot be decoded stays the text that stands for it."""
    found = (image(block) for block in content)
    return [image for image in found if image is not None]


def image(block: dict[str, Any]) -> Image | None:
    """The image of a block, also of an embedded resource that is one."""
    if block.get("type") == "image":
        encoded, mime_type = block.get("data"), block.get("mimeType")
    else:
        resource = block.get("resource")
        resource = resource if isinstance(resource, dict) else {}
        encoded, mime_type = resource.get("blob"), resource.get("mimeType")
    if not isinstance(encoded, str) or not isinstance(mime_type, str) or not mime_type.startswith("image/"):
        return None
    try:
        return Image(b64decode(encoded, validate=True), mime_type)
    except ValueError:
        return None
