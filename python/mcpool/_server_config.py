"""What the definition of a server may say: words for type checkers and editors.

Generated from the fields that `core/src/config/server.rs` declares: change them there.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class TlsConfig(TypedDict, total=False):
    """The files of a server's own TLS settings, each in PEM form."""

    ca: str
    """The certificates that the server's own must be signed by, in place of the system's."""
    cert: str
    """The certificate that we present, with those that lead to its authority."""
    key: str
    """The private key of `cert`."""


class IdentityProvider(TypedDict, total=False):
    """The identity provider of a company."""

    tokenEndpoint: str
    """Its token endpoint."""
    clientId: str
    """Our client id there."""
    clientSecret: str
    """Our secret there."""
    idToken: str
    """The user's ID token."""


class ServerAuth(TypedDict, total=False):
    """How we show a server who we are."""

    type: Literal["oauth", "bearer", "none"]
    """The kind of sign-in: `oauth`, a fixed token (`bearer`), or `none`, which also keeps a server on the
    network from asking for one.
    """
    credentialId: str
    """The name of the stored login, for several accounts at one server; a program gets its token as
    `OAUTH_ACCESS_TOKEN`.
    """
    token: str
    """The token, for `bearer`."""
    tokenEnv: str
    """The variable that holds the token, for `bearer`."""
    grant: Literal["authorizationCode", "deviceCode", "clientCredentials", "jwtBearer", "enterprise"]
    """How the token is got: `authorizationCode` and `deviceCode` ask a person, the others do not."""
    clientId: str
    """The id of a client that is registered already. Then none is registered."""
    clientSecret: str
    """Its secret."""
    privateKey: str
    """Its private key in PEM form (PKCS#8), for `clientCredentials`."""
    clientMetadataUrl: str
    """The address of a client id metadata document, which takes the place of a registration where the server
    supports it.
    """
    scopes: list[str] | str
    """The scopes to ask for, besides those that the server names."""
    resource: str
    """The resource that the token is for: `omit` leaves it out; otherwise the text as written. Not from a
    project.
    """
    issuer: str
    """The issuer that must have issued the token, whatever the server says. Not from a project."""
    params: dict[str, str]
    """Further parameters of the requests for authorisation and for tokens, such as `audience`. Not from a
    project.
    """
    callbackHost: Literal["127.0.0.1", "localhost"]
    """The host of the address that the browser returns to: some servers want one spelling of it."""
    callbackPort: int
    """Its port."""
    allowPrivateAddresses: bool
    """Whether the authorisation server may have a private address although the server itself has a public
    one. Not from a project.
    """
    allowMissingIssuer: bool
    """Whether an authorisation server that does not name its issuer is accepted. Not from a project."""
    allowMissingPkce: bool
    """Whether an authorisation server that does not say that it supports PKCE is used. Not from a project.
    """
    dpop: Literal["auto", "always", "never"]
    """Whether tokens are bound to a key of ours (DPoP): where the server asks for it, always, or never."""
    assertion: str
    """The assertion of the platform that we run on, for `jwtBearer`."""
    idp: IdentityProvider
    """The identity provider of the company, for `enterprise`."""


class RestartDelays(TypedDict, total=False):
    """When a server is tried again: after these milliseconds; `forever` repeats the last of them."""

    delays: list[int]
    """The wait in milliseconds before each restart, in order."""
    forever: bool
    """Whether the last delay repeats for ever; else the server has failed once all are used up."""


class ToolSwitch(TypedDict, total=False):
    """What is said of one tool of a server."""

    enabled: bool
    """Whether the tool is offered."""


class Limits(TypedDict, total=False):
    """The bounds on what a server may cost us."""

    messageBytes: int
    """The longest line or body, in bytes."""
    jsonDepth: int
    """The deepest nesting of JSON."""
    serverRequests: int
    """How many requests of the server may be open."""
    replyBytes: int
    """How many bytes of our replies may wait for a server that does not read."""
    textBytes: int
    """How many bytes of one text of the server are shown or kept: a name, instructions, the words of an error
    or a log.
    """
    toolBytes: int
    """The longest definition of one tool, in bytes; a longer one is left out."""
    toolListBytes: int
    """How many bytes the definitions of all its tools may be."""


class ServerConfig(TypedDict, total=False):
    """One server: either a program (`command`) or an address (`url`)."""

    type: Literal["stdio", "http", "sse", "websocket"] | str
    """How it is reached: `stdio` for a program, `http` (Streamable HTTP), `sse` (the older HTTP) or
    `websocket` for an address. Without it, a `command` means `stdio` and a `url` means `http`.
    """
    command: str
    """The program to start, looked up on `PATH`."""
    args: list[str]
    """Its arguments."""
    env: dict[str, str]
    """Variables set for it alone."""
    envFile: str
    """A file of further `NAME=value` lines; `env` wins over it."""
    cwd: str
    """Its working directory."""
    url: str
    """Its address."""
    headers: dict[str, str]
    """Headers sent with each request."""
    tls: TlsConfig
    """Its own TLS settings, for a server on the network."""
    headersHelper: str
    """A command that prints further headers as a JSON object, for a server on the network. It runs before
    each connect, for 10 s at most.
    """
    auth: ServerAuth
    """How to sign in."""
    enabled: bool
    """Off means: listed, never started."""
    disabled: bool
    """The opposite of `enabled`."""
    required: bool
    """Whether its failure makes connecting all servers an error."""
    timeout: int
    """Milliseconds for connect, handshake and the first tool list together."""
    toolTimeout: int
    """Milliseconds for one call."""
    requestTimeout: int
    """Milliseconds for one request. At least 1.5 times `toolTimeout` and `toolTimeout` + 1000; a smaller
    value is raised to that.
    """
    inheritEnv: Literal["safe", "all", "none"]
    """What of our environment its process inherits: a short list without secrets, all, or nothing."""
    requiresApproval: bool
    """Whether its tools need approval. Somebody is asked if the manager has an approval callback, or if an
    adapter asks.
    """
    shared: bool
    """One connection for all managers of the process."""
    lazy: bool
    """Started by its first call instead of with the others."""
    isolate: Literal["none", "session"]
    """With `session`, each manager has a connection of its own although the server is shared: for servers
    that keep state.
    """
    sharedIdentity: bool
    """Whether all identities share its connection: for servers without accounts."""
    restart: Literal["relentless", "bounded", "once", "never"] | RestartDelays
    """When it is tried again after a failure: relentless (the default of shared servers), bounded, once (the
    default of private ones), never, or the delays written out.
    """
    healthProbe: Literal["auto", "ping", "listTools"]
    """How it is asked whether it is alive."""
    pingInterval: int
    """Milliseconds between questions whether it is alive; off without it."""
    keepAlive: int | Literal["always"]
    """Milliseconds that the connection outlives its last manager, or `always`."""
    idleShutdown: int
    """Milliseconds without a call until it is stopped; the next call starts it again. Off without it."""
    maxConcurrency: int
    """How many calls may be under way at once, of all managers that share the connection; the others wait for
    their turn. No bound without it.
    """
    maxResultChars: int
    """How many characters of a result a model gets to see."""
    protocol: str
    """The version of the protocol to speak; `auto` agrees on one with the server. With `2026-07-28` the
    server is asked for that version first. A change takes effect at the next connect.
    """
    enabledTools: list[str]
    """Globs of the only tools to offer; without the list, all."""
    disabledTools: list[str]
    """Globs of tools not to offer; they win over `enabledTools`."""
    tools: dict[str, ToolSwitch] | list[str]
    """Tools by name, each on or off; or the list of `enabledTools`."""
    limits: Limits
    """Bounds on what it may cost; beyond one, the call concerned fails."""
