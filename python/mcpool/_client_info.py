"""The program that servers see as their client."""

from __future__ import annotations

from typing import TypedDict

from ._native import set_client_info as _set_client_info


class _Named(TypedDict):
    name: str
    version: str


class ClientInfo(_Named, total=False):
    """Name and version of the program that servers see as their client, and a title for people."""

    title: str | None


def set_client_info(info: ClientInfo | None) -> None:
    """Sets what servers are told about their client, for all pools without client info of their own.

    None is mcpool's own name. A connection that is up keeps what it was opened with; its next attempt
    uses this.
    """
    _set_client_info(info)
