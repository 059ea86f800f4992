"""smolagents: a server's sampling request as a generated message. Imported on first use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from smolagents import AgentImage, ChatMessage, MessageRole

from ._sampling import Media, Message, Prompt, Refused, Reply, Text, assistant_text

if TYPE_CHECKING:
    from smolagents import Model


async def ask(prompt: Prompt, model: Model) -> Reply:
    # Its models take only tools that an agent runs, and know calls of them as text.
    if prompt.tools or any(message.uses or message.results for message in prompt.messages):
        raise Refused("smolagents has no tools that a server runs")
    if not getattr(model, "supports_stop_parameter", True):
        prompt.refuse(f"the model {model.model_id}", stop=True)
    messages = [_message(message) for message in prompt.messages]
    if prompt.system:
        system = [{"type": "text", "text": prompt.system}]
        messages.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=system))
    options: dict[str, Any] = {"max_tokens": prompt.max_tokens}
    if prompt.temperature is not None:
        options["temperature"] = prompt.temperature
    if prompt.stop:
        options["stop_sequences"] = prompt.stop
    answer = await asyncio.to_thread(model.generate, messages, **options)
    content: Any = answer.content or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if answer.tool_calls or any(part.get("type") != "text" for part in parts):
        raise Refused("the model answered with more than text")
    return Reply([Text(part["text"]) for part in parts], model.model_id or type(model).__name__)


def _message(message: Message) -> ChatMessage:
    if not message.is_user:
        said = [{"type": "text", "text": assistant_text(message)}]
        return ChatMessage(role=MessageRole.ASSISTANT, content=said)
    return ChatMessage(role=MessageRole.USER, content=[_part(block) for block in message.blocks])


def _part(block: Text | Media) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if block.kind != "image":
        raise Refused(f"smolagents has no {block.kind} in messages")
    try:
        return {"type": "image", "image": AgentImage(block.decode()).to_raw()}
    except OSError:
        raise Refused(f"an {block.mime_type} cannot be decoded") from None
