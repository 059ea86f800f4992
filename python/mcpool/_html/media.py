"""Pictures and sounds of a result, inside the page: only kinds that a browser shows without running anything.

A picture is shown by an `img` element and nothing else: there an SVG runs no script and fetches nothing.
"""

from __future__ import annotations

import base64
import binascii

from .frame import Budget, size, text

TYPE_CHECKING = False  # Not from typing: showing something stays cheap.
if TYPE_CHECKING:
    from collections.abc import Callable

_PICTURES: dict[str, Callable[[bytes], bool]] = {
    "image/png": lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda data: data.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda data: data.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda data: data.startswith(b"RIFF") and data[8:12] == b"WEBP",
    "image/avif": lambda data: data[4:8] == b"ftyp",
    "image/bmp": lambda data: data.startswith(b"BM"),
    "image/svg+xml": lambda data: b"<svg" in data[:4096],
}
_SOUNDS = {
    "audio/aac",
    "audio/flac",
    "audio/mp4",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/webm",
    "audio/x-wav",
}
_SAME = {"image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/wave": "audio/wav"}


def media_figure(data: object, kind: object, what: str, budget: Budget) -> str:
    """A picture or a sound, or a line that says why it is not shown; `what` is the alternative text."""
    kind = str(kind or "").partition(";")[0].strip().lower()
    kind = _SAME.get(kind, kind)
    if not isinstance(data, str):
        return _absent(f"{what}: no data")
    if len(data) * 3 // 4 > budget.media:
        return _absent(f"{what}, {kind}, {size(len(data) * 3 // 4)}: too much to show")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _absent(f"{what}, {kind}: the data is not base64")
    label = text(f"{what}, {kind}, {size(len(content))}", 200)
    # Encoded again, so that no text of the server is in the address.
    address = f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
    if kind in _PICTURES and _PICTURES[kind](content):
        budget.media -= len(content)
        return f'<figure><img src="{address}" alt="{label}"><figcaption>{label}</figcaption></figure>'
    if kind in _SOUNDS and content:
        budget.media -= len(content)
        player = f'<audio controls preload="metadata" src="{address}" aria-label="{label}"></audio>'
        return f"<figure>{player}<figcaption>{label}</figcaption></figure>"
    return _absent(f"{what}, {kind or 'of no kind'}, {size(len(content))}: not shown")


def _absent(words: str) -> str:
    return f'<p class="mcpool-dim">{text(words, 300)}</p>'
