"""google-genai: a server's sampling request as generated content. Imported on first use."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from google.genai import types

from ._sampling import Media, Message, Prompt, Refused, Reply, Text, ToolUse

# The words of the protocol and of the API.
CHOICES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
# The API wants a call back with the signature that it came with; servers give the metadata back.
SIGNATURE = "mcpool/thoughtSignature"


async def ask(client: Any, prompt: Prompt, model: str) -> Reply:
    config = types.GenerateContentConfig(
        system_instruction=prompt.system,
        max_output_tokens=prompt.max_tokens,
        temperature=prompt.temperature,
        stop_sequences=prompt.stop or None,
    )
    if prompt.tools:
        declarations = [
            types.FunctionDeclaration(
                name=tool.name, description=tool.description, parameters_json_schema=tool.schema
            )
            for tool in prompt.tools
        ]
        config.tools = [types.Tool(function_declarations=declarations)]
        mode: Any = CHOICES.get(prompt.tool_choice, "AUTO")
        config.tool_config = types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode=mode))
    contents = [_content(message) for message in prompt.messages]
    request = {"model": model, "contents": contents, "config": config}
    if prompt.is_blocking:
        answer = await asyncio.to_thread(client.models.generate_content, **request)
    else:
        answer = await client.aio.models.generate_content(**request)
    return _reply(answer, model)


def _content(message: Message) -> types.Content:
    parts = [_part(block) for block in message.blocks]
    for use in message.uses:
        call = types.FunctionCall(id=use.id, name=use.name, args=use.input)
        signature = (use.meta or {}).get(SIGNATURE)
        parts.append(
            types.Part(
                function_call=call,
                thought_signature=base64.b64decode(signature) if isinstance(signature, str) else None,
            )
        )
    for result in message.results:
        images = [block for block in result.content if isinstance(block, Media)]
        text = result._replace(content=[block for block in result.content if isinstance(block, Text)])
        said = types.FunctionResponse(
            id=result.id,
            name=result.name,
            response={"error" if result.is_error else "output": text.text("")},
            parts=[
                types.FunctionResponsePart.from_bytes(data=image.decode(), mime_type=image.mime_type)
                for image in images
            ]
            or None,
        )
        parts.append(types.Part(function_response=said))
    return types.Content(role="user" if message.is_user else "model", parts=parts)


def _part(block: Text | Media) -> types.Part:
    if isinstance(block, Text):
        return types.Part(text=block.text)
    return types.Part.from_bytes(data=block.decode(), mime_type=block.mime_type)


def _reply(answer: types.GenerateContentResponse, model: str) -> Reply:
    if not answer.candidates:
        raise Refused(f"the model gave no answer: {answer.prompt_feedback}")
    candidate = answer.candidates[0]
    parts = (candidate.content and candidate.content.parts) or []
    blocks = [_answered(part, number) for number, part in enumerate(parts) if not part.thought]
    reason = candidate.finish_reason and candidate.finish_reason.name
    return Reply(blocks, answer.model_version or model, reason)


def _answered(part: types.Part, number: int) -> Text | Media | ToolUse:
    if part.text is not None:
        return Text(part.text)
    if part.function_call is not None:
        from .google_genai import whole_numbers

        call, signature = part.function_call, part.thought_signature
        meta = {SIGNATURE: base64.b64encode(signature).decode()} if signature else None
        # Not every API names its calls; the place in the answer does.
        id = call.id or f"{call.name}-{number}"
        return ToolUse(id, call.name or "", whole_numbers(call.args or {}), meta)
    inline = part.inline_data
    if inline is not None and inline.data is not None and inline.mime_type is not None:
        kind = inline.mime_type.partition("/")[0]
        if kind in ("image", "audio"):
            return Media(kind, base64.b64encode(inline.data).decode(), inline.mime_type)
    raise Refused("the model answered with content that a server cannot be sent")
