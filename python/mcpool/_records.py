"""What discovery, trust and editing return. Loaded by the first of them, never by the package itself."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._errors import McpoolError, restore
from ._types import Source


class Secret:
    """A text that shows itself only when asked to."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def expose(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> str:
        raise TypeError("a Secret is not written down")


class FoundServer(NamedTuple):
    """A server that was found; `config` has stars for what may be secret.

    Either `config` and `enabled` are there, or `error`. `shadows` are the sources further down that have the
    same name; `direct` is the definition of the server that it only bridges to (`npx mcp-remote <url>`).
    """

    config: dict[str, Any] | None
    error: McpoolError | None
    enabled: bool | None
    source: Source
    shadows: list[Source]
    direct: dict[str, Any] | None


class ReplacedServer(NamedTuple):
    """A server of the user that a project's entry would replace or switch off."""

    name: str
    source: Source


class BlockedEntry(NamedTuple):
    """A project's entry that has no effect on the user's servers before it is trusted.

    `effect` is "replace" or "switch_off", `servers` are the user's that it is about. Without a `name` it is
    the file's lists of servers that are on or off.
    """

    name: str
    config: dict[str, Any]
    source: Source
    effect: str
    servers: list[ReplacedServer]


class FoundFile(NamedTuple):
    """A config file that is there; `problem` says why it could not be used."""

    provider: str
    path: str
    level: str
    servers: int
    problem: str | None


class LeftOut(NamedTuple):
    """A server that is in a file and not in the result."""

    name: str
    why: str
    source: Source


class DiscoveryError(NamedTuple):
    """Why nothing could be found at all."""

    path: str
    error: McpoolError


class Discovery(NamedTuple):
    """What was found: servers by name, in order of priority, and all that was odd.

    `files` is every file that was there; `native` holds the keys of servers that the host integrates itself;
    `blocked` is what a project's files say of the user's servers, without effect before it is trusted.
    """

    servers: dict[str, FoundServer]
    blocked: list[BlockedEntry]
    warnings: list[str]
    files: list[FoundFile]
    left_out: list[LeftOut]
    errors: list[DiscoveryError]
    native: dict[str, list[Secret]]

    def _repr_html_(self) -> str:
        from . import _html

        return _html.discovery(self)


class TrustQuestion(NamedTuple):
    """What a project's file says and what comes with it, whole: what `fingerprint` is made of.

    Nothing in `definition` is starred: it is what would be run or reached. `files` become part of what is
    run, `replaces` are servers of the user that it would replace or switch off. Without a `server` it is
    about the file's lists of servers that are on or off.
    """

    server: str
    path: str
    fingerprint: str
    definition: dict[str, Any]
    files: list[dict[str, Any]]
    replaces: list[dict[str, Any]]
    trusted: bool

    def __repr__(self) -> str:
        # What the project wrote may be a secret; whoever asks a person shows the fields.
        return f"TrustQuestion(server={self.server!r}, path={self.path!r}, fingerprint={self.fingerprint!r})"


class ApprovalQuestion(NamedTuple):
    """A call that waits for a person's word; its arguments are shown whole, as they will be sent."""

    server: str
    tool: str
    name: str
    arguments: dict[str, Any]
    description: str
    annotations: dict[str, Any] | None
    provider: str


class Trusted(NamedTuple):
    """A definition that the user trusts."""

    path: str
    server: str
    fingerprint: str


class Edited(NamedTuple):
    """What a change did: the file that was changed, and what is odd about the definition."""

    path: str
    warnings: list[str]


def read_discovery(fields: dict[str, Any]) -> Discovery:
    """The report as records."""
    left_out = [LeftOut(**{**row, "source": Source(**row["source"])}) for row in fields["left_out"]]
    errors = [DiscoveryError(row["path"], restore(row["error"])) for row in fields["errors"]]
    return Discovery(
        servers={row["name"]: _server(row) for row in fields["servers"]},
        blocked=[_blocked(row) for row in fields["blocked"]],
        warnings=fields["warnings"],
        files=[FoundFile(**row) for row in fields["files"]],
        left_out=left_out,
        errors=errors,
        native={name: [Secret(key) for key in keys] for name, keys in fields["native"].items()},
    )


def _blocked(row: dict[str, Any]) -> BlockedEntry:
    replaced = [ReplacedServer(one["name"], Source(**one["source"])) for one in row["servers"]]
    return BlockedEntry(**{**row, "source": Source(**row["source"]), "servers": replaced})


def _server(row: dict[str, Any]) -> FoundServer:
    return FoundServer(
        config=row.get("config"),
        error=restore(row["error"]) if row.get("error") else None,
        enabled=row["enabled"],
        source=Source(**row["source"]),
        shadows=[Source(**source) for source in row["shadows"]],
        direct=row.get("direct"),
    )


def read_trusted(rows: list[dict[str, Any]]) -> list[Trusted]:
    """The rows as records."""
    return [Trusted(**row) for row in rows]
