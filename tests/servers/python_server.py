"""A server with a few tools on a Python library that others wrote: LIBRARY TRANSPORT PORT [tls].

The libraries are `mcp` (2.x), `fastmcp` and `mcp1`. They speak `http` and `sse`, and `mcp1` also `websocket`.
With `tls` it requires a certificate of its clients.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

CERTS = Path(__file__).resolve().parents[1] / "certs"


def add_tools(server: Any, context_class: type) -> None:
    Context = context_class  # The libraries find the context of a call by the class of the parameter.
    happened: list[str] = []

    @server.tool()
    def echo(text: str) -> str:
        return text

    @server.tool()
    async def count(steps: int, context: Context) -> str:  # type: ignore[valid-type]
        for step in range(steps):
            await context.report_progress(step + 1, steps)
        return str(steps)

    @server.tool()
    async def wait() -> str:
        """Ends only if it is cancelled."""
        happened.append("waits")
        try:
            await asyncio.Event().wait()
        finally:
            happened.append("cancelled")
        return "never"

    arrived = asyncio.Semaphore(0)

    @server.tool()
    async def meet(others: int) -> str:
        """Ends when this many calls wait for each other."""
        happened.append("meets")
        if happened.count("meets") == others:
            for _ in range(others):
                arrived.release()
        await arrived.acquire()
        return "met"

    @server.tool(name="happened")
    def tell() -> str:
        return json.dumps(happened)

    @server.tool()
    async def grow(context: Context) -> str:  # type: ignore[valid-type]
        server.add_tool(grown)
        await context.session.send_tool_list_changed()
        return "grown"

    def grown() -> str:
        return "here"

    @server.tool()
    def request(context: Context) -> str:  # type: ignore[valid-type]
        """The HTTP request that this call came with."""
        request = context.request_context.request
        return json.dumps({"version": request.scope["http_version"], "headers": dict(request.headers)})


def application(library: str, transport: str) -> Any:
    """The library's own ASGI application."""
    if library == "fastmcp":
        from fastmcp import Context, FastMCP

        server = FastMCP("real")
        # FastMCP turns a function into a tool first.
        add = server.add_tool
        from fastmcp.tools import Tool

        server.add_tool = lambda tool: add(tool if isinstance(tool, Tool) else Tool.from_function(tool))
        add_tools(server, Context)
        return server.http_app(transport=transport)
    if library == "mcp":
        from mcp.server.mcpserver import Context, MCPServer

        server = MCPServer("real")
    else:
        from mcp.server.fastmcp import Context, FastMCP

        server = FastMCP("real")
    add_tools(server, Context)
    if transport == "websocket":
        return over_websocket(server._mcp_server)
    return server.sse_app() if transport == "sse" else server.streamable_http_app()


def over_websocket(server: Any) -> Any:
    from mcp.server.websocket import websocket_server
    from starlette.applications import Starlette
    from starlette.routing import WebSocketRoute

    async def serve(socket: Any) -> None:
        async with websocket_server(socket.scope, socket.receive, socket._send) as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())

    return Starlette(routes=[WebSocketRoute("/ws", serve)])


if __name__ == "__main__":
    import ssl

    import uvicorn

    library, transport, port, *tls = sys.argv[1:]
    settings: dict[str, Any] = {
        "ssl_certfile": CERTS / "server.pem",
        "ssl_keyfile": CERTS / "server.key",
        "ssl_ca_certs": str(CERTS / "ca.pem"),
        "ssl_cert_reqs": ssl.CERT_REQUIRED,
    }
    app = application(library, transport)
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning", **(settings if tls else {}))
