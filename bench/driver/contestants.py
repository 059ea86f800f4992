"""Who takes part. A contestant is a worker script in `workers/`; see there how each client is used."""

from __future__ import annotations

from .model import Contestant

MCPOOL = Contestant("mcpool", "Python", "mcpool_client.py", ours=True, module="mcpool")
UVLOOP = Contestant("mcpool, uvloop", "Python", "mcpool_client.py", ours=True, extra=True, env={"BENCH_LOOP": "uvloop"})
MCP = Contestant("mcp", "Python", "mcp_client.py", module="mcp")
# `import fastmcp` alone is lazy and loads no client.
FASTMCP = Contestant("fastmcp", "Python", "fastmcp_client.py", module="fastmcp.client")
ASYNCIO = Contestant("asyncio floor", "Python", "floor_client.py")
PYTHON = [MCPOOL, MCP, FASTMCP, ASYNCIO]

NODE_MCPOOL = Contestant("mcpool (Node)", "Node", "mcpool.mjs", ours=True, module="mcpool")
SDK = Contestant("sdk", "Node", "sdk.mjs", module="sdk")
CLIENT = Contestant("client", "Node", "client.mjs", module="client")
NODE_FLOOR = Contestant("Node floor", "Node", "floor.mjs")
NODE = [NODE_MCPOOL, SDK, CLIENT, NODE_FLOOR]

# Ours over every transport of a network; Streamable HTTP is what the others are set against.
OVER_HTTP = Contestant("over HTTP", "Python", "mcpool_client.py", transport="http")
OVER_SSE = Contestant("over SSE", "Python", "mcpool_client.py", ours=True, transport="sse")
OVER_WEBSOCKET = Contestant("over WebSocket", "Python", "mcpool_client.py", ours=True, transport="websocket")

# Ours at a server that wants a token: one that we signed in to, and one whose token is written in its definition.
WITH_HEADER = Contestant("with a header", "Python", "mcpool_client.py")
WITH_LOGIN = Contestant("with OAuth", "Python", "mcpool_client.py", ours=True)

C = Contestant("C client", "C", "connect")

# With the ways they have to come back, or to hold many servers.
FASTMCP_KEPT = Contestant("fastmcp", "Python", "fastmcp_kept.py")
FASTMCP_CONFIG = Contestant("fastmcp", "Python", "fastmcp_config.py")
LANGCHAIN = Contestant("langchain", "Python", "langchain_client.py", venv="langchain")
MASTRA = Contestant("mastra", "Node", "mastra.mjs")
MCPORTER = Contestant("mcporter", "Node", "mcporter.mjs")
