"""A FastAPI service. One manager lives as long as the service, and all requests share its connections.

In this directory, `uvicorn web_service:app` starts it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import mcpool
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

CONFIG = {"mcpServers": {"demo": {"command": sys.executable, "args": ["-m", "mcpool", "demo-server"]}}}
STATUSES = {"TOOL_REJECTED": 404, "INVALID_ARGUMENTS": 400}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Connects before the first request, and ends the servers after the last one."""
    async with mcpool.Manager(CONFIG) as manager:
        await manager.connect_all()
        app.state.manager = manager
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/tools")
async def tools(request: Request) -> list[str]:
    """The names of all tools."""
    return [tool.name for tool in request.app.state.manager.get_tools()]


@app.post("/tools/{name}")
async def call(name: str, arguments: dict[str, Any], request: Request) -> dict[str, Any]:
    """Calls a tool by its name. A request that is aborted cancels the call."""
    result = await while_connected(request, request.app.state.manager.call(name, arguments, timeout=30.0))
    return {"text": result.text, "structured": result.structured, "isError": result.is_error}


@app.get("/health")
async def health(request: Request) -> dict[str, str]:
    """The state of each server; it starts nothing."""
    return {status.name: status.state for status in request.app.state.manager.status()}


async def while_connected(request: Request, call: Awaitable[mcpool.ToolResult]) -> mcpool.ToolResult:
    """The result of the call. If the client leaves, the call is cancelled; FastAPI does not do that."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    task, watcher = asyncio.ensure_future(call), asyncio.ensure_future(gone())
    watcher.add_done_callback(lambda _: task.cancel())
    try:
        return await task
    except asyncio.CancelledError:
        if not watcher.done():
            raise
        raise HTTPException(499) from None  # nobody reads it
    finally:
        watcher.cancel()


@app.exception_handler(mcpool.McpoolError)
async def failed(_: Request, error: mcpool.McpoolError) -> JSONResponse:
    """A failed call. `str(error)` would also show what the server wrote to its log."""
    body = {"code": error.code, "message": error.text, "hint": error.hint}
    return JSONResponse(body, STATUSES.get(error.code, 502))


@app.exception_handler(RequestValidationError)
async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
    """A body that is no JSON object."""
    body = {"code": "INVALID_ARGUMENTS", "message": "The body must be a JSON object", "hint": None}
    return JSONResponse(body, 400)
