"""Elicitation: a call waits in the framework's own loop while a person answers the server's question."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import mcpool
import pytest
from fixture_server import read_journal
from langgraph.types import interrupt
from script import Call
from test_table import World, loops

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
ASK: Call = (
    "mcp_a_ask",
    {"method": "elicitation/create", "params": {"message": "Where to?", "requestedSchema": SCHEMA}},
)


@pytest.mark.parametrize("row", loops())
def test_an_agent_waits_while_a_person_answers(row: str, tmp_path: Path) -> None:
    async def ask(request: mcpool.ElicitationRequest) -> dict[str, Any]:
        assert (request.server, request.message) == ("a", "Where to?")
        await asyncio.sleep(0)
        return {"action": "accept", "content": {"city": "Rome"}}

    seen = World(row, "two agents", tmp_path).run([ASK], on_elicitation=ask)
    assert "Rome" in seen.told[0].text and not seen.told[0].is_error


def test_an_interrupt_of_langgraph_does_not_leave_the_callback(tmp_path: Path) -> None:
    """The server's request is cancelled, and the run goes on: the call is not made twice."""

    def ask(request: mcpool.ElicitationRequest) -> Any:
        return interrupt(request.message)

    world = World("LangChain `tools`", "two agents", tmp_path)
    assert '"cancel"' in world.run([ASK], on_elicitation=ask).told[0].text
    assert read_journal(world.journal).count({"event": "ran", "tool": "ask"}) == 1
