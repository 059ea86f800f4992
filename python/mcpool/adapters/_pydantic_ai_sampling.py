"""Pydantic AI: a server's sampling request as a request to a model. Imported on first use."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from pydantic_ai import BinaryContent, ToolDefinition
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ._sampling import Media, Message, Prompt, Refused, Reply, Text, ToolUse, assistant_text, read_input

if TYPE_CHECKING:
    from pydantic_ai.models import Model


async def ask(prompt: Prompt, model: Model | str) -> Reply:
    messages = [_message(message) for message in prompt.messages]
    if prompt.system:
        messages.insert(0, ModelRequest([SystemPromptPart(prompt.system)]))
    settings = ModelSettings(max_tokens=prompt.max_tokens)
    if prompt.temperature is not None:
        settings["temperature"] = prompt.temperature
    if prompt.stop:
        settings["stop_sequences"] = prompt.stop
    if prompt.tools:
        choice: Any = prompt.tool_choice
        settings["tool_choice"] = choice
    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=tool.schema,
            strict=False,
        )
        for tool in prompt.tools
    ]
    answer = await model_request(
        model,
        messages,
        model_settings=settings,
        model_request_parameters=ModelRequestParameters(function_tools=tools),
    )
    blocks = [block for part in answer.parts for block in _answered(part)]
    return Reply(blocks, answer.model_name or str(model), answer.finish_reason)


def _message(message: Message) -> ModelMessage:
    if message.results:
        return ModelRequest(
            [
                ToolReturnPart(
                    tool_name=result.name,
                    content=[_content(block) for block in result.content],
                    tool_call_id=result.id,
                    outcome="failed" if result.is_error else "success",
                )
                for result in message.results
            ]
        )
    if message.is_user:
        return ModelRequest([UserPromptPart([_content(block) for block in message.blocks])])
    calls = [ToolCallPart(use.name, use.input, tool_call_id=use.id) for use in message.uses]
    return ModelResponse([*([TextPart(assistant_text(message))] if message.blocks else []), *calls])


def _content(block: Text | Media) -> str | BinaryContent:
    if isinstance(block, Text):
        return block.text
    return BinaryContent(block.decode(), media_type=block.mime_type)


def _answered(part: Any) -> list[Text | Media | ToolUse]:
    if isinstance(part, TextPart):
        return [Text(part.content)]
    if isinstance(part, ToolCallPart):
        return [ToolUse(part.tool_call_id, part.tool_name, read_input(part.args or {}))]
    if isinstance(part, FilePart) and part.content.is_image:
        data = base64.b64encode(part.content.data).decode()
        return [Media("image", data, part.content.media_type)]
    if isinstance(part, ThinkingPart):
        return []
    raise Refused(f"the model answered with a {type(part).__name__}")
