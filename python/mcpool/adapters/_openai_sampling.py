"""OpenAI SDK: a server's sampling request as a chat completion. Everything is plain dicts."""

from __future__ import annotations

import json
from typing import Any

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
    call_client,
    check_image,
    read_input,
)


async def ask(client: Any, prompt: Prompt, model: str) -> Reply:
    messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    messages += [made for message in prompt.messages for made in _messages(message)]
    request: dict[str, Any] = {
        "model": model,
        "max_completion_tokens": prompt.max_tokens,
        "messages": messages,
    }
    if prompt.temperature is not None:
        request["temperature"] = prompt.temperature
    if prompt.stop:
        request["stop"] = prompt.stop
    if prompt.tools:
        request["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in prompt.tools
        ]
        request["tool_choice"] = prompt.tool_choice
    answer = await call_client(client.chat.completions.create, **request)
    choices = field(answer, "choices")
    if not choices:
        raise Refused("the model gave no answer")
    return _reply(choices[0], field(answer, "model") or model)


def _messages(message: Message) -> list[dict[str, Any]]:
    if message.results:
        return [
            {"role": "tool", "tool_call_id": result.id, "content": result.text()}
            for result in message.results
        ]
    if message.is_user:
        return [{"role": "user", "content": [_part(block) for block in message.blocks]}]
    said: dict[str, Any] = {"role": "assistant", "content": assistant_text(message) or None}
    if message.uses:
        said["tool_calls"] = [
            {
                "id": use.id,
                "type": "function",
                "function": {"name": use.name, "arguments": json.dumps(use.input)},
            }
            for use in message.uses
        ]
    return [said]


def _part(block: Text | Media) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if block.kind == "image":
        return {"type": "image_url", "image_url": {"url": check_image(block).url}}
    return {"type": "input_audio", "input_audio": {"data": block.data, "format": block.audio_format()}}


def _reply(choice: Any, model: str) -> Reply:
    message = field(choice, "message")
    calls = [(call, field(call, "function")) for call in field(message, "tool_calls") or []]
    if any(function is None for _, function in calls):
        raise Refused("the model called something that is no function")
    uses = [
        ToolUse(field(call, "id"), field(function, "name"), read_input(field(function, "arguments")))
        for call, function in calls
    ]
    refusal = field(message, "refusal")
    text = field(message, "content") or refusal or ""
    return Reply([Text(text), *uses], model, "refusal" if refusal else field(choice, "finish_reason"))
