"""Answering the core's questions. The first question imports this, never the package itself."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple

from ._trust import TrustQuestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

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


if TYPE_CHECKING:
    OnApproval: TypeAlias = Callable[[ApprovalQuestion], bool | Awaitable[bool]]
    """Answers whether a call may be sent."""
    Callback: TypeAlias = TrustCallback | OnApproval

_logger = logging.getLogger("mcpool")
_RECORDS: dict[str, type[ApprovalQuestion | TrustQuestion]] = {
    "approval": ApprovalQuestion,
    "trust": TrustQuestion,
}
_LOOK_UP = 0.05  # Seconds after which a waiting thread notices that the answer is not needed any more.


def answer_later(question: NativeQuestion, callback: Callback) -> asyncio.Task[None]:
    """Answers in a task of the running loop."""
    return asyncio.get_running_loop().create_task(_answer(question, callback))


async def _answer(question: NativeQuestion, callback: Callback) -> None:
    kind, asked = _read(question)
    try:
        said: Any = callback(asked)
        yes = _is_yes(await said if _waits(said) else said)
    except Exception:
        question.fail()
        _report(kind)
    except BaseException:
        # Another listener may still answer about trust; a call has no other.
        if kind == "approval":
            question.fail()
        raise
    else:
        question.answer(yes)


def answer_now(question: NativeQuestion, callback: Callback) -> None:
    """Answers on this thread before it returns; an awaitable runs in its own loop."""
    kind, asked = _read(question)
    try:
        said: Any = callback(asked)
        yes = _is_yes(asyncio.run(_while_wanted(question, said)) if _waits(said) else said)
    except Exception:
        question.fail()
        _report(kind)
    else:
        question.answer(yes)


async def _while_wanted(question: NativeQuestion, said: Awaitable[Any]) -> Any:
    task = asyncio.ensure_future(_wait_for(said))
    while not task.done():
        await asyncio.wait([task], timeout=_LOOK_UP)
        if not question.is_wanted():
            task.cancel()
            await asyncio.wait([task])
            return False
    return task.result()


async def _wait_for(said: Awaitable[Any]) -> Any:
    return await said


def _read(question: NativeQuestion) -> tuple[str, Any]:
    fields = question.fields()
    kind = fields["kind"]
    record = _RECORDS[kind]
    return kind, record(**{name: fields[name] for name in record._fields})


def _waits(said: Any) -> bool:
    return hasattr(type(said), "__await__")


def _is_yes(said: Any) -> bool:
    """Only True is a yes: another truthy value may be a mistake."""
    if not isinstance(said, bool):
        raise TypeError(f"it gave {type(said).__name__}, neither True nor False")
    return said


def _report(kind: str) -> None:
    _logger.warning("The %s callback failed: the answer is no", kind, exc_info=True)
