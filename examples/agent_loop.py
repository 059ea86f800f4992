"""An agent loop without a framework. A script stands in for the model, so this runs without a network."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import mcpool

CONFIG = {"mcpServers": {"demo": {"command": sys.executable, "args": ["-m", "mcpool", "demo-server"]}}}


class ScriptedModel:
    """Asks for a tool that does not exist, makes a mistake in the arguments, and then answers.

    Replace it with your model.
    """

    def __init__(self) -> None:
        self.turns = iter(
            [
                {"tool": "mcp_demo_sum", "arguments": {"a": 2, "b": 40}},
                {"tool": "mcp_demo_add", "arguments": {"a": 2, "b": "forty"}},
                {"tool": "mcp_demo_add", "arguments": {"a": 2, "b": 40}},
                {"answer": "It is 42."},
            ]
        )

    async def reply(self, tools: list[dict[str, Any]], messages: list[dict[str, str]]) -> dict[str, Any]:
        """The next message of the model."""
        assert tools and messages
        return next(self.turns)


async def run(model: ScriptedModel, manager: mcpool.Manager, question: str) -> str:
    """Lets the model call tools until it answers."""
    messages = [{"role": "user", "content": question}]
    while True:
        # The list is read for each turn, because servers may change their tools.
        tools = {tool.name: tool for tool in manager.get_tools()}
        offered = [
            {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
            for tool in tools.values()
        ]
        reply = await model.reply(offered, messages)
        if "answer" in reply:
            return str(reply["answer"])
        tool = tools.get(reply["tool"])
        if tool is None:
            messages.append({"role": "tool", "content": f"There is no tool {reply['tool']}"})
            continue
        # A failure is text for the model, not an exception.
        output = await tool.execute(reply["arguments"])
        print("tool:", reply["tool"], reply["arguments"], "failed" if output.is_error else "ok")
        messages.append({"role": "tool", "content": output.text})


async def main() -> None:
    """Connects, and asks one question."""
    async with mcpool.Manager(CONFIG) as manager:
        report = await manager.connect_all()
        print("ready:", [*report.connected, *report.deferred])
        print("answer:", await run(ScriptedModel(), manager, "What is 2 + 40?"))


asyncio.run(main())
