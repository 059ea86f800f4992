"""The Python client under test: one function for each scenario, which does what the suite expects.

Exits with 1 for an error of mcpool, and with 2 for any other.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import mcpool

URL = sys.argv[-1]
SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
VERSION = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
# The version that a client and a server of the suite agree on by themselves
NEGOTIATED_VERSION = "2025-11-25"
# The first version without a handshake. Some servers of the suite would also speak an older one.
STATELESS_VERSION = "2026-07-28"
# The suite expects this address. Nobody fetches it.
CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json"
# The settings of mcpool by their names in the suite's context
SETTINGS = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "privateKey": "private_key_pem",
    "assertion": "valid_jwt",
}
IDP_SETTINGS = {"tokenEndpoint": "idp_token_endpoint", "clientId": "idp_client_id", "idToken": "idp_id_token"}


@asynccontextmanager
async def connected(auth: dict[str, Any] | None = None, **options: Any) -> AsyncIterator[Any]:
    """A manager that is connected to the suite's server."""
    definition: dict[str, Any] = {"url": URL}
    if auth is not None:
        definition["auth"] = auth
    if VERSION != NEGOTIATED_VERSION:
        definition["protocol"] = VERSION
    config = {"mcpServers": {"test": definition}}
    async with mcpool.Manager(config, cache_dir=False, **options) as manager:
        report = await manager.connect_all()
        for error in report.failed.values():
            raise error
        if VERSION == STATELESS_VERSION:
            expect(manager.status("test").protocol_version, VERSION)
        yield manager


def tool_names(manager: Any) -> list[str]:
    return [tool.raw_name for tool in manager.get_tools()]


async def call(manager: Any, tool: str, arguments: dict[str, Any] | None = None) -> str:
    """Calls a tool that the catalog has, and returns the text of its result."""
    if tool not in tool_names(manager):
        raise RuntimeError(f"the catalog has no {tool}: {manager.warnings}")
    result = await manager.call_tool("test", tool, arguments or {})
    if result.is_error:
        raise RuntimeError(f"{tool} failed: {result.text}")
    text: str = result.text
    return text


def expect(actual: object, expected: object) -> None:
    if actual != expected:
        raise RuntimeError(f"expected {expected!r}, got {actual!r}")


async def initialize() -> None:
    async with connected() as manager:
        expect(tool_names(manager), [])


async def tools_call() -> None:
    async with connected() as manager:
        expect(await call(manager, "add_numbers", {"a": 5, "b": 3}), "The sum of 5 and 3 is 8")


async def elicitation_defaults() -> None:
    defaults = {"name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": True}
    async with connected(on_elicitation=lambda _: {"action": "accept", "content": {}}) as manager:
        said = await call(manager, "test_client_elicitation_defaults")
    expect(json.loads(said.removeprefix("Elicitation completed: ")), defaults)


async def sse_retry() -> None:
    async with connected() as manager:
        expect(await call(manager, "test_reconnection"), "Reconnection test completed successfully")


async def request_metadata() -> None:
    """Offers everything that a client can offer: the suite skips checks of what is not there."""
    offers: dict[str, Any] = {
        "on_elicitation": lambda _: {"action": "decline"},
        "on_sampling": lambda _: None,
        "roots": ["/tmp"],
    }
    async with connected(**offers) as manager:
        expect(tool_names(manager), [])


async def request_state() -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def confirm(_: Any) -> dict[str, Any]:
        asked.set()
        await answer.wait()
        return {"action": "accept", "content": {"confirmed": True}}

    async with connected(on_elicitation=confirm) as manager:
        echo = asyncio.create_task(call(manager, "test_mrtr_echo_state"))
        waiting = asyncio.create_task(asked.wait())
        await asyncio.wait([echo, waiting], return_when=asyncio.FIRST_COMPLETED)
        # While the question of the first tool is open: its state belongs to no other call.
        expect(await call(manager, "test_mrtr_unrelated"), "unrelated-ok")
        answer.set()
        expect(await echo, "echo-state-ok")
        expect(await call(manager, "test_mrtr_no_state"), "no-state-ok")
        expect(await call(manager, "test_mrtr_no_result_type"), "no-result-type-test-ok")


async def standard_headers() -> None:
    async with connected() as manager:
        for tool in ["test_headers", "my-hyphenated-tool"]:
            await call(manager, tool)
        for resource in await manager.list_resources("test"):
            await manager.read_resource("test", resource.uri)
        for prompt in await manager.list_prompts("test"):
            await manager.get_prompt("test", prompt.name, {})


async def custom_headers() -> None:
    async with connected() as manager:
        for wanted in CONTEXT["toolCalls"]:
            await call(manager, wanted["name"], wanted["arguments"])


async def invalid_tool_headers() -> None:
    """Calls all that is offered: tools with invalid headers must not be."""
    async with connected() as manager:
        for tool in manager.get_tools():
            await call(manager, tool.raw_name, dict.fromkeys(tool.input_schema["properties"], "eu"))
        expect(tool_names(manager), ["valid_tool"])


async def ref_no_deref() -> None:
    async with connected() as manager:
        expect(tool_names(manager), ["lookup_user"])


async def schema_preservation() -> None:
    async with connected() as manager:
        tools = {tool.raw_name: tool for tool in manager.get_tools()}
        schema = tools["json_schema_2020_12_tool"].input_schema
        await call(manager, "json_schema_echo", {"schema": schema})


async def skills_no_prefetch() -> None:
    async with connected() as manager:
        expect([skill.name for skill in await manager.list_skills("test")], ["pdf-processing"])


async def skills_verify() -> None:
    """Loads a skill that was tampered with. If it is not refused, goes on like somebody who trusts it."""
    async with connected() as manager:
        expect([skill.name for skill in await manager.list_skills("test")], ["pdf-processing"])
        await manager.read_skill("test", "pdf-processing")
        await manager.read_resource("test", "skill://pdf-processing/references/FORMS.md")
    raise RuntimeError("the skill was not refused")


def auth_settings() -> dict[str, Any]:
    """What a user of this server would write under `auth`."""
    given = {name: CONTEXT[key] for name, key in SETTINGS.items() if key in CONTEXT}
    settings: dict[str, Any] = {"clientMetadataUrl": CLIENT_METADATA_URL, **given}
    if SCENARIO.startswith("auth/client-credentials-"):
        settings["grant"] = "clientCredentials"
    elif SCENARIO == "auth/wif-jwt-bearer":
        settings["grant"] = "jwtBearer"
    elif SCENARIO == "auth/enterprise-managed-authorization":
        settings["grant"] = "enterprise"
        settings["idp"] = {name: CONTEXT[key] for name, key in IDP_SETTINGS.items()}
    return settings


def redirect_of(url: str) -> str | None:
    """Where a page sends the browser."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=10)
    connection.request("GET", f"{parts.path}?{parts.query}")
    return connection.getresponse().getheader("Location")


async def sign_in(prompt: mcpool.AuthPrompt) -> str | None:
    """Plays the browser: the authorisation server of the suite asks nobody and redirects at once."""
    return await asyncio.to_thread(redirect_of, prompt.url)


async def authorize() -> None:
    async with connected(auth_settings(), on_auth=sign_in) as manager:
        expect(await call(manager, "test-tool"), "test")


SCENARIOS: dict[str, Callable[[], Awaitable[None]]] = {
    "initialize": initialize,
    "tools_call": tools_call,
    "elicitation-sep1034-client-defaults": elicitation_defaults,
    "sse-retry": sse_retry,
    "request-metadata": request_metadata,
    "sep-2322-client-request-state": request_state,
    "http-standard-headers": standard_headers,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": invalid_tool_headers,
    "json-schema-ref-no-deref": ref_no_deref,
    "json-schema-2020-12-preservation": schema_preservation,
    "sep-2640-client-no-prefetch": skills_no_prefetch,
    "sep-2640-client-verify-digest": skills_verify,
    "sep-2640-client-verify-size": skills_verify,
    "sep-2640-client-verify-frontmatter": skills_verify,
}


async def main() -> None:
    await (authorize() if SCENARIO.startswith("auth/") else SCENARIOS[SCENARIO]())


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except mcpool.McpoolError as error:
        print(f"{error.code}: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception:
        traceback.print_exc()
        sys.exit(2)
