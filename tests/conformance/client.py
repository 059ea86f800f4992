"""The Python client under test: signs in, lists the tools and calls one.

Exits with 1 for an error of mcpool, and with 2 for any other.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import mcpool

# The suite expects this address. Nobody fetches it.
CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json"
TOOL = "test-tool"
# The settings of mcpool by their names in the suite's context
SETTINGS = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "privateKey": "private_key_pem",
    "assertion": "valid_jwt",
}
IDP_SETTINGS = {"tokenEndpoint": "idp_token_endpoint", "clientId": "idp_client_id", "idToken": "idp_id_token"}


def auth_settings(scenario: str, context: dict[str, str]) -> dict[str, Any]:
    """What a user of this server would write under `auth`."""
    given = {name: context[key] for name, key in SETTINGS.items() if key in context}
    settings: dict[str, Any] = {"clientMetadataUrl": CLIENT_METADATA_URL, **given}
    if scenario.startswith("auth/client-credentials-"):
        settings["grant"] = "clientCredentials"
    elif scenario == "auth/wif-jwt-bearer":
        settings["grant"] = "jwtBearer"
    elif scenario == "auth/enterprise-managed-authorization":
        settings["grant"] = "enterprise"
        settings["idp"] = {name: context[key] for name, key in IDP_SETTINGS.items()}
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


async def run(url: str) -> None:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    auth = auth_settings(os.environ["MCP_CONFORMANCE_SCENARIO"], context)
    config = {"mcpServers": {"test": {"url": url, "auth": auth}}}
    async with mcpool.Manager(config, on_auth=sign_in, cache_dir=False) as manager:
        report = await manager.connect_all()
        for error in report.failed.values():
            raise error
        if TOOL not in [tool.raw_name for tool in manager.get_tools()]:
            raise RuntimeError(f"the catalog has no {TOOL}: {manager.warnings}")
        result = await manager.call_tool("test", TOOL, {})
        if result.is_error:
            raise RuntimeError(f"{TOOL} failed: {result.text}")


if __name__ == "__main__":
    try:
        asyncio.run(run(sys.argv[-1]))
    except mcpool.McpoolError as error:
        print(f"{error.code}: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception:
        traceback.print_exc()
        sys.exit(2)
