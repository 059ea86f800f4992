"""A person who signs in: opens the pages of the authorisation server and goes where they lead to."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from email.message import Message
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import mcpool
from scenario_values import plain

if TYPE_CHECKING:
    from collections.abc import Callable


class Page(NamedTuple):
    """The last page, and where it leads to."""

    status: int
    text: str
    location: str | None


class Staying(urllib.request.HTTPRedirectHandler):
    """Does not go where a page leads to."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def load(url: str, *, follow: bool = True) -> Page:
    """Opens a page, on this thread."""
    handlers = [urllib.request.ProxyHandler({}), *([] if follow else [Staying()])]
    try:
        answer = urllib.request.build_opener(*handlers).open(url, timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return Page(answer.status, answer.read().decode(), answer.headers.get("location"))


async def get(url: str, *, follow: bool = True) -> Page:
    """Opens a page."""
    return await asyncio.to_thread(load, url, follow=follow)


def signing_in(answers: dict[str, Any], questions: list[Any]) -> Callable[[mcpool.AuthPrompt], Any]:
    """A callback that signs in by the script.

    `browser` opens the page and goes where it leads to, `redirect` returns where it leads to, `ignore` does
    nothing; `fail` and `hang` do what they say.
    """

    async def answer(prompt: mcpool.AuthPrompt) -> str | None:
        questions.append({name: value for name, value in plain(prompt).items() if value is not None})
        match answers.get(prompt.server, "ignore"):
            case "browser":
                await get(prompt.url)
            case "redirect":
                return (await get(prompt.url, follow=False)).location
            case "fail":
                raise RuntimeError("the script says so")
            case "hang":
                await asyncio.Event().wait()
        return None

    return answer


def keeping(logins: dict[str, str], answers: str) -> Callable[[mcpool.LoginStoreRequest], Any]:
    """A store of logins in memory. `fail` always fails, `fail_first_save` fails to save once."""
    fails_save = answers == "fail_first_save"

    async def answer(request: mcpool.LoginStoreRequest) -> str | None:
        nonlocal fails_save
        fails, fails_save = fails_save and request.op == "save", fails_save and request.op != "save"
        if fails or answers == "fail":
            raise RuntimeError("the script says so")
        match request.op:
            case "load":
                return logins.get(request.key)
            case "save":
                assert request.value is not None
                logins[request.key] = request.value
            case "remove":
                logins.pop(request.key, None)
        return None

    return answer
