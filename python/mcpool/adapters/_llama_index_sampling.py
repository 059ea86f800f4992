"""LlamaIndex: a server's sampling request as a chat with an LLM. Imported on first use."""

from __future__ import annotations

import asyncio
from inspect import signature
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    ChatResponse,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import FunctionTool

from ._sampling import Function, Media, Message, Prompt, Refused, Reply, Text, ToolUse, assistant_text
from .llama_index import RawMetadata

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


async def ask(prompt: Prompt, llm: LLM) -> Reply:
    # Each integration has its own name for them.
    prompt.refuse("LlamaIndex", stop=True)
    messages = [ChatMessage(prompt.system, role=MessageRole.SYSTEM)] if prompt.system else []
    messages += [made for message in prompt.messages for made in _messages(message)]
    options: dict[str, Any] = {"max_tokens": prompt.max_tokens}
    if prompt.temperature is not None:
        options["temperature"] = prompt.temperature
    # LlamaIndex has no choice "none"; without tools there is none.
    if not prompt.tools or prompt.tool_choice == "none":
        chat = llm.chat if prompt.is_blocking else llm.achat
        return _reply(await _call(chat, messages, **options), llm)
    if not isinstance(llm, FunctionCallingLLM):
        raise Refused(f"{type(llm).__name__} takes no tools")
    is_required = prompt.tool_choice == "required"
    # Older integrations do not know it, and would only warn.
    if is_required and "tool_required" not in signature(llm._prepare_chat_with_tools).parameters:
        raise Refused(f"{type(llm).__name__} cannot be made to call a tool")
    answer = await _call(
        llm.chat_with_tools if prompt.is_blocking else llm.achat_with_tools,
        [_tool(tool) for tool in prompt.tools],
        chat_history=messages,
        allow_parallel_tool_calls=True,
        tool_required=is_required,
        **options,
    )
    calls = llm.get_tool_calls_from_response(answer, error_on_no_tool_call=False)
    uses = [ToolUse(call.tool_id, call.tool_name, call.tool_kwargs) for call in calls]
    return _reply(answer, llm, uses)


async def _call(method: Any, *given: Any, **options: Any) -> Any:
    if asyncio.iscoroutinefunction(method):
        return await method(*given, **options)
    answer = await asyncio.to_thread(method, *given, **options)
    return await answer if asyncio.iscoroutine(answer) else answer


def _tool(tool: Function) -> FunctionTool:
    def never(**_: Any) -> None:
        raise NotImplementedError("The server runs its tool")

    return FunctionTool(fn=never, metadata=RawMetadata(tool.description, tool.name, None, schema=tool.schema))


def _messages(message: Message) -> list[ChatMessage]:
    if message.results:
        return [
            ChatMessage(
                role=MessageRole.TOOL,
                blocks=[_block(block) for block in result.content]
                if not result.is_error
                else [TextBlock(text=result.text())],
                additional_kwargs={"tool_call_id": result.id, "name": result.name},
            )
            for result in message.results
        ]
    if message.is_user:
        return [ChatMessage(role=MessageRole.USER, blocks=[_block(block) for block in message.blocks])]
    said = [TextBlock(text=assistant_text(message))] if message.blocks else []
    calls = [
        ToolCallBlock(tool_call_id=use.id, tool_name=use.name, tool_kwargs=use.input) for use in message.uses
    ]
    return [ChatMessage(role=MessageRole.ASSISTANT, blocks=[*said, *calls])]


def _block(block: Text | Media) -> TextBlock | ImageBlock | AudioBlock:
    if isinstance(block, Text):
        return TextBlock(text=block.text)
    if block.kind == "image":
        return ImageBlock(image=block.decode(), image_mimetype=block.mime_type)
    return AudioBlock(audio=block.decode(), format=block.audio_format())


def _reply(answer: ChatResponse, llm: LLM, uses: list[ToolUse] | None = None) -> Reply:
    blocks: list[Text | ToolUse] = []
    for block in answer.message.blocks:
        if isinstance(block, TextBlock):
            blocks.append(Text(block.text))
        elif not isinstance(block, (ThinkingBlock, ToolCallBlock)):
            raise Refused(f"the model answered with a {type(block).__name__}")
    return Reply([*blocks, *(uses or [])], llm.metadata.model_name)
