"""A FastAPI service. One manager lives as long as the service, and all requests share its connections.

`uvicorn --app-dir examples web_service:app` starts it.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcpool
from fastapi import FastAPI, HTTPException, Request

CONFIG = {"mcpServers": {"demo": {"command": sys.executable, "args": ["-m", "mcpool", "demo-server"]}}}


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
    try:
        result = await request.app.state.manager.call(name, arguments, timeout=30.0)
    except mcpool.ToolRejectedError as error:
        raise HTTPException(404, str(error)) from error
    except mcpool.McpoolError as error:
        raise HTTPException(502, {"code": error.code, "message": str(error)}) from error
    return {"text": result.text, "structured": result.structured, "is_error": result.is_error}


@app.get("/health")
async def health(request: Request) -> dict[str, str]:
    """The state of each server; it starts nothing."""
    return {status.name: status.state for status in request.app.state.manager.status()}
