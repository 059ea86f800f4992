// Owns the error classes: one per kind of the core's list, restored from what the core sends.
import { getSystemErrorName } from 'node:util';

/** The error object of a JSON-RPC answer, as the server sent it. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Whether the tool ran, as far as can be known when a call fails. */
export type Executed = 'no' | 'yes' | 'unknown';

/** The step that failed. */
export type Stage = 'resolve' | 'spawn' | 'dial' | 'handshake' | 'list_tools' | 'call';

/** The state of a restart, for a call whose server is down. */
export interface Restart {
  /** The number of attempts since the server was last stable. */
  readonly attempt: number;
  /** When the next attempt is due, in milliseconds from then; absent while one is running. */
  readonly nextRetryMs?: number;
  /** How the last attempt failed. */
  readonly lastError?: McpoolError;
}

/** The fields of an error besides its message. */
export interface ErrorDetails {
  readonly retryable?: boolean;
  readonly stage?: Stage;
  readonly executed?: Executed;
  readonly server?: string;
  readonly hint?: string;
  readonly exitCode?: number;
  readonly signal?: number;
  readonly stderr?: string;
  readonly stdout?: string;
  readonly httpStatus?: number;
  readonly rpc?: RpcError;
  readonly restart?: Restart;
  readonly retryAfterMs?: number;
  readonly byServer?: boolean;
  readonly cause?: unknown;
}

/** Every error of mcpool. The class, or `code`, says what went wrong; the message is for people. */
export class McpoolError extends Error {
  static readonly code: string = '';
  /** The kind's stable code. */
  readonly code: string;
  /** Whether the same request may succeed later without any change. */
  readonly retryable: boolean;
  /** The step that failed. */
  declare readonly stage?: Stage;
  /** Whether the tool ran, for the error of a call. */
  declare readonly executed?: Executed;
  /** The server. */
  declare readonly server?: string;
  /** What to do about it. */
  declare readonly hint?: string;
  /** The exit code of the server's process. */
  declare readonly exitCode?: number;
  /** The signal that ended the server's process. */
  declare readonly signal?: number;
  /** The last lines of the server's stderr, for failed starts and for processes that ended. */
  declare readonly stderr?: string;
  /** The first lines of stdout that are not messages, for failed starts. */
  declare readonly stdout?: string;
  /** The HTTP status that refused the request. */
  declare readonly httpStatus?: number;
  /** The server's JSON-RPC error, if it sent one. */
  declare readonly rpc?: RpcError;
  /** The state of the restart, for `RestartInProgressError` and `RestartFailedError`. */
  declare readonly restart?: Restart;
  /** When to retry, in milliseconds: the `Retry-After` of a 429 or 503. */
  declare readonly retryAfterMs?: number;
  /** Whether the message or hint contains text of the server, or of the author of its definition. */
  declare readonly byServer?: boolean;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = new.target.code;
    this.retryable = details.retryable ?? false;
    if (details.stage != null) this.stage = details.stage;
    if (details.executed != null) this.executed = details.executed;
    if (typeof details.server === 'string') this.server = details.server;
    if (typeof details.hint === 'string') this.hint = details.hint;
    if (details.exitCode != null) this.exitCode = details.exitCode;
    if (details.signal != null) this.signal = details.signal;
    if (details.stderr != null) this.stderr = details.stderr;
    if (details.stdout != null) this.stdout = details.stdout;
    if (details.httpStatus != null) this.httpStatus = details.httpStatus;
    if (details.rpc != null) this.rpc = details.rpc;
    if (details.restart != null) this.restart = details.restart;
    if (details.retryAfterMs != null) this.retryAfterMs = details.retryAfterMs;
    if (details.byServer || details.rpc != null) this.byServer = true;
  }
}

export class ConfigInvalidError extends McpoolError {
  static override readonly code = 'CONFIG_INVALID';
}
export class ConfigConflictError extends McpoolError {
  static override readonly code = 'CONFIG_CONFLICT';
}
export class ConfigIoError extends McpoolError {
  static override readonly code = 'CONFIG_IO';
}
export class DiscoveryFailedError extends McpoolError {
  static override readonly code = 'DISCOVERY_FAILED';
}
export class UntrustedError extends McpoolError {
  static override readonly code = 'UNTRUSTED';
}
export class ServerDisabledError extends McpoolError {
  static override readonly code = 'SERVER_DISABLED';
}
export class ServerNotFoundError extends McpoolError {
  static override readonly code = 'SERVER_NOT_FOUND';
}
export class ConnectFailedError extends McpoolError {
  static override readonly code = 'CONNECT_FAILED';
}
/** Its `name` is `TimeoutError`, as for every timeout in JavaScript. */
export class ConnectTimeoutError extends McpoolError {
  static override readonly code = 'CONNECT_TIMEOUT';
}
export class HandshakeFailedError extends McpoolError {
  static override readonly code = 'HANDSHAKE_FAILED';
}
export class AuthRequiredError extends McpoolError {
  static override readonly code = 'AUTH_REQUIRED';
}
export class AuthFailedError extends McpoolError {
  static override readonly code = 'AUTH_FAILED';
}
export class ToolUnavailableError extends McpoolError {
  static override readonly code = 'TOOL_UNAVAILABLE';
}
export class ToolRejectedError extends McpoolError {
  static override readonly code = 'TOOL_REJECTED';
}
export class ToolFailedError extends McpoolError {
  static override readonly code = 'TOOL_FAILED';
}
/** Its `name` is `TimeoutError`, as for every timeout in JavaScript. */
export class ToolTimeoutError extends McpoolError {
  static override readonly code = 'TOOL_TIMEOUT';
}
export class InvalidArgumentsError extends McpoolError {
  static override readonly code = 'INVALID_ARGUMENTS';
}
export class NotApprovedError extends McpoolError {
  static override readonly code = 'NOT_APPROVED';
}
export class ConnectionLostError extends McpoolError {
  static override readonly code = 'CONNECTION_LOST';
}
export class RestartInProgressError extends McpoolError {
  static override readonly code = 'mcp_restart_in_progress';
}
export class RestartFailedError extends McpoolError {
  static override readonly code = 'mcp_restart_failed';
}
export class ProtocolError extends McpoolError {
  static override readonly code = 'PROTOCOL_ERROR';
}
export class LimitExceededError extends McpoolError {
  static override readonly code = 'LIMIT_EXCEEDED';
}
export class ClosedError extends McpoolError {
  static override readonly code = 'CLOSED';
}

const classes = [
  ConfigInvalidError,
  ConfigConflictError,
  ConfigIoError,
  DiscoveryFailedError,
  UntrustedError,
  ServerDisabledError,
  ServerNotFoundError,
  ConnectFailedError,
  ConnectTimeoutError,
  HandshakeFailedError,
  AuthRequiredError,
  AuthFailedError,
  ToolUnavailableError,
  ToolRejectedError,
  ToolFailedError,
  ToolTimeoutError,
  InvalidArgumentsError,
  NotApprovedError,
  ConnectionLostError,
  RestartInProgressError,
  RestartFailedError,
  ProtocolError,
  LimitExceededError,
  ClosedError,
] as const;

/** Every code there is. */
export type ErrorCode = (typeof classes)[number]['code'];

const timeouts: readonly unknown[] = [ConnectTimeoutError, ToolTimeoutError];

for (const kind of [McpoolError, ...classes]) {
  const value = timeouts.includes(kind) ? 'TimeoutError' : kind.name;
  Object.defineProperty(kind.prototype, 'name', { value, writable: true, configurable: true });
}

const byCode = new Map<string, typeof McpoolError>(classes.map((kind) => [kind.code, kind]));

/** Fields whose names differ in the core, or that are restored separately. */
type Renamed = 'exitCode' | 'httpStatus' | 'retryAfterMs' | 'byServer' | 'restart' | 'cause';

/** An error as the core sends it. */
export interface SentError extends Omit<ErrorDetails, Renamed> {
  readonly code: string;
  readonly message: string;
  readonly exit_code?: number | null;
  readonly http_status?: number | null;
  readonly restart?: SentRestart | null;
  readonly retry_after_ms?: number | null;
  readonly cause?: SentError | SentForeignError | null;
  readonly by_server?: boolean;
}

interface SentRestart {
  readonly attempt: number;
  readonly next_retry_ms: number | null;
  readonly last_error: SentError | null;
}

/** An error of the system or of a library, as the core sends it. */
interface SentForeignError {
  readonly message: string;
  readonly errno: number | null;
}

/** The error that the core sent, as an instance of its class. */
export function restore({
  code,
  message,
  exit_code,
  http_status,
  restart,
  retry_after_ms,
  cause,
  by_server,
  ...rest
}: SentError): McpoolError {
  const Kind = byCode.get(code) ?? McpoolError;
  return new Kind(message, {
    ...rest,
    ...(exit_code != null && { exitCode: exit_code }),
    ...(http_status != null && { httpStatus: http_status }),
    ...(restart != null && { restart: restoreRestart(restart) }),
    ...(retry_after_ms != null && { retryAfterMs: retry_after_ms }),
    ...(cause != null && { cause: restoreCause(cause) }),
    byServer: by_server ?? false,
  });
}

/** Like Node's own system errors: `code` is a name such as `ECONNREFUSED`, `errno` is negative. */
function restoreCause(sent: SentError | SentForeignError): Error {
  if ('code' in sent) return restore(sent);
  const cause = new Error(sent.message);
  if (sent.errno === null) return cause;
  return Object.assign(cause, { code: getSystemErrorName(-sent.errno), errno: -sent.errno });
}

function restoreRestart({ attempt, next_retry_ms, last_error }: SentRestart): Restart {
  return {
    attempt,
    ...(next_retry_ms !== null && { nextRetryMs: next_retry_ms }),
    ...(last_error !== null && { lastError: restore(last_error) }),
  };
}

/** Runs a native verb that throws; its error's message is the JSON of the core's. */
export function restoring<T>(verb: () => T): T {
  try {
    return verb();
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    if (!message.startsWith('{"code":')) throw error;
    throw restore(JSON.parse(message));
  }
}
