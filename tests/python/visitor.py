"""A person with a browser: keeps cookies, fills in forms, and goes where the pages of a sign-in lead."""

from __future__ import annotations

import asyncio
import html.parser
import http.cookiejar
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import mcpool
from person import Staying

# A sign-in has fewer pages.
PAGES = 20
TYPED = {"login": "ada", "username": "ada", "email": "ada@example.org", "password": "a long password"}


class Page(NamedTuple):
    """A page, and where it leads to."""

    url: str
    status: int
    text: str
    location: str | None


class _Forms(html.parser.HTMLParser):
    """The first form of a page, and its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.action: str | None = None
        self.fields: dict[str, str] = {}
        self.links: list[str] = []
        self._is_open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name") if self._is_open else None
        if tag == "form" and self.action is None:
            self.action = given.get("action", "")
            self._is_open = True
        elif tag == "input" and name:
            self.fields[name] = given.get("value") or TYPED.get(name, "")
        elif tag == "button" and name:
            # Of several, the first is pressed.
            self.fields.setdefault(name, given.get("value", ""))
        elif tag == "a":
            self.links.append(given.get("href", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_open = False


class Visitor:
    """Signs in wherever asked to. Who `refuses` follows the link that gives up the sign-in."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.prompts: list[mcpool.AuthPrompt] = []
        self._refuses = refuses
        # Browsers trust this machine without TLS.
        policy = http.cookiejar.DefaultCookiePolicy(secure_protocols=("https", "http"))
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar(policy))
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies, Staying())

    def _open(self, url: str, form: dict[str, str] | None = None) -> Page:
        data = None if form is None else urllib.parse.urlencode(form).encode()
        try:
            answer = self._opener.open(url, data, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            location = answer.headers.get("location")
            there = urllib.parse.urljoin(url, location) if location else None
            return Page(url, answer.status, answer.read().decode(), there)

    def sign_in(self, url: str, *, follow: bool = True) -> Page:
        """Goes from page to page to the last one; without `follow`, to the one that leads to the callback."""
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
        callback = query.get("redirect_uri", [""])[0]
        page = self._open(url)
        for _ in range(PAGES):
            forms = _Forms(page.text)
            if page.location is not None:
                if not follow and page.location.startswith(callback):
                    return page
                page = self._open(page.location)
                continue
            aborts = [link for link in forms.links if link.endswith("/abort")]
            if self._refuses and aborts:
                page = self._open(urllib.parse.urljoin(page.url, aborts[0]))
            elif forms.action is not None:
                page = self._open(urllib.parse.urljoin(page.url, forms.action), forms.fields)
            else:
                return page
        raise AssertionError(f"the pages do not end: {page}")

    async def on_auth(self, prompt: mcpool.AuthPrompt) -> None:
        """Goes all the way: the last page is that of the callback."""
        self.prompts.append(prompt)
        page = await asyncio.to_thread(self.sign_in, prompt.url)
        assert page.status in (200, 400), page

    async def on_auth_by_hand(self, prompt: mcpool.AuthPrompt) -> str | None:
        """Stops before the callback, and returns its address."""
        self.prompts.append(prompt)
        return (await asyncio.to_thread(self.sign_in, prompt.url, follow=False)).location


OnAuth = Callable[[mcpool.AuthPrompt], Coroutine[Any, Any, "str | None"]]
