"""A server on a Python library that others wrote, with the library's own sign-in: LIBRARY PORT [OIDC_PORT].

The libraries are `mcp`, `fastmcp` and `fastmcp-proxy`. The last asks the authorisation server of `oidc.mjs`,
whose server listens at `OIDC_PORT`. The others keep all in memory: who is asked agrees at once, and all is
forgotten when the process ends.
"""

import json
import sys
import urllib.request
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.auth import OAuthProxy
from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier
from key_value.aio.stores.memory import MemoryStore
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

SCOPE = "mcp"


def in_memory(origin: str) -> InMemoryOAuthProvider:
    return InMemoryOAuthProvider(
        base_url=origin,
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=[SCOPE]),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=[SCOPE],
    )


def fetch(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        return json.load(answer)


def proxy(origin: str, oidc_port: str) -> OAuthProxy:
    resource = fetch(f"http://127.0.0.1:{oidc_port}/.well-known/oauth-protected-resource/mcp")
    upstream = fetch(resource["authorization_servers"][0] + "/.well-known/openid-configuration")
    grants = ["authorization_code", "refresh_token"]
    asked = {"redirect_uris": [f"{origin}/auth/callback"], "grant_types": grants}
    client = fetch(upstream["registration_endpoint"], asked)
    verifier = IntrospectionTokenVerifier(
        introspection_url=upstream["introspection_endpoint"],
        client_id="resource",
        client_secret="resource",
        required_scopes=[SCOPE],
    )
    return OAuthProxy(
        upstream_authorization_endpoint=upstream["authorization_endpoint"],
        upstream_token_endpoint=upstream["token_endpoint"],
        upstream_revocation_endpoint=upstream["revocation_endpoint"],
        upstream_client_id=client["client_id"],
        upstream_client_secret=client["client_secret"],
        token_verifier=verifier,
        base_url=origin,
        valid_scopes=[SCOPE, "offline_access"],
        extra_authorize_params={"prompt": "consent"},
        client_storage=MemoryStore(),
        jwt_signing_key="a key of the tests",
    )


def application(library: str, port: str, *upstream: str) -> Any:
    """The library's own ASGI application."""
    origin = f"http://127.0.0.1:{port}"
    if library == "mcp":
        provider = in_memory(origin)
        settings = AuthSettings(
            issuer_url=origin,
            resource_server_url=f"{origin}/mcp",
            validate_token_resource=False,
            client_registration_options=provider.client_registration_options,
            revocation_options=provider.revocation_options,
            required_scopes=[SCOPE],
        )
        server: Any = MCPServer("real", auth_server_provider=provider, auth=settings)
    else:
        server = FastMCP("real", auth=proxy(origin, *upstream) if upstream else in_memory(origin))

    @server.tool()
    def echo(text: str) -> str:
        return text

    return server.streamable_http_app() if library == "mcp" else server.http_app()


if __name__ == "__main__":
    import uvicorn

    library, port, *upstream = sys.argv[1:]
    uvicorn.run(application(library, port, *upstream), host="127.0.0.1", port=int(port), log_level="warning")
