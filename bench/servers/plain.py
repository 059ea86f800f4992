"""A small MCP server on stdin and stdout, whose start costs what that of a real Python server costs: its imports."""

import asyncio  # noqa: F401
import concurrent.futures  # noqa: F401
import dataclasses  # noqa: F401
import email.message  # noqa: F401
import http.client  # noqa: F401
import inspect  # noqa: F401
import json
import logging.config  # noqa: F401
import sqlite3  # noqa: F401
import ssl  # noqa: F401
import sys
import typing  # noqa: F401
import unittest.mock  # noqa: F401
import urllib.request  # noqa: F401
import xml.etree.ElementTree  # noqa: F401

TOOL = {"name": "nothing", "inputSchema": {"type": "object", "properties": {}}}


def answer(method: str, params: dict) -> dict:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
    return {"tools": [TOOL]} if method == "tools/list" else {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
