"""Answering the core's questions. The first question imports this, never the package itself."""

from __future__ import annotations

import asyncio
import logging

from ._records import TrustQuestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from ._native import NativeQuestion
    from ._trust import TrustCallback

_logger = logging.getLogger("mcpool")


def answer_later(question: NativeQuestion, callback: TrustCallback) -> asyncio.Task[None]:
    """Answers in a task of the running loop; if that is cancelled, the question is open again."""
    return asyncio.get_running_loop().create_task(_answer(question, callback))


async def _answer(question: NativeQuestion, callback: TrustCallback) -> None:
    try:
        said: Any = callback(_read(question))
        yes = _is_yes(await said if _waits(said) else said)
    except Exception:
        yes = _report()
    question.answer(yes)


def answer_now(question: NativeQuestion, callback: TrustCallback) -> None:
    """Answers on this thread, before it returns; what has to be awaited gets a loop of its own."""
    try:
        said: Any = callback(_read(question))
        yes = _is_yes(asyncio.run(_wait_for(said)) if _waits(said) else said)
    except Exception:
        yes = _report()
    question.answer(yes)


async def _wait_for(said: Awaitable[Any]) -> Any:
    return await said


def _read(question: NativeQuestion) -> TrustQuestion:
    fields = question.fields()
    return TrustQuestion(**{name: fields[name] for name in TrustQuestion._fields})


def _waits(said: Any) -> bool:
    return hasattr(type(said), "__await__")


def _is_yes(said: Any) -> bool:
    """Only a plain True starts programs: what merely counts as true may be a mistake."""
    if not isinstance(said, bool):
        raise TypeError(f"it gave {type(said).__name__}, neither True nor False")
    return said


def _report() -> bool:
    _logger.warning("The trust callback failed: the answer is no", exc_info=True)
    return False
