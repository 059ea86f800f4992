"""A page as a list of elements: what a browser would make of it, checked for what must never be in it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"img", "input", "br", "hr", "meta"}
ALLOWED = {
    *("a", "audio", "caption", "code", "details", "div", "figcaption", "figure", "img", "p", "pre", "script"),
    *("span", "strong", "style", "summary", "table", "tbody", "td", "th", "thead", "tr"),
}


class Markup(HTMLParser):
    """Every element with its attributes, and the text of each kind of element."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, *tags: str) -> str:
        """All that can be read; with tags, in these elements."""
        kept = [
            data for tag, data in self.texts if tag not in ("script", "style") and (not tags or tag in tags)
        ]
        return "".join(kept)


def is_harmless(markup: Markup) -> bool:
    """Whether there is nothing in it that acts: our own style and our own script excepted."""
    for tag, attributes in markup.elements:
        assert tag in ALLOWED, tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"], attributes
        for name in ("href", "src"):
            address = attributes.get(name) or ""
            assert not address or address.startswith(("https://", "http://", "data:image/", "data:audio/"))
            assert name == "href" or not address.startswith("http"), "nothing is fetched"
    scripts = [data for tag, data in markup.texts if tag == "script"]
    styles = [data for tag, data in markup.texts if tag == "style"]
    assert all("owned" not in one for one in scripts + styles)
    return True
