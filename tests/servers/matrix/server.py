"""The server of the matrix on a Python library: server.py LIBRARY TRANSPORT [PORT].

The libraries are `mcp1`, `mcp2`, `fastmcp2`, `fastmcp3` and `fastmcp4`, the transports `stdio`, `http` and
`sse`. The README beside it says what it offers.
"""

import sys
from typing import Any

from pydantic import BaseModel

NAMES = ["Ada", "Alan", "Grace"]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Sum(BaseModel):
    sum: int


def add_tools(server: Any, context_class: type, failure: type[Exception]) -> None:
    Context = context_class  # The libraries find the context of a call by the class of the parameter.

    @server.tool()
    def echo(text: str) -> str:
        return text

    @server.tool()
    async def count(steps: int, context: Context) -> str:  # type: ignore[valid-type]
        for step in range(steps):
            await context.report_progress(step + 1, steps)
        return str(steps)

    @server.tool()
    def fail(message: str) -> str:
        raise failure(message)

    @server.tool()
    def add(a: int, b: int) -> Sum:
        return Sum(sum=a + b)

    @server.tool()
    async def log(text: str, context: Context) -> str:  # type: ignore[valid-type]
        await context.session.send_log_message("info", text, related_request_id=context.request_id)
        return "logged"


def add_the_rest(server: Any) -> None:
    @server.resource("matrix://note")
    def note() -> str:
        return "a note"

    @server.resource("matrix://greeting/{name}")
    def greeting(name: str) -> str:
        return f"Hello, {name}"

    @server.prompt()
    def greet(name: str) -> str:
        return f"Greet {name}"


def add_completion(server: Any, types: Any) -> None:
    @server.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> Any:
        return types.Completion(values=[name for name in NAMES if name.startswith(argument.value)])


def add_questions(server: Any, context_class: type, types: Any) -> None:
    """The tools that ask the client: by a request, or since 2026-07-28 by an answer that requires input."""
    Context = context_class
    Answer = str | types.InputRequiredResult if hasattr(types, "InputRequiredResult") else str

    async def ask(context: Any, question: Any, result: type[BaseModel]) -> Any:
        answers = getattr(context, "input_responses", None)
        if answers:
            return as_text(answers["answer"])
        version = getattr(context.request_context, "protocol_version", "")
        if version >= "2026-07-28":
            return types.InputRequiredResult(input_requests={"answer": question})
        if hasattr(types, "ServerRequest") and not hasattr(types, "InputRequiredResult"):
            question = types.ServerRequest(question)
        return as_text(await context.session.send_request(question, result))

    @server.tool()
    async def sample(context: Context) -> Answer:  # type: ignore[valid-type]
        content = types.TextContent(type="text", text="Say a word.")
        messages = [types.SamplingMessage(role="user", content=content)]
        params = types.CreateMessageRequestParams(messages=messages, maxTokens=10)
        question = types.CreateMessageRequest(method="sampling/createMessage", params=params)
        return await ask(context, question, types.CreateMessageResult)

    @server.tool()
    async def elicit(context: Context) -> Answer:  # type: ignore[valid-type]
        form = getattr(types, "ElicitRequestFormParams", None) or types.ElicitRequestParams
        params = form(message="What is your name?", requestedSchema=SCHEMA)
        question = types.ElicitRequest(method="elicitation/create", params=params)
        return await ask(context, question, types.ElicitResult)

    @server.tool()
    async def roots(context: Context) -> Answer:  # type: ignore[valid-type]
        question = types.ListRootsRequest(method="roots/list")
        return await ask(context, question, types.ListRootsResult)


def as_text(answer: BaseModel) -> str:
    return answer.model_dump_json(by_alias=True, exclude_none=True)


def create(library: str) -> Any:
    if library.startswith("fastmcp"):
        from fastmcp import Context, FastMCP
        from fastmcp.exceptions import ToolError

        server = FastMCP("matrix")
    elif library == "mcp2":
        from mcp.server.mcpserver import Context, MCPServer
        from mcp.server.mcpserver.exceptions import ToolError

        server = MCPServer("matrix")
    else:
        from mcp.server.fastmcp import Context, FastMCP
        from mcp.server.fastmcp.exceptions import ToolError

        server = FastMCP("matrix")
    if library in ("mcp2", "fastmcp4"):
        import mcp_types as types
    else:
        from mcp import types
    add_tools(server, Context, ToolError)
    add_the_rest(server)
    # FastMCP has completion since 4.
    if hasattr(server, "completion"):
        add_completion(server, types)
    add_questions(server, Context, types)
    return server


def application(library: str, transport: str) -> Any:
    """The library's own ASGI application."""
    server = create(library)
    if library.startswith("fastmcp"):
        return server.http_app(transport=transport)
    return server.sse_app() if transport == "sse" else server.streamable_http_app()


if __name__ == "__main__":
    library, transport, *port = sys.argv[1:]
    if transport == "stdio":
        create(library).run("stdio")
    else:
        import uvicorn

        uvicorn.run(application(library, transport), host="127.0.0.1", port=int(port[0]), log_level="warning")
