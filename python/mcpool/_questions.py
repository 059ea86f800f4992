"""Answering the core's questions. The first question imports this, never the package itself."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple

from ._trust import TrustQuestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextvars import Context
    from typing import TypeAlias, TypedDict

    from ._native import NativeQuestion
    from ._trust import TrustCallback


class ApprovalQuestion(NamedTuple):
    """A call that waits for approval; its arguments are unmasked, as they will be sent."""

    server: str
    tool: str
    name: str
    arguments: dict[str, Any]
    description: str
    annotations: dict[str, Any] | None
    provider: str
    identity: str | None = None


class IdentityQuestion(NamedTuple):
    """A call that neither says for whom it is made nor brings headers."""

    server: str
    tool: str


class AuthPrompt(NamedTuple):
    """A server that wants a sign-in: the page to open, and the code to type there from another device."""

    server: str
    url: str
    scopes: list[str]
    expires_in_ms: int
    user_code: str | None = None
    identity: str | None = None


class LoginStoreRequest(NamedTuple):
    """What a store of logins is asked: `op` is load, save or remove. The value contains tokens."""

    op: str
    key: str
    value: str | None = None

    def __repr__(self) -> str:
        return f"LoginStoreRequest(op={self.op!r}, key={self.key!r})"


class SamplingRequest(NamedTuple):
    """A server that wants a message from a model; `params` are the parameters as it wrote them."""

    server: str
    params: dict[str, Any]
    identity: str | None = None

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far."""
        messages: list[dict[str, Any]] = self.params.get("messages") or []
        return messages

    @property
    def system_prompt(self) -> str | None:
        """The system prompt that the server wants."""
        return self.params.get("systemPrompt")

    @property
    def max_tokens(self) -> int | None:
        """How long the message may be."""
        return self.params.get("maxTokens")

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that the model may use; the server runs them."""
        tools: list[dict[str, Any]] = self.params.get("tools") or []
        return tools


class ElicitationRequest(NamedTuple):
    """A server that wants input from a person.

    `mode` is "form", with the fields in `requested_schema`, or "url", with a page to show with its `origin`.
    The person decides whether to open it.
    """

    server: str
    mode: str
    message: str
    requested_schema: dict[str, Any] | None = None
    url: str | None = None
    origin: str | None = None
    elicitation_id: str | None = None
    identity: str | None = None


if TYPE_CHECKING:

    class Caller(TypedDict, total=False):
        """Who a call is made for. What is left out is the manager's default."""

        identity: str | None
        headers: Mapping[str, str] | None

    OnApproval: TypeAlias = Callable[[ApprovalQuestion], bool | Awaitable[bool]]
    """Answers whether a call may be sent."""
    OnIdentity: TypeAlias = Callable[[IdentityQuestion], Caller | Awaitable[Caller | None] | None]
    """Answers who a call is made for. It runs with the caller's context variables."""
    OnAuth: TypeAlias = Callable[[AuthPrompt], str | Awaitable[str | None] | None]
    """Opens or shows the page of a sign-in. It may return the URL that the browser was sent back to."""
    LoginStore: TypeAlias = Callable[[LoginStoreRequest], str | Awaitable[str | None] | None]
    """Keeps logins: returns the saved text for `load`, and None otherwise."""
    Sampled: TypeAlias = Mapping[str, Any] | str | None
    OnSampling: TypeAlias = Callable[[SamplingRequest], Sampled | Awaitable[Sampled]]
    """Returns a message of a model as the protocol has it, or only its text. None refuses."""
    OnElicitation: TypeAlias = Callable[
        [ElicitationRequest], Mapping[str, Any] | Awaitable[Mapping[str, Any]]
    ]
    """Returns {"action": "accept", "content": {…}}, or only an action: "decline" or "cancel"."""
    Callback: TypeAlias = (
        TrustCallback | OnApproval | OnIdentity | OnAuth | LoginStore | OnSampling | OnElicitation
    )

_logger = logging.getLogger("mcpool")
_RECORDS: dict[
    str,
    type[
        ApprovalQuestion
        | AuthPrompt
        | ElicitationRequest
        | IdentityQuestion
        | LoginStoreRequest
        | SamplingRequest
        | TrustQuestion
    ],
] = {
    "approval": ApprovalQuestion,
    "auth": AuthPrompt,
    "elicitation": ElicitationRequest,
    "identity": IdentityQuestion,
    "login_store": LoginStoreRequest,
    "sampling": SamplingRequest,
    "trust": TrustQuestion,
}
_OF_SERVERS = ("sampling", "elicitation")  # Requests of servers, whose callers may be gone.
_LOOK_UP = 0.05  # Seconds after which a waiting thread notices that the answer is not needed any more.


def answer_later(question: NativeQuestion, callback: Callback, context: Context | None) -> asyncio.Task[None]:
    """Answers in a task of the running loop."""
    loop, answering = asyncio.get_running_loop(), _answer(question, callback)
    return loop.create_task(answering) if context is None else context.run(loop.create_task, answering)


async def _answer(question: NativeQuestion, callback: Callback) -> None:
    kind, asked = _read(question)
    try:
        said: Any = callback(asked)
        if _waits(said):
            said = await (_while_wanted(question, said) if kind in _OF_SERVERS else said)
        if kind in _OF_SERVERS and not question.is_wanted():
            question.fail()
        else:
            _give(question, kind, said)
    except Exception:
        question.fail()
        _report(kind)
    except BaseException:
        # Another listener may still answer; a call has no other.
        if kind in ("approval", "identity"):
            question.fail()
        raise


def answer_now(question: NativeQuestion, callback: Callback, _context: Context | None) -> None:
    """Answers on this thread before it returns; an awaitable runs in its own loop."""
    kind, asked = _read(question)
    try:
        said: Any = callback(asked)
        said = asyncio.run(_while_wanted(question, said)) if _waits(said) else said
        if kind in _OF_SERVERS and not question.is_wanted():
            question.fail()
        else:
            _give(question, kind, said)
    except Exception:
        question.fail()
        _report(kind)
    except BaseException:
        # Nobody is asked once more what was interrupted.
        if kind in _OF_SERVERS:
            question.fail()
        raise


def _give(question: NativeQuestion, kind: str, said: Any) -> None:
    if kind == "identity":
        if said is not None and not hasattr(said, "keys"):
            raise TypeError(f"it gave {type(said).__name__}, neither a mapping nor None")
        question.give({} if said is None else said)
    elif kind in ("auth", "login_store"):
        if said is not None and not isinstance(said, str):
            raise TypeError(f"it gave {type(said).__name__}, neither a text nor None")
        question.give({"redirect_url" if kind == "auth" else "value": said})
    elif kind == "sampling":
        if said is not None and not isinstance(said, str) and not hasattr(said, "keys"):
            raise TypeError(f"it gave {type(said).__name__}, neither a mapping nor a text nor None")
        question.give({"value": said})
    elif kind == "elicitation":
        if not hasattr(said, "keys") or "action" not in said:
            raise TypeError(f"it gave {type(said).__name__}, not a mapping with an action")
        question.give({"value": said})
    else:
        question.answer(_is_yes(said))


async def _while_wanted(question: NativeQuestion, said: Awaitable[Any]) -> Any:
    task = asyncio.ensure_future(_wait_for(said))
    while not task.done():
        try:
            await asyncio.wait([task], timeout=_LOOK_UP)
        except BaseException:
            task.cancel()
            raise
        if not question.is_wanted():
            task.cancel()
            await asyncio.wait([task])
            return False
    if task.cancelled():
        raise RuntimeError("it was cancelled")
    return task.result()


async def _wait_for(said: Awaitable[Any]) -> Any:
    return await said


def _read(question: NativeQuestion) -> tuple[str, Any]:
    fields = question.fields()
    kind = fields["kind"]
    record = _RECORDS[kind]
    return kind, record(**{name: fields[name] for name in record._fields if name in fields})


def _waits(said: Any) -> bool:
    return hasattr(type(said), "__await__")


def _is_yes(said: Any) -> bool:
    """Only True is a yes: another truthy value may be a mistake."""
    if not isinstance(said, bool):
        raise TypeError(f"it gave {type(said).__name__}, neither True nor False")
    return said


def _report(kind: str) -> None:
    outcomes = {
        "identity": "the call is not sent",
        "auth": "the sign-in stays open",
        "login_store": "the login is not loaded or saved",
        "sampling": "the request of the server is refused",
        "elicitation": "the request of the server is cancelled",
    }
    outcome = outcomes.get(kind, "the answer is no")
    _logger.warning("The %s callback failed: %s", kind, outcome, exc_info=True)
