// The types of a config and of the definitions in it. Generated from the fields that
// `core/src/config/server.rs` declares: change them there.
import type { extra } from './extra.js';

/** The files of a server's own TLS settings, each in PEM form. */
export interface TlsConfig {
  /** The certificates that the server's own must be signed by, in place of the system's. */
  ca?: string | undefined;
  /** The certificate that we present, with those that lead to its authority. */
  cert?: string | undefined;
  /** The private key of `cert`. */
  key?: string | undefined;
}

/** The identity provider of a company. */
export interface IdentityProvider {
  /** Its token endpoint. */
  tokenEndpoint?: string | undefined;
  /** Our client id there. */
  clientId?: string | undefined;
  /** Our secret there. */
  clientSecret?: string | undefined;
  /** The user's ID token. */
  idToken?: string | undefined;
}

/** How we show a server who we are. */
export interface ServerAuth {
  /**
   * The kind of sign-in: `oauth`, a fixed token (`bearer`), or `none`, which also keeps a server on the
   * network from asking for one.
   */
  type?: 'oauth' | 'bearer' | 'none' | undefined;
  /**
   * The name of the stored login, for several accounts at one server; a program gets its token as
   * `OAUTH_ACCESS_TOKEN`.
   */
  credentialId?: string | undefined;
  /** The token, for `bearer`. */
  token?: string | undefined;
  /** The variable that holds the token, for `bearer`. */
  tokenEnv?: string | undefined;
  /** How the token is got: `authorizationCode` and `deviceCode` ask a person, the others do not. */
  grant?: 'authorizationCode' | 'deviceCode' | 'clientCredentials' | 'jwtBearer' | 'enterprise' | undefined;
  /** The id of a client that is registered already. Then none is registered. */
  clientId?: string | undefined;
  /** Its secret. */
  clientSecret?: string | undefined;
  /** Its private key in PEM form (PKCS#8), for `clientCredentials`. */
  privateKey?: string | undefined;
  /**
   * The address of a client id metadata document, which takes the place of a registration where the server
   * supports it.
   */
  clientMetadataUrl?: string | undefined;
  /** The scopes to ask for, besides those that the server names. */
  scopes?: readonly string[] | string | undefined;
  /**
   * The resource that the token is for: `omit` leaves it out; otherwise the text as written. Not from a
   * project.
   */
  resource?: string | undefined;
  /** The issuer that must have issued the token, whatever the server says. Not from a project. */
  issuer?: string | undefined;
  /**
   * Further parameters of the requests for authorisation and for tokens, such as `audience`. Not from a
   * project.
   */
  params?: Readonly<Record<string, string | undefined>> | undefined;
  /** The host of the address that the browser returns to: some servers want one spelling of it. */
  callbackHost?: '127.0.0.1' | 'localhost' | undefined;
  /** Its port. */
  callbackPort?: number | undefined;
  /**
   * Whether the authorisation server may have a private address although the server itself has a public one.
   * Not from a project.
   */
  allowPrivateAddresses?: boolean | undefined;
  /** Whether an authorisation server that does not name its issuer is accepted. Not from a project. */
  allowMissingIssuer?: boolean | undefined;
  /** Whether an authorisation server that does not say that it supports PKCE is used. Not from a project. */
  allowMissingPkce?: boolean | undefined;
  /** Whether tokens are bound to a key of ours (DPoP): where the server asks for it, always, or never. */
  dpop?: 'auto' | 'always' | 'never' | undefined;
  /** The assertion of the platform that we run on, for `jwtBearer`. */
  assertion?: string | undefined;
  /** The identity provider of the company, for `enterprise`. */
  idp?: IdentityProvider | undefined;
}

/** When a server is tried again: after these milliseconds; `forever` repeats the last of them. */
export interface RestartDelays {
  /** The wait in milliseconds before each restart, in order. */
  delays: readonly number[];
  /** Whether the last delay repeats for ever; else the server has failed once all are used up. */
  forever?: boolean | undefined;
}

/** What is said of one tool of a server. */
export interface ToolSwitch {
  /** Whether the tool is offered. */
  enabled?: boolean | undefined;
}

/** The bounds on what a server may cost us. */
export interface Limits {
  /** The longest line or body, in bytes. */
  messageBytes?: number | undefined;
  /** The deepest nesting of JSON. */
  jsonDepth?: number | undefined;
  /** How many requests of the server may be open. */
  serverRequests?: number | undefined;
  /** How many bytes of our replies may wait for a server that does not read. */
  replyBytes?: number | undefined;
  /**
   * How many bytes of one text of the server are shown or kept: a name, instructions, the words of an error
   * or a log.
   */
  textBytes?: number | undefined;
  /** The longest definition of one tool, in bytes; a longer one is left out. */
  toolBytes?: number | undefined;
  /** How many bytes the definitions of all its tools may be. */
  toolListBytes?: number | undefined;
}

/** One server: either a program (`command`) or an address (`url`). */
export interface ServerConfig {
  /**
   * How it is reached: `stdio` for a program, `http` (Streamable HTTP), `sse` (the older HTTP) or `websocket`
   * for an address. Without it, a `command` means `stdio` and a `url` means `http`.
   */
  type?: string | undefined;
  /** The program to start, looked up on `PATH`. */
  command?: string | undefined;
  /** Its arguments. */
  args?: readonly string[] | undefined;
  /** Variables set for it alone. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** A file of further `NAME=value` lines; `env` wins over it. */
  envFile?: string | undefined;
  /** Its working directory. */
  cwd?: string | undefined;
  /** Its address. */
  url?: string | undefined;
  /** Headers sent with each request. */
  headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** Its own TLS settings, for a server on the network. */
  tls?: TlsConfig | undefined;
  /**
   * A command that prints further headers as a JSON object, for a server on the network. It runs before each
   * connect, for 10 s at most.
   */
  headersHelper?: string | undefined;
  /** How to sign in. */
  auth?: ServerAuth | undefined;
  /** Off means: listed, never started. */
  enabled?: boolean | undefined;
  /** The opposite of `enabled`. */
  disabled?: boolean | undefined;
  /** Whether its failure makes connecting all servers an error. */
  required?: boolean | undefined;
  /** Milliseconds for connect, handshake and the first tool list together. */
  timeout?: number | undefined;
  /** Milliseconds for one call. */
  toolTimeout?: number | undefined;
  /**
   * Milliseconds for one request. At least 1.5 times `toolTimeout` and `toolTimeout` + 1000; a smaller value
   * is raised to that.
   */
  requestTimeout?: number | undefined;
  /** What of our environment its process inherits: a short list without secrets, all, or nothing. */
  inheritEnv?: 'safe' | 'all' | 'none' | undefined;
  /**
   * Whether its tools need approval. Somebody is asked if the manager has an approval callback, or if an
   * adapter asks.
   */
  requiresApproval?: boolean | undefined;
  /** One connection for all managers of the process. */
  shared?: boolean | undefined;
  /** Started by its first call instead of with the others. */
  lazy?: boolean | undefined;
  /**
   * With `session`, each manager has a connection of its own although the server is shared: for servers that
   * keep state.
   */
  isolate?: 'none' | 'session' | undefined;
  /** Whether all identities share its connection: for servers without accounts. */
  sharedIdentity?: boolean | undefined;
  /**
   * When it is tried again after a failure: relentless (the default of shared servers), bounded, once (the
   * default of private ones), never, or the delays written out.
   */
  restart?: 'relentless' | 'bounded' | 'once' | 'never' | RestartDelays | undefined;
  /** How it is asked whether it is alive. */
  healthProbe?: 'auto' | 'ping' | 'listTools' | undefined;
  /** Milliseconds between questions whether it is alive; off without it. */
  pingInterval?: number | undefined;
  /** Milliseconds that the connection outlives its last manager, or `always`. */
  keepAlive?: number | 'always' | undefined;
  /** Milliseconds without a call until it is stopped; the next call starts it again. Off without it. */
  idleShutdown?: number | undefined;
  /**
   * How many calls may be under way at once, of all managers that share the connection; the others wait for
   * their turn. No bound without it.
   */
  maxConcurrency?: number | undefined;
  /** How many characters of a result a model gets to see. */
  maxResultChars?: number | undefined;
  /**
   * The version of the protocol to speak; `auto` agrees on one with the server. With `2026-07-28` the server
   * is asked for that version first. A change takes effect at the next connect.
   */
  protocol?: string | undefined;
  /** Globs of the only tools to offer; without the list, all. */
  enabledTools?: readonly string[] | undefined;
  /** Globs of tools not to offer; they win over `enabledTools`. */
  disabledTools?: readonly string[] | undefined;
  /** Tools by name, each on or off; or the list of `enabledTools`. */
  tools?: Readonly<Record<string, ToolSwitch | undefined>> | readonly string[] | undefined;
  /** Bounds on what it may cost; beyond one, the call concerned fails. */
  limits?: Limits | undefined;
  /** Fields that are not ours, for other programs that read the same definition. */
  [extra]?: Readonly<Record<string, unknown>> | undefined;
}

/** MCP servers, and which of them are on. */
export interface Config {
  /** The place of this schema, for editors. */
  $schema?: string | undefined;
  /** The servers by name. */
  mcpServers: Readonly<Record<string, ServerConfig | undefined>>;
  /** Names of servers that are off, whatever their definition says. */
  disabledServers?: readonly string[] | undefined;
  /** Names of the only servers that are on; without it, all are. */
  enabledServers?: readonly string[] | undefined;
  /** Whether a header or variable whose value is the name of a set variable gets that variable's value. */
  bareEnvNames?: boolean | undefined;
  /** Fields that are not ours, for other programs that read the same definition. */
  [extra]?: Readonly<Record<string, unknown>> | undefined;
}
