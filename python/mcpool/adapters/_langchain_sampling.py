"""LangChain: a server's sampling request as a call of a chat model. Imported on first use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from ._sampling import Media, Message, Prompt, Refused, Reply, Text, ToolUse, assistant_text

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable


async def ask(prompt: Prompt, model: BaseChatModel) -> Reply:
    """Asks the model. Without a loop that goes on, in a thread: async clients cannot change their loop."""
    messages: list[BaseMessage] = [SystemMessage(prompt.system)] if prompt.system else []
    messages += [made for message in prompt.messages for made in _messages(message)]
    options: dict[str, Any] = {"max_tokens": prompt.max_tokens}
    if prompt.temperature is not None:
        options["temperature"] = prompt.temperature
    if prompt.stop:
        options["stop"] = prompt.stop
    bound = _with_tools(model, prompt)
    if prompt.is_blocking:
        answer: Any = await asyncio.to_thread(bound.invoke, messages, **options)
    else:
        answer = await bound.ainvoke(messages, **options)
    return _reply(answer, model)


def _with_tools(model: BaseChatModel, prompt: Prompt) -> Runnable[Any, Any]:
    # Not all models know the choice "none"; without tools there is none.
    if not prompt.tools or prompt.tool_choice == "none":
        return model
    tools = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
        }
        for tool in prompt.tools
    ]
    chosen = {"tool_choice": "any"} if prompt.tool_choice == "required" else {}
    try:
        return model.bind_tools(tools, **chosen)
    except NotImplementedError:
        raise Refused(f"{type(model).__name__} takes no tools") from None


def _messages(message: Message) -> list[BaseMessage]:
    if message.results:
        return [
            ToolMessage(
                [_block(block) for block in result.content],
                tool_call_id=result.id,
                name=result.name,
                status="error" if result.is_error else "success",
            )
            for result in message.results
        ]
    if message.is_user:
        return [HumanMessage([_block(block) for block in message.blocks])]
    calls: Any = [{"name": use.name, "args": use.input, "id": use.id} for use in message.uses]
    return [AIMessage(assistant_text(message), tool_calls=calls)]


def _block(block: Text | Media) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": block.kind, "base64": block.data, "mime_type": block.mime_type}


def _reply(answer: AIMessage, model: BaseChatModel) -> Reply:
    if answer.invalid_tool_calls:
        raise Refused("the model's call of a tool cannot be read")
    blocks: list[Text | Media | ToolUse] = []
    for block in answer.content_blocks:
        if block["type"] == "text":
            blocks.append(Text(block["text"]))
        elif block["type"] in ("image", "audio"):
            media: Any = block
            if "base64" not in media:
                raise Refused(f"the model answered with an {media['type']} that is not in the answer")
            blocks.append(Media(media["type"], media["base64"], media.get("mime_type", "")))
        elif block["type"] not in ("tool_call", "reasoning"):
            raise Refused(f"the model answered with content of type {block['type']!r}")
    blocks += [ToolUse(call["id"] or call["name"], call["name"], call["args"]) for call in answer.tool_calls]
    said = answer.response_metadata
    names = (said.get("model_name"), said.get("model"), getattr(model, "model_name", None), model._llm_type)
    reason = said.get("finish_reason") or said.get("stop_reason") or said.get("done_reason")
    return Reply(blocks, next(name for name in names if name), reason)
