"""OpenAI Agents SDK: a server's sampling request as a request to a model. Imported on first use."""

from __future__ import annotations

import json
from typing import Any

from agents import FunctionTool, ModelSettings, ModelTracing, MultiProvider
from agents.models.interface import Model

from ._parts import field
from ._sampling import (
    Media,
    Message,
    Prompt,
    Refused,
    Reply,
    Text,
    ToolUse,
    assistant_text,
    check_image,
    read_input,
)


async def ask(prompt: Prompt, model: Model | str) -> Reply:
    prompt.refuse("the OpenAI Agents SDK", stop=True)
    asked = MultiProvider().get_model(model) if isinstance(model, str) else model
    settings = ModelSettings(
        max_tokens=prompt.max_tokens,
        temperature=prompt.temperature,
        tool_choice=prompt.tool_choice if prompt.tools else None,
    )
    items: Any = [item for message in prompt.messages for item in _items(message)]
    answer = await asked.get_response(
        prompt.system,
        items,
        settings,
        [_tool(tool.name, tool.description, tool.schema) for tool in prompt.tools],
        None,
        [],
        ModelTracing.DISABLED,
        previous_response_id=None,
        conversation_id=None,
        prompt=None,
    )
    blocks = [block for item in answer.output for block in _answered(item)]
    name = model if isinstance(model, str) else getattr(model, "model", None) or type(model).__name__
    return Reply(blocks, str(name))


def _tool(name: str, description: str, schema: dict[str, Any]) -> FunctionTool:
    async def never(_context: Any, _arguments: str) -> Any:
        raise NotImplementedError("The server runs its tool")

    return FunctionTool(name, description, schema, never, strict_json_schema=False)


def _items(message: Message) -> list[dict[str, Any]]:
    if message.is_user and not message.results:
        return [{"role": "user", "content": [_part(block) for block in message.blocks]}]
    items: list[dict[str, Any]] = []
    if message.blocks:
        items.append({"role": "assistant", "content": assistant_text(message)})
    items += [
        {
            "type": "function_call",
            "call_id": use.id,
            "name": use.name,
            "arguments": json.dumps(use.input),
        }
        for use in message.uses
    ]
    for result in message.results:
        if any(isinstance(block, Media) and block.kind == "audio" for block in result.content):
            raise Refused("the model takes no audio in results of tools")
        is_plain = result.is_error or all(isinstance(block, Text) for block in result.content)
        output = result.text() if is_plain else [_part(block) for block in result.content]
        items.append({"type": "function_call_output", "call_id": result.id, "output": output})
    return items


def _part(block: Text | Media) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "input_text", "text": block.text}
    if block.kind == "image":
        return {"type": "input_image", "detail": "auto", "image_url": check_image(block).url}
    return {"type": "input_audio", "input_audio": {"data": block.data, "format": block.audio_format()}}


def _answered(item: Any) -> list[Text | Media | ToolUse]:
    kind = field(item, "type")
    if kind == "message":
        parts = field(item, "content")
        return [Text(field(part, "text") or field(part, "refusal") or "") for part in parts]
    if kind == "function_call":
        return [ToolUse(field(item, "call_id"), field(item, "name"), read_input(field(item, "arguments")))]
    if kind == "reasoning":
        return []
    raise Refused(f"the model answered with content of type {kind!r}")
