"""What the `sampling` functions share: reading a server's request and writing the answer. Knows no framework.

Invariant: a request is answered as it was asked, or refused with a line in the log. Whatever a framework
cannot express raises `Refused`.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import logging
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
    from typing import TypeAlias

    from .._questions import SamplingRequest

    Sampling: TypeAlias = Callable[[SamplingRequest], Awaitable[dict[str, Any] | None]]
    """A callback for `on_sampling` of a manager."""

ModelT = TypeVar("ModelT")
_logger = logging.getLogger("mcpool.adapters")

# What models show and what their APIs take.
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}

# The providers' words for why a model stopped. Others are passed on as they are.
STOP_REASONS = {
    "stop": "endTurn",
    "end_turn": "endTurn",
    "completed": "endTurn",
    "length": "maxTokens",
    "max_tokens": "maxTokens",
    "max_output_tokens": "maxTokens",
    "stop_sequence": "stopSequence",
}


class Refused(Exception):
    """Why a request is not sent to the model, or its answer not to the server."""


class Text(NamedTuple):
    """A text."""

    text: str


class Media(NamedTuple):
    """An image or audio; `data` is base64."""

    kind: str
    data: str
    mime_type: str

    @property
    def url(self) -> str:
        return f"data:{self.mime_type};base64,{self.data}"

    def decode(self) -> bytes:
        try:
            return base64.b64decode(self.data, validate=True)
        except ValueError:
            raise Refused(f"its {self.kind} is not base64") from None

    def audio_format(self) -> str:
        """The format of audio for APIs that know two."""
        if self.mime_type not in AUDIO_FORMATS:
            raise Refused(f"the model takes no {self.mime_type}")
        return AUDIO_FORMATS[self.mime_type]


class ToolUse(NamedTuple):
    """A call of a tool. `meta` comes back from the server in its next request."""

    id: str
    name: str
    input: dict[str, Any]
    meta: dict[str, Any] | None = None


class ToolResult(NamedTuple):
    """What the server's tool gave; `name` is that of the tool."""

    id: str
    name: str
    content: list[Text | Media]
    is_error: bool

    def text(self, error_prefix: str = "Error: ") -> str:
        """For APIs whose results are text without a mark for errors."""
        text = "\n".join(plain_text(self.content, "results of tools"))
        return error_prefix + text if self.is_error else text


class Message(NamedTuple):
    """A message of the conversation: results of tools, or other blocks of a user or of the assistant."""

    is_user: bool
    blocks: list[Text | Media]
    uses: list[ToolUse]
    results: list[ToolResult]


class Function(NamedTuple):
    """A tool that the model may use; the server runs it."""

    name: str
    description: str
    schema: dict[str, Any]


class Prompt(NamedTuple):
    """A server's request. `is_blocking`: no event loop outlives it."""

    messages: list[Message]
    system: str | None
    max_tokens: int
    temperature: float | None
    stop: list[str]
    tools: list[Function]
    tool_choice: str
    hints: list[str]
    is_blocking: bool

    def refuse(self, framework: str, *, stop: bool = False, temperature: bool = False) -> None:
        """Refuses settings that a framework does not have."""
        if stop and self.stop:
            raise Refused(f"{framework} has no stopSequences")
        if temperature and self.temperature is not None:
            raise Refused(f"{framework} has no temperature")


class Reply(NamedTuple):
    """The answer of a model; `reason` is why it stopped, in the provider's words."""

    blocks: Sequence[Text | Media | ToolUse]
    model: str
    reason: str | None = None

    def message(self) -> dict[str, Any]:
        """The answer as the protocol has it. A single block is not a list: older servers know no lists."""
        blocks = [_written(block) for block in _joined(self.blocks)] or [{"type": "text", "text": ""}]
        message = {"role": "assistant", "content": blocks if len(blocks) > 1 else blocks[0]}
        message["model"] = self.model
        reason = self.reason and STOP_REASONS.get(self.reason.lower(), self.reason)
        if any(isinstance(block, ToolUse) for block in self.blocks):
            reason = "toolUse"
        return {**message, "stopReason": reason} if reason else message


def sampling_callback(
    ask: Callable[[Prompt, ModelT], Awaitable[Reply]],
    model: ModelT,
    choose: Callable[[list[str]], ModelT | None] | None,
    ignore: Collection[str],
) -> Sampling:
    """A callback that asks the model, or the one that `choose` returns for the server's hints."""

    async def answer(request: SamplingRequest, is_blocking: bool) -> dict[str, Any] | None:
        try:
            prompt = read_prompt(request.params, ignore, is_blocking)
            chosen = None if choose is None else choose(prompt.hints)
            reply = await ask(prompt, model if chosen is None else chosen)
            return reply.message()
        except Refused as why:
            _logger.warning("A sampling request of %s is refused: %s", request.server, why)
            return None

    def sample(request: SamplingRequest) -> Awaitable[dict[str, Any] | None]:
        return answer(request, not _has_loop())

    return sample


async def call_client(function: Callable[..., Any], **request: Any) -> Any:
    """Calls a method of a client that is async or not."""
    answer = await asyncio.to_thread(function, **request)
    return await answer if inspect.isawaitable(answer) else answer


def read_prompt(params: dict[str, Any], ignore: Collection[str], is_blocking: bool) -> Prompt:
    """Reads a request without the members that the program ignores."""
    given = {name: value for name, value in params.items() if name not in ignore and value is not None}
    if given.get("includeContext", "none") != "none":
        # The protocol lets clients ignore it, and servers of old versions always ask.
        _logger.info("A server asked for %s as context, which is ignored", given["includeContext"])
    names: dict[str, str] = {}
    tools = [
        Function(_get(tool, "name", str), tool.get("description") or "", _get(tool, "inputSchema", dict))
        for tool in _objects(given.get("tools", []))
    ]
    preferences = given.get("modelPreferences", {})
    hints = _objects(preferences.get("hints") or []) if isinstance(preferences, dict) else []
    return Prompt(
        messages=[_message(message, names) for message in _objects(_get(given, "messages", list))],
        system=given.get("systemPrompt"),
        max_tokens=_get(given, "maxTokens", int),
        temperature=given.get("temperature"),
        stop=list(given.get("stopSequences", [])),
        tools=tools,
        tool_choice=given.get("toolChoice", {}).get("mode") or "auto",
        hints=[hint["name"] for hint in hints if isinstance(hint.get("name"), str)],
        is_blocking=is_blocking,
    )


def plain_text(blocks: Iterable[Text | Media], where: str) -> list[str]:
    """The texts of blocks, where there may be nothing else."""
    texts = []
    for block in blocks:
        if isinstance(block, Media):
            raise Refused(f"the model takes no {block.kind} in {where}")
        texts.append(block.text)
    return texts


def assistant_text(message: Message) -> str:
    """What the assistant said, besides its calls."""
    return "\n".join(plain_text(message.blocks, "messages of the assistant"))


def check_image(media: Media) -> Media:
    """Refuses what is not an image that models are shown."""
    if media.mime_type not in IMAGES:
        raise Refused(f"the model takes no {media.mime_type}")
    return media


def read_input(arguments: Any) -> dict[str, Any]:
    """The arguments of a call as a model or a framework wrote them."""
    try:
        read = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise Refused("the model's call of a tool has arguments that are no JSON object")
    return read


def _message(message: dict[str, Any], names: dict[str, str]) -> Message:
    is_user = message.get("role") == "user"
    content = message.get("content")
    read = Message(is_user, [], [], [])
    for block in _objects(content if isinstance(content, list) else [content]):
        kind = block.get("type")
        if kind == "tool_use" and not is_user:
            use = ToolUse(_get(block, "id", str), _get(block, "name", str), _get(block, "input", dict))
            names[use.id] = use.name
            read.uses.append(use._replace(meta=block.get("_meta")))
        elif kind == "tool_result" and is_user:
            read.results.append(_result(block, names))
        else:
            read.blocks.append(_block(block))
    if read.results and read.blocks:
        raise Refused("a message with results of tools has other content, too")
    return read


def _result(block: dict[str, Any], names: dict[str, str]) -> ToolResult:
    id = _get(block, "toolUseId", str)
    if id not in names:
        raise Refused(f"there is no call {id!r} before its result")
    content = [_block(part) for part in _objects(block.get("content") or [])]
    if not content and "structuredContent" in block:
        content = [Text(json.dumps(block["structuredContent"], ensure_ascii=False))]
    return ToolResult(id, names[id], content, block.get("isError") is True)


def _block(block: dict[str, Any]) -> Text | Media:
    kind = block.get("type")
    if kind == "text":
        return Text(_get(block, "text", str))
    if kind in ("image", "audio"):
        return Media(kind, _get(block, "data", str), _get(block, "mimeType", str))
    raise Refused(f"it has content of type {kind!r}")


def _joined(blocks: Sequence[Text | Media | ToolUse]) -> list[Text | Media | ToolUse]:
    joined: list[Text | Media | ToolUse] = []
    for block in blocks:
        if isinstance(block, Text) and joined and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + block.text)
        elif block != Text(""):
            joined.append(block)
    return joined


def _written(block: Text | Media | ToolUse) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Media):
        return {"type": block.kind, "data": block.data, "mimeType": block.mime_type}
    use = {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    return {**use, "_meta": block.meta} if block.meta else use


def _get(thing: dict[str, Any], name: str, kind: type) -> Any:
    value = thing.get(name)
    if not isinstance(value, kind):
        raise Refused(f"its {name} is missing or of another type")
    return value


def _objects(entries: Any) -> list[dict[str, Any]]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Refused("it has a list whose entries are no objects")
    return entries


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
