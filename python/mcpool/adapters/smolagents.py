"""smolagents: tools for agents, and a toolbox that keeps those of an agent current."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._public import public_names
from ._approval import execute_unasked_blocking
from ._open_arguments import OpenArguments
from ._parts import missing_package
from ._sampling import sampling_callback
from ._schema import inlined, members, properties

try:
    from smolagents import AgentImage
    from smolagents import Tool as SmolTool
    from smolagents.memory import SystemPromptStep
except ImportError as _error:
    raise missing_package("smolagents", __name__) from _error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from smolagents import ActionStep, Model, MultiStepAgent

    from .._base import ManagerBase
    from .._native import Tool
    from .._output import ToolOutput
    from ._sampling import Sampling

__all__ = ["PoolTool", "Toolbox", "sampling", "tools"]


def __dir__() -> list[str]:
    return public_names(globals())


TYPES = ["string", "boolean", "integer", "number", "array", "object", "null"]


def tools(manager: ManagerBase, *, structured: bool = False) -> list[PoolTool]:
    """The tools as they are now. They stay valid when a server restarts.

    A result is text; where it is an image and nothing else, an `AgentImage`. With `structured`, a tool that
    has an output schema gives what it says there, for the code of a `CodeAgent`, and raises where it fails.
    """
    return [PoolTool(tool, structured) for tool in manager.get_tools()]


def sampling(
    model: Model,
    *,
    choose: Callable[[list[str]], Model | None] | None = None,
    ignore: Collection[str] = (),
) -> Sampling:
    """A callback for `on_sampling` of a manager: servers get their messages from a model.

    `choose` gets the names of models that a server would like, and returns another model, or None for this
    one. What cannot be asked of the model is refused, with a warning in the log; `ignore` names members of
    requests that are left out instead, such as "temperature".
    """
    from ._smolagents_sampling import ask

    return sampling_callback(ask, model, choose, ignore)


class PoolTool(SmolTool):
    """A tool of a manager."""

    skip_forward_signature_validation = True
    name: str
    description: str
    inputs: dict[str, dict[str, Any]]
    output_schema: dict[str, Any] | None

    def __init__(
        self,
        tool: Tool,
        structured: bool = False,
        look: Callable[[list[AgentImage]], None] | None = None,
    ) -> None:
        self.name = tool.name
        self.description = tool.description
        self._arguments = OpenArguments(tool, "smolagents")
        schema = self._arguments.schema()
        required = schema.get("required")
        required = required if isinstance(required, list) else []
        self.inputs = {
            name: argument(inlined(property, schema), name in required)
            for name, property in properties(schema).items()
        }
        if self._arguments.name is not None:
            # Code has an object at hand, a model that calls functions may only have its text.
            self.inputs[self._arguments.name]["type"] = ["object", "string"]
        self.output_type = "any"
        self.output_schema = tool.output_schema if structured else None
        self._tool = tool
        self._look = look
        super().__init__()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(self.inputs, args, strict=False)) | kwargs
        # An optional argument is declared as nullable.
        arguments = {name: value for name, value in given.items() if not self._is_left_out(name, value)}
        output = execute_unasked_blocking(self._tool, self._arguments.gathered(arguments))
        if self.output_schema is not None:
            return structured(output)
        pictures = decoded(output)
        if self._look is not None and pictures:
            self._look(pictures)
        is_picture = len(pictures) == len(output.content) == 1
        return pictures[0] if is_picture else output.text

    def _is_left_out(self, name: str, value: Any) -> bool:
        argument = self.inputs.get(name, {})
        return value is None and argument.get("nullable") is True and "null" not in argument["type"]


class Toolbox:
    """A manager's tools for one agent; as a step callback, it brings what changed into the agent's next step.

    The images of results are then shown to the model, too.
    """

    def __init__(self, manager: ManagerBase, *, structured: bool = False) -> None:
        self._manager = manager
        self._structured = structured
        self._seen: dict[str, str] = {}
        self._pictures: list[AgentImage] = []

    def tools(self) -> list[PoolTool]:
        """The tools as they are now."""
        found = self._manager.get_tools()
        self._seen = {tool.name: tool.fingerprint for tool in found}
        return [PoolTool(tool, self._structured, self._pictures.extend) for tool in found]

    def __call__(self, step: ActionStep, agent: MultiStepAgent) -> None:
        """What smolagents calls after each step."""
        pictures, self._pictures[:] = self._pictures[:], []
        if pictures:
            step.observations_images = [*(step.observations_images or []), *(p.to_raw() for p in pictures)]
        self.refresh(agent)

    def refresh(self, agent: MultiStepAgent) -> None:
        """Gives the agent the tools as they are now; to be called before a further run."""
        seen = self._seen
        if seen == {tool.name: tool.fingerprint for tool in self._manager.get_tools()}:
            return
        for name in seen:
            agent.tools.pop(name, None)
        agent.tools.update({tool.name: tool for tool in self.tools()})
        agent.memory.system_prompt = SystemPromptStep(system_prompt=agent.system_prompt)
        executor = getattr(agent, "python_executor", None)
        if executor is not None:
            executor.send_tools({**agent.tools, **agent.managed_agents})


def argument(schema: Any, required: bool) -> dict[str, Any]:
    """A property as smolagents reads it: with a type, a description, and no `anyOf`, which it would cut."""
    schema = schema if isinstance(schema, dict) else {}
    whole = {"description": "", **schema, "type": types(schema)}
    if "anyOf" in whole:
        whole["allOf"] = [*members(whole.get("allOf")), {"anyOf": whole.pop("anyOf")}]
    return whole if required else {**whole, "nullable": True}


def types(schema: dict[str, Any]) -> str | list[str]:
    """The types of a schema, in words that smolagents knows; without any, all."""
    said = schema.get("type")
    if isinstance(said, str) and said in TYPES:
        return said
    several = [word for word in said if word in TYPES] if isinstance(said, list) else []
    # It takes a whole number for one of `number`, but not in a list.
    return [*several, *(["integer"] if "number" in several and "integer" not in several else [])] or TYPES


def structured(output: ToolOutput) -> Any:
    if output.is_error:
        # Code that reads members would fail on the text of an error.
        raise RuntimeError(output.text)
    return output.text if output.structured is None else output.structured


def decoded(output: ToolOutput) -> list[AgentImage]:
    pictures = []
    for image in output.model_images:
        try:
            pictures.append(AgentImage(image.decode()))
        except Exception:
            # If an image cannot be decoded, the text stands for it.
            continue
    return pictures
