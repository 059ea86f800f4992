"""A small MCP server for the tour: it draws, measures, and can be told to crash. Standard library only.

Run as a program, it speaks JSON-RPC on standard input and output, one message a line.
"""

from __future__ import annotations

import base64
import json
import math
import os
import struct
import sys
import zlib
from typing import Any

NUMBER = {"type": "number"}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "wave",
        "title": "Draw a wave",
        "description": "Draws a sine wave as a PNG picture",
        "inputSchema": {"type": "object", "properties": {"periods": NUMBER}, "required": ["periods"]},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "measure",
        "description": "Gives points of the wave as structured data",
        "inputSchema": {"type": "object", "properties": {"periods": NUMBER, "points": NUMBER}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "crash",
        "description": "Ends the server's process in the middle of the call",
        "inputSchema": {"type": "object"},
        "annotations": {"destructiveHint": True},
    },
]


def png(width: int, height: int, rows: list[bytes]) -> bytes:
    """A picture from rows of three bytes a pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def wave(periods: float, width: int = 480, height: int = 120) -> bytes:
    """The wave, thick enough to be seen, on a soft gradient."""
    heights = [
        height / 2 - math.sin(x / width * periods * math.tau) * (height / 2 - 12) for x in range(width)
    ]
    rows = []
    for y in range(height):
        row = bytearray()
        for x in range(width):
            near = abs(y - heights[x]) < 3 + abs(heights[x] - heights[x - 1])
            row += b"\xff\xd1\x66" if near else bytes((20 + y // 4, 40 + y // 2, 90 + x // 8))
        rows.append(bytes(row))
    return png(width, height, rows)


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What the tool answers."""
    periods = arguments.get("periods", 1)
    if name == "crash":
        os._exit(3)
    if not isinstance(periods, (int, float)):
        return {"content": [{"type": "text", "text": "periods must be a number"}], "isError": True}
    if name == "wave":
        picture = base64.b64encode(wave(periods)).decode()
        caption = {"type": "text", "text": f"A sine wave with {periods} periods"}
        return {"content": [caption, {"type": "image", "mimeType": "image/png", "data": picture}]}
    count = int(arguments.get("points", 32))
    points = [
        {"x": round(at / count, 3), "y": round(math.sin(at / count * periods * math.tau), 3)}
        for at in range(count)
    ]
    structured = {"periods": periods, "points": points}
    return {
        "content": [{"type": "text", "text": json.dumps(structured)}],
        "structuredContent": structured,
    }


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that is not known."""
    if method == "initialize":
        info = {"name": "pictures", "version": "1.0"}
        version = params.get("protocolVersion", "2025-06-18")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    return {} if method == "ping" else None


def main() -> None:
    """Serves until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params") or {})
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        print(
            json.dumps(
                {"jsonrpc": "2.0", "id": request["id"]} | (unknown if result is None else {"result": result})
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
