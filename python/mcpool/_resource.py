"""The resources of a server. Imported by the first verb about them, never by the package itself."""

from __future__ import annotations

from typing import Any, NamedTuple


class Resource(NamedTuple):
    """A resource that a server offers; `raw` is all that the server says of it."""

    uri: str
    name: str
    title: str | None
    description: str | None
    mime_type: str | None
    size: int | None
    raw: dict[str, Any]

    @property
    def icons(self) -> list[dict[str, Any]] | None:
        """Its icons as the server gives them, or None."""
        return self.raw.get("icons")


class ResourceTemplate(NamedTuple):
    """A family of resources, whose addresses follow a template as in RFC 6570."""

    uri_template: str
    name: str
    title: str | None
    description: str | None
    mime_type: str | None
    raw: dict[str, Any]

    @property
    def icons(self) -> list[dict[str, Any]] | None:
        """Its icons as the server gives them, or None."""
        return self.raw.get("icons")


class ResourceContent(NamedTuple):
    """A part of what is in a resource: a text, or bytes as base64 in `blob`."""

    uri: str
    mime_type: str | None
    text: str | None
    blob: str | None
    raw: dict[str, Any]

    def decode(self) -> bytes:
        """The bytes; of a text, those of its UTF-8."""
        if self.blob is None:
            return (self.text or "").encode()
        from base64 import b64decode

        return b64decode(self.blob)


class ResourceList(list[Resource]):
    """A list of resources, which a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from . import _html

        return _html.resource_list(self)


def read_resources(rows: list[dict[str, Any]]) -> ResourceList:
    return ResourceList(
        Resource(
            row["uri"],
            row["name"],
            row.get("title"),
            row.get("description"),
            row.get("mimeType"),
            row.get("size"),
            row,
        )
        for row in rows
    )


def read_templates(rows: list[dict[str, Any]]) -> list[ResourceTemplate]:
    return [
        ResourceTemplate(
            row["uriTemplate"],
            row["name"],
            row.get("title"),
            row.get("description"),
            row.get("mimeType"),
            row,
        )
        for row in rows
    ]


def read_contents(rows: list[dict[str, Any]]) -> list[ResourceContent]:
    return [
        ResourceContent(row["uri"], row.get("mimeType"), row.get("text"), row.get("blob"), row)
        for row in rows
    ]
