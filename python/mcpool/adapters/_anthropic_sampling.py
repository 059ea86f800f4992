"""Anthropic SDK: a server's sampling request as a message of the API. Everything is plain dicts."""

from __future__ import annotations

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
)

# The words of the protocol and of the API.
CHOICES = {"auto": "auto", "required": "any", "none": "none"}


async def ask(client: Any, prompt: Prompt, model: str) -> Reply:
    prompt.refuse("the Anthropic SDK", temperature=True)
    request: dict[str, Any] = {
        "model": model,
        "max_tokens": prompt.max_tokens,
        "messages": [_message(message) for message in prompt.messages],
    }
    if prompt.system:
        request["system"] = prompt.system
    if prompt.stop:
        request["stop_sequences"] = prompt.stop
    if prompt.tools:
        request["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
            for tool in prompt.tools
        ]
        request["tool_choice"] = {"type": CHOICES.get(prompt.tool_choice, "auto")}
    answer = await call_client(client.messages.create, **request)
    blocks = [_answered(block) for block in field(answer, "content")]
    return Reply(
        [block for block in blocks if block is not None],
        field(answer, "model"),
        field(answer, "stop_reason"),
    )


def _message(message: Message) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if message.is_user:
        content += [_block(block) for block in message.blocks]
    elif message.blocks:
        content.append({"type": "text", "text": assistant_text(message)})
    content += [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": use.input} for use in message.uses
    ]
    for result in message.results:
        blocks = [_block(block) for block in result.content]
        told = {"type": "tool_result", "tool_use_id": result.id, "content": blocks}
        content.append({**told, "is_error": True} if result.is_error else told)
    return {"role": "user" if message.is_user else "assistant", "content": content}


def _block(block: Text | Media) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    media = check_image(block)
    source = {"type": "base64", "media_type": media.mime_type, "data": media.data}
    return {"type": "image", "source": source}


def _answered(block: Any) -> Text | ToolUse | None:
    kind = field(block, "type")
    if kind == "text":
        return Text(field(block, "text"))
    if kind == "tool_use":
        return ToolUse(field(block, "id"), field(block, "name"), field(block, "input"))
    if kind in ("thinking", "redacted_thinking"):
        return None
    raise Refused(f"the model answered with content of type {kind!r}")
