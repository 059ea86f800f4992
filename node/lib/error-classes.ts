// The classes of errors: McpoolError with its fields, and one class for each code.
// Generated from the lists in `core/src/error`; not to be edited.
// biome-ignore-all lint/complexity/noThisInStatic: `this` is the subclass that is asked.

/** The step that failed. */
export type Stage = 'resolve' | 'spawn' | 'dial' | 'handshake' | 'list_tools' | 'call';

/** Whether the tool ran, as far as can be known when a call fails. */
export type Executed = 'no' | 'yes' | 'unknown';

/** Every code there is. */
export type ErrorCode =
  | 'CONFIG_INVALID'
  | 'CONFIG_CONFLICT'
  | 'CONFIG_IO'
  | 'DISCOVERY_FAILED'
  | 'UNTRUSTED'
  | 'SERVER_DISABLED'
  | 'SERVER_NOT_FOUND'
  | 'CONNECT_FAILED'
  | 'CONNECT_TIMEOUT'
  | 'HANDSHAKE_FAILED'
  | 'AUTH_REQUIRED'
  | 'AUTH_FAILED'
  | 'TOOL_UNAVAILABLE'
  | 'TOOL_REJECTED'
  | 'TOOL_FAILED'
  | 'TOOL_TIMEOUT'
  | 'INVALID_ARGUMENTS'
  | 'NOT_APPROVED'
  | 'CONNECTION_LOST'
  | 'mcp_restart_in_progress'
  | 'mcp_restart_failed'
  | 'PROTOCOL_ERROR'
  | 'LIMIT_EXCEEDED'
  | 'CLOSED';

/** The error object of a JSON-RPC answer, as the server sent it. */
export interface RpcError {
  /** The JSON-RPC error code. */
  readonly code: number;
  /** The server's message. */
  readonly message: string;
  /** Other data from the server; data over the `textBytes` limit becomes the beginning of its JSON text. */
  readonly data?: unknown;
}

/** The state of a restart, for a call whose server is down. */
export interface Restart {
  /** The number of attempts since the server was last stable. */
  readonly attempt: number;
  /** When the next attempt is due, in milliseconds from then; none while one is running. */
  readonly nextRetryMs?: number;
  /** How the last attempt failed. */
  readonly lastError?: McpoolError;
}

/** The fields of an error besides its code and message. */
export interface ErrorDetails {
  readonly text?: string | undefined;
  readonly modelMessage?: string | undefined;
  readonly retryable?: boolean | undefined;
  readonly byServer?: boolean | undefined;
  readonly hint?: string | undefined;
  readonly server?: string | undefined;
  readonly suggestion?: string | undefined;
  readonly stage?: Stage | undefined;
  readonly executed?: Executed | undefined;
  readonly exitCode?: number | undefined;
  readonly signal?: number | undefined;
  readonly stderr?: string | undefined;
  readonly stdout?: string | undefined;
  readonly taskId?: string | undefined;
  readonly httpStatus?: number | undefined;
  readonly authUrl?: string | undefined;
  readonly authScopes?: string | undefined;
  readonly rpc?: RpcError | undefined;
  readonly restart?: Restart | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** Marks our errors, also those of another copy of the package: test runners load it once for each test file. */
const BRAND: unique symbol = Symbol.for('mcpool.error');

/** Of a foreign error only what is its own in any library: its other fields may be large, or hold secrets. */
function causeToJson(cause: unknown): unknown {
  if (typeof cause !== 'object' || cause === null) return typeof cause === 'symbol' ? String(cause) : cause;
  if (McpoolError.isInstance(cause)) return cause.toJSON();
  const { name, message, code, errno } = cause as Record<string, unknown>;
  const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number';
  return Object.fromEntries(Object.entries({ name, message, code, errno }).filter(([, it]) => isPlain(it)));
}

/** Every error of mcpool. The class, or `code`, says what went wrong; the message is for people. */
export class McpoolError extends Error {
  static readonly code: ErrorCode | '' = '';
  /** `retryable` of an error that does not say otherwise. */
  static readonly retryable: boolean = false;
  /** The stable code. */
  readonly code: ErrorCode;
  /** The message, after the name of the server where it does not name it. */
  declare readonly text: string;
  /** The message for a model: it names no address, path or command of the user. */
  declare readonly modelMessage?: string;
  /** Whether the same request may succeed later without any change. */
  readonly retryable: boolean;
  /**
   * Whether the message or hint contains text of the server, or of the author of its definition. A model
   * should trust it as little as a result.
   */
  declare readonly byServer?: boolean;
  /** What to do about it. */
  declare readonly hint?: string;
  /** The server's name. */
  declare readonly server?: string;
  /**
   * The tool that may have been meant by one that does not exist: a name of the catalog for `call`, the
   * server's own name for `call_tool`.
   */
  declare readonly suggestion?: string;
  /** The step that failed; none if a server was lost between calls, or if there is no server. */
  declare readonly stage?: Stage;
  /** Whether the tool ran, for the error of a call. */
  declare readonly executed?: Executed;
  /** The exit code of the server's process. */
  declare readonly exitCode?: number;
  /** The signal that ended the server's process. */
  declare readonly signal?: number;
  /** The last lines of the server's stderr, for failed starts and for processes that ended. */
  declare readonly stderr?: string;
  /** The first lines of stdout that are not messages, for failed starts. */
  declare readonly stdout?: string;
  /**
   * The task that the call waited for. Where the server still has it, the option `resume_task` of another
   * call waits for its result.
   */
  declare readonly taskId?: string;
  /** The HTTP status that refused the request. */
  declare readonly httpStatus?: number;
  /** The page to open in a browser, for `AUTH_REQUIRED`. */
  declare readonly authUrl?: string;
  /**
   * The scopes that a sign-in has to ask for, with spaces between them, for `AUTH_REQUIRED` if a sign-in
   * helps.
   */
  declare readonly authScopes?: string;
  /** The server's JSON-RPC error, for `TOOL_FAILED`, refused handshakes and refusals by HTTP status. */
  declare readonly rpc?: RpcError;
  /** The state of the restart, for `mcp_restart_in_progress` and `mcp_restart_failed`. */
  declare readonly restart?: Restart;
  /** When to retry, in milliseconds: the `Retry-After` of a 429 or 503. */
  declare readonly retryAfterMs?: number;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = new.target.code as ErrorCode;
    Object.defineProperty(this, 'text', { value: details.text ?? message });
    Object.defineProperty(this, 'modelMessage', { value: details.modelMessage });
    this.retryable = details.retryable ?? new.target.retryable;
    if (details.byServer || details.rpc != null) this.byServer = true;
    if (details.hint != null) this.hint = details.hint;
    if (details.server != null) this.server = details.server;
    if (details.suggestion != null) this.suggestion = details.suggestion;
    if (details.stage != null) this.stage = details.stage;
    if (details.executed != null) this.executed = details.executed;
    if (details.exitCode != null) this.exitCode = details.exitCode;
    if (details.signal != null) this.signal = details.signal;
    if (details.stderr != null) this.stderr = details.stderr;
    if (details.stdout != null) this.stdout = details.stdout;
    if (details.taskId != null) this.taskId = details.taskId;
    if (details.httpStatus != null) this.httpStatus = details.httpStatus;
    if (details.authUrl != null) this.authUrl = details.authUrl;
    if (details.authScopes != null) this.authScopes = details.authScopes;
    if (details.rpc != null) this.rpc = details.rpc;
    if (details.restart != null) this.restart = details.restart;
    if (details.retryAfterMs != null) this.retryAfterMs = details.retryAfterMs;
  }

  /**
   * Whether this is an error of this class, also one of another copy of the package or of another realm, as test
   * runners make them. `instanceof` answers the same.
   */
  static isInstance<T extends typeof McpoolError>(this: T, error: unknown): error is InstanceType<T> {
    if (Function.prototype[Symbol.hasInstance].call(this, error)) return true;
    // A subclass of somebody else has no code of its own, and no other copy.
    if (!Object.hasOwn(this, 'code') || typeof error !== 'object' || error === null) return false;
    const { [BRAND]: brand, code } = error as { [BRAND]?: unknown; code?: unknown };
    return brand === true && (this.code === '' || this.code === code);
  }

  static override [Symbol.hasInstance](error: unknown): boolean {
    return this.isInstance(error);
  }

  /** The name, the message and all fields; without the stack. */
  toJSON(): Record<string, unknown> {
    const { name, message, cause } = this;
    const json = { name, message, ...(this as object) };
    return cause === undefined ? json : { ...json, cause: causeToJson(cause) };
  }

  /** The name of the class and the `text`. */
  override toString(): string {
    return `${this.name}: ${this.text}`;
  }
}

/** A server definition or an option cannot be used as written. */
export class ConfigInvalidError extends McpoolError {
  static override readonly code = 'CONFIG_INVALID';
}

/** Another manager holds a server of this name with a different definition. */
export class ConfigConflictError extends McpoolError {
  static override readonly code = 'CONFIG_CONFLICT';
}

/** A config file cannot be read or written. */
export class ConfigIoError extends McpoolError {
  static override readonly code = 'CONFIG_IO';
}

/** Looking for config files failed as a whole. */
export class DiscoveryFailedError extends McpoolError {
  static override readonly code = 'DISCOVERY_FAILED';
}

/** A project's server is not started or dialled before its source is trusted. */
export class UntrustedError extends McpoolError {
  static override readonly code = 'UNTRUSTED';
}

/** The server is switched off in its config. */
export class ServerDisabledError extends McpoolError {
  static override readonly code = 'SERVER_DISABLED';
}

/** The manager has no server of this name. For a call that is `TOOL_UNAVAILABLE`. */
export class ServerNotFoundError extends McpoolError {
  static override readonly code = 'SERVER_NOT_FOUND';
}

/** The server could not be started or reached. */
export class ConnectFailedError extends McpoolError {
  static override readonly code = 'CONNECT_FAILED';
  static override readonly retryable = true;
}

/**
 * The server did not get ready within its timeout. Its `name` is `TimeoutError`, as for every timeout in
 * JavaScript.
 */
export class ConnectTimeoutError extends McpoolError {
  static override readonly code = 'CONNECT_TIMEOUT';
  static override readonly retryable = true;
}

/** The server answered, but not as an MCP server that we can speak with. */
export class HandshakeFailedError extends McpoolError {
  static override readonly code = 'HANDSHAKE_FAILED';
  static override readonly retryable = true;
}

/** The server wants a sign-in. */
export class AuthRequiredError extends McpoolError {
  static override readonly code = 'AUTH_REQUIRED';
}

/** The server refused the credentials, or nobody could say for whom the call is made. */
export class AuthFailedError extends McpoolError {
  static override readonly code = 'AUTH_FAILED';
}

/** The tool's server is not there to take the call, or takes none now. */
export class ToolUnavailableError extends McpoolError {
  static override readonly code = 'TOOL_UNAVAILABLE';
  static override readonly retryable = true;
}

/** The server has no such tool, or refuses the call. */
export class ToolRejectedError extends McpoolError {
  static override readonly code = 'TOOL_REJECTED';
}

/** The server answered the call with a JSON-RPC error. */
export class ToolFailedError extends McpoolError {
  static override readonly code = 'TOOL_FAILED';
}

/** The tool did not answer in time. Its `name` is `TimeoutError`, as for every timeout in JavaScript. */
export class ToolTimeoutError extends McpoolError {
  static override readonly code = 'TOOL_TIMEOUT';
  static override readonly retryable = true;
}

/** The arguments are not a JSON object. */
export class InvalidArgumentsError extends McpoolError {
  static override readonly code = 'INVALID_ARGUMENTS';
}

/** The approval callback refused the call. */
export class NotApprovedError extends McpoolError {
  static override readonly code = 'NOT_APPROVED';
}

/** The connection ended while the call was under way. */
export class ConnectionLostError extends McpoolError {
  static override readonly code = 'CONNECTION_LOST';
  static override readonly retryable = true;
}

/** The server is being restarted. */
export class RestartInProgressError extends McpoolError {
  static override readonly code = 'mcp_restart_in_progress';
  static override readonly retryable = true;
}

/** The last restart failed; the next one is due later. */
export class RestartFailedError extends McpoolError {
  static override readonly code = 'mcp_restart_failed';
  static override readonly retryable = true;
}

/** The server sent an answer that cannot be read. */
export class ProtocolError extends McpoolError {
  static override readonly code = 'PROTOCOL_ERROR';
}

/** A message or a queue went over its limit. */
export class LimitExceededError extends McpoolError {
  static override readonly code = 'LIMIT_EXCEEDED';
}

/** The manager is closed, or was closed during the call. */
export class ClosedError extends McpoolError {
  static override readonly code = 'CLOSED';
}

const names: [typeof McpoolError, string][] = [
  [McpoolError, 'McpoolError'],
  [ConfigInvalidError, 'ConfigInvalidError'],
  [ConfigConflictError, 'ConfigConflictError'],
  [ConfigIoError, 'ConfigIoError'],
  [DiscoveryFailedError, 'DiscoveryFailedError'],
  [UntrustedError, 'UntrustedError'],
  [ServerDisabledError, 'ServerDisabledError'],
  [ServerNotFoundError, 'ServerNotFoundError'],
  [ConnectFailedError, 'ConnectFailedError'],
  [ConnectTimeoutError, 'TimeoutError'],
  [HandshakeFailedError, 'HandshakeFailedError'],
  [AuthRequiredError, 'AuthRequiredError'],
  [AuthFailedError, 'AuthFailedError'],
  [ToolUnavailableError, 'ToolUnavailableError'],
  [ToolRejectedError, 'ToolRejectedError'],
  [ToolFailedError, 'ToolFailedError'],
  [ToolTimeoutError, 'TimeoutError'],
  [InvalidArgumentsError, 'InvalidArgumentsError'],
  [NotApprovedError, 'NotApprovedError'],
  [ConnectionLostError, 'ConnectionLostError'],
  [RestartInProgressError, 'RestartInProgressError'],
  [RestartFailedError, 'RestartFailedError'],
  [ProtocolError, 'ProtocolError'],
  [LimitExceededError, 'LimitExceededError'],
  [ClosedError, 'ClosedError'],
];

Object.defineProperty(McpoolError.prototype, BRAND, { value: true });

// Not enumerable, like the names of JavaScript's own errors.
for (const [{ prototype }, value] of names) {
  Object.defineProperty(prototype, 'name', { value, writable: true, configurable: true });
}
