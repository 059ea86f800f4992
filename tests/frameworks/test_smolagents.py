"""smolagents: agents whose model is scripted, and our tools in their own loop."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import PIL.Image
import pytest
from fixture_server import all_gone, config, stdio, until
from mcpool.adapters.smolagents import PoolTool, Toolbox, tools
from script import SLEEP, Script, Turn, after_restart, echo, odd_tool, once_listed, received
from smolagents import AgentImage, ChatMessage, CodeAgent, MessageRole, Model, ToolCallingAgent
from smolagents.memory import ActionStep
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, get_tool_json_schema
from smolagents.tools import validate_tool_arguments
from table import Loop, Seen, Told

Manager = mcpool.blocking.Manager


class Scripted(Model):
    """Says what the script says; remembers what it was told and offered."""

    def __init__(self, script: Script) -> None:
        super().__init__(model_id="scripted")
        self.script = script
        self.told: list[Any] = []
        self.offered: list[dict[str, Any]] = []

    def generate(self, messages: Any, *_: Any, tools_to_call_from: Any = None, **__: Any) -> ChatMessage:
        request = self._prepare_completion_kwargs(messages, tools_to_call_from=tools_to_call_from)
        functions = [tool["function"] for tool in request.get("tools", [])]
        self.told.append(request["messages"])
        self.offered.append({function["name"]: function["parameters"] for function in functions})
        said = self.script.next()
        if isinstance(said, str) and not tools_to_call_from:
            return ChatMessage(role=MessageRole.ASSISTANT, content=said)
        # An agent that calls tools answers with one, too.
        said = [("final_answer", {"answer": said})] if isinstance(said, str) else said
        calls = [
            ChatMessageToolCall(
                function=ChatMessageToolCallFunction(name=name, arguments=arguments),
                id=f"call-{number}",
                type="function",
            )
            for number, (name, arguments) in enumerate(said)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)


def scripted(*turns: Turn) -> Scripted:
    return Scripted(Script(*turns))


def example(script: Script) -> dict[str, Any]:
    """What an example in the docs takes for granted."""
    return {"model": Scripted(script)}


@contextmanager
def connected(journal: Path | None = None) -> Iterator[Manager]:
    with Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool(), wrap=False) as manager:
        manager.connect_all()
        yield manager


def steps(agent: Any) -> list[ActionStep]:
    return [step for step in agent.memory.steps if isinstance(step, ActionStep)]


def run(manager: Manager, *turns: Turn) -> tuple[Scripted, list[ActionStep]]:
    """Runs an agent that calls tools, with a toolbox for its callback, to its answer."""
    model, box = scripted(*turns, "done"), Toolbox(manager)
    agent = ToolCallingAgent(tools=box.tools(), model=model, step_callbacks=[box], verbosity_level=0)
    assert agent.run("go") == "done"
    assert [step.error for step in steps(agent)] == [None] * len(steps(agent))
    return model, steps(agent)


class Coder(Scripted):
    """A model that writes its calls as code."""

    def generate(self, messages: Any, *_: Any, **__: Any) -> ChatMessage:
        self.told.append(messages)
        said = self.script.next()
        names = re.findall(r"mcp_a_\w+", str(messages[0].content))
        self.offered.append(dict.fromkeys(names))
        calls = [] if isinstance(said, str) else said
        lines = [f"print({name}(**{arguments!r}))" for name, arguments in calls]
        code = "\n".join(lines) or f"final_answer({said!r})"
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\n{code}\n</code>")


def loop(manager: Manager, script: Script, _ask: None, codes: bool) -> Seen:
    """An agent for the table. Code runs in the thread of the agent, so that Ctrl-C reaches it."""
    box = Toolbox(manager)
    given: Any = {"tools": box.tools(), "step_callbacks": [box], "verbosity_level": 0}
    model = Coder(script) if codes else Scripted(script)
    if codes:
        agent: Any = CodeAgent(model=model, executor_kwargs={"timeout_seconds": None}, **given)
    else:
        agent = ToolCallingAgent(model=model, **given)
    assert agent.run("go") == "done"
    return Seen([as_told(step) for step in steps(agent)[:-1]], [set(each) for each in model.offered])


def as_told(step: ActionStep) -> Told:
    observed = (step.observations or "").removeprefix("Execution logs:\n").partition("\nLast output")[0]
    text = observed if step.error is None else step.error.message
    return Told(text.strip(), None, len(step.observations_images or []))


LOOPS = {
    "smolagents `ToolCallingAgent`": Loop(partial(loop, codes=False)),
    "smolagents `CodeAgent`": Loop(partial(loop, codes=True)),
}


def test_a_schema_reaches_the_model_with_all_that_it_says() -> None:
    with connected() as manager:
        model, _ = run(manager)
        assert set(model.offered[0]) == {tool.name for tool in manager.get_tools()} | {"final_answer"}
        big = model.offered[0]["mcp_a_big"]
        assert big["required"] == ["bytes"]
        assert big["properties"]["bytes"] == {"type": "integer", "minimum": 0, "description": ""}
        shape = big["properties"]["shape"]
        assert (shape["enum"], shape["default"]) == (["text", "structured"], "text")


def test_a_schema_that_says_what_few_say_loses_nothing() -> None:
    odd = PoolTool(odd_tool())
    point = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    parameters = get_tool_json_schema(odd)["function"]["parameters"]
    shown = parameters["properties"]
    assert parameters["required"] == ["point"]
    assert shown["point"] == {**point, "description": ""}
    assert shown["either"]["allOf"] == [{"anyOf": [point, {"type": "null"}]}]
    assert set(shown["untyped"]["type"]) == set(shown["yes"]["type"]) >= {"string", "object", "null"}
    assert shown["tree"]["items"] == {}
    validate_tool_arguments(
        odd, {"point": {"x": 1}, "either": None, "numbers": 7, "untyped": [1], "yes": "x"}
    )
    with pytest.raises(ValueError, match="point"):
        validate_tool_arguments(odd, {})


def test_an_agent_calls_several_tools_at_once() -> None:
    with connected() as manager:
        model, (first, _) = run(manager, [echo("one"), echo("two"), ("mcp_a_add", {"a": 1, "b": 2.5})])
        assert first.observations is not None
        assert first.observations.splitlines()[:2] == ["one", "two"]
        assert "3.5" in first.observations
        assert "one" in str(model.told[1][-1])


def test_what_may_be_left_out_may_be_null() -> None:
    with connected() as manager:
        _, (first, _) = run(manager, [("mcp_a_big", {"bytes": 3, "shape": None})])
        assert first.observations == "The"


def test_an_error_of_a_tool_is_an_observation() -> None:
    with connected() as manager:
        _, (first, _) = run(manager, [("mcp_a_fail", {"message": "no such file"}), echo("unharmed")])
        assert first.observations == "Error: no such file\nunharmed"


def test_a_server_that_dies_is_an_observation() -> None:
    with connected() as manager:
        _, (died, back, _) = run(manager, [("mcp_a_exit", {"code": 3})], [echo("back")])
        assert (died.observations or "").startswith("MCP error: ")
        assert back.observations == "back"


def test_an_image_is_shown_to_the_model() -> None:
    with connected() as manager:
        model, (first, *_) = run(manager, [("mcp_a_image", {})], [echo("next")])
        (image,) = first.observations_images or []
        assert isinstance(image, PIL.Image.Image) and image.size == (1, 1)
        assert "one pixel" in (first.observations or "")
        (told,) = (part for part in model.told[1][-1]["content"] if part["type"] == "image")
        assert told["image"]


def test_a_result_that_is_nothing_but_an_image_is_an_agent_image() -> None:
    with connected() as manager:
        image = '{"type": "image", "mimeType": "image/png", "data": "%s"}'
        found = {tool.name: tool for tool in tools(manager)}
        (block,) = (block for block in manager.call_tool("a", "image").content if block["type"] == "image")
        given = found["mcp_a_raw"](json='{"content": [%s]}' % (image % block["data"]))
        assert type(given) is AgentImage and given.to_raw().size == (1, 1)
        for broken in ("bm90IGEgcGljdHVyZQ==", "not base64"):
            given = found["mcp_a_raw"](json='{"content": [%s]}' % (image % broken))
            assert given == "[Image: image/png]"


def test_code_calls_tools() -> None:
    with connected() as manager:
        calls = "mcp_a_echo('by place'), mcp_a_echo(text='by name'), mcp_a_echo({'text': 'by dict'})"
        code = f"<code>\nprint({calls})\n</code>"
        model = scripted(code, "<code>\nfinal_answer('done')\n</code>")
        agent = CodeAgent(tools=tools(manager), model=model, verbosity_level=0)
        assert agent.run("go") == "done"
        assert "by place by name by dict" in (steps(agent)[0].observations or "")


def test_code_reads_the_members_of_a_structured_result() -> None:
    with connected() as manager:
        summing = "<code>\nprint(mcp_a_add(a=1, b=2)['sum'] + 1)\n</code>"
        failing = "<code>\nmcp_a_add(a=1)\n</code>"
        model = scripted(summing, failing, "<code>\nfinal_answer('done')\n</code>")
        agent = CodeAgent(tools=tools(manager, structured=True), model=model, verbosity_level=0)
        assert agent.run("go") == "done"
        summed, failed, _ = steps(agent)
        assert "4" in (summed.observations or "").split()
        assert failed.error is not None and "MCP error: " in str(failed.error)
        (add,) = (tool for tool in manager.get_tools() if tool.name == "mcp_a_add")
        assert PoolTool(add, structured=True).output_schema == add.output_schema


def test_closing_the_manager_ends_the_call_and_not_the_agent(tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    with connected(journal) as manager:
        model = scripted([SLEEP], "done")
        agent = ToolCallingAgent(tools=tools(manager), model=model, verbosity_level=0)
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(agent.run("go")))
        thread.start()
        assert received(journal, "tools/call")
        manager.close()
        thread.join(60)
        assert answers == ["done"]
        assert (steps(agent)[0].observations or "").startswith("MCP error: ")


def test_ctrl_c_ends_the_call_and_the_agent(tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    with connected(journal) as manager:
        agent = ToolCallingAgent(tools=tools(manager), model=scripted([SLEEP], "done"), verbosity_level=0)

        def interrupt() -> None:
            if received(journal, "tools/call"):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            agent.run("go")
        assert received(journal, "notifications/cancelled")
        assert manager.call_tool("a", "echo", {"text": "unharmed"}).text == "unharmed"


def test_two_interrupts_end_a_call_of_code_in_a_thread(tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    main = threading.main_thread().ident or 0

    def waits_for_threads() -> bool:
        frame = sys._current_frames().get(main)
        names = [each.f_code.co_name for each, _ in traceback.walk_stack(frame)]
        return "shutdown" in names

    def interrupt_twice() -> None:
        if received(journal, "tools/call"):
            signal.pthread_kill(main, signal.SIGINT)
        if until(waits_for_threads):
            signal.pthread_kill(main, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), connected(journal) as manager:
        agent = CodeAgent(tools=tools(manager), model=Coder(Script([SLEEP], "done")), verbosity_level=0)
        threading.Thread(target=interrupt_twice).start()
        agent.run("go")
    assert all_gone(journal)


def test_an_image_of_a_failed_call_is_no_answer() -> None:
    with connected() as manager:
        (raw,) = (tool for tool in tools(manager) if tool.name == "mcp_a_raw")
        (block,) = (block for block in manager.call_tool("a", "image").content if block["type"] == "image")
        assert raw(json=json.dumps({"content": [block], "isError": True})) == "Error: [Image: image/png]"


def test_a_restart_between_two_turns_goes_unnoticed() -> None:
    with connected() as manager:
        pid = ("mcp_a_pid", {})
        _, (first, second, _) = run(manager, [pid], after_restart(manager, pid))
        assert first.observations != second.observations
        assert second.observations == str(manager.status()[0].pid)


def test_a_new_tool_is_offered_on_the_next_turn() -> None:
    with connected() as manager:
        change, fresh = ("mcp_a_change_tools", {"name": "fresh"}), "mcp_a_fresh"
        model, _ = run(manager, [change], once_listed(manager, fresh, echo("wait")), [(fresh, {})])
        first, _, *later = (fresh in offered for offered in model.offered)
        assert not first and later == [True, True]
        first, _, third, _ = (fresh in str(told[0]) for told in model.told)
        assert not first and third


def test_code_sees_a_new_tool_in_the_next_step_and_a_further_run_in_its_first() -> None:
    with connected() as manager:
        box = Toolbox(manager)

        def change() -> str:
            manager.call_tool("a", "change_tools", {"name": "fresh"})
            once_listed(manager, "mcp_a_fresh")()
            return "<code>\nprint(mcp_a_echo('wait'))\n</code>"

        fresh = "<code>\nprint(mcp_a_fresh())\n</code>"
        done = "<code>\nfinal_answer('done')\n</code>"
        model = scripted(change, fresh, done, done)
        agent = CodeAgent(tools=box.tools(), model=model, step_callbacks=[box], verbosity_level=0)
        assert agent.run("go") == "done"
        assert [step.error for step in steps(agent)] == [None, None, None]
        assert ["mcp_a_fresh" in str(told[0]) for told in model.told] == [False, True, True]

        manager.call_tool("a", "change_tools", {"name": "fresher"})
        once_listed(manager, "mcp_a_fresher")()
        box.refresh(agent)
        assert agent.run("go on") == "done"
        assert "mcp_a_fresher" in str(model.told[-1][0])
