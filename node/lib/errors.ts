// Restores errors from what the core sends; their classes are in `error-classes`.
import { getSystemErrorName, types } from 'node:util';
import { isNativeError } from '../native.js';
import * as classes from './error-classes.js';
import { McpoolError, type Restart } from './error-classes.js';
import { camelFields, camelVerbs } from './names.js';

export * from './error-classes.js';

const byCode = new Map<string, typeof McpoolError>(
  Object.values(classes).map((kind): [string, typeof McpoolError] => [kind.code, kind]),
);

/** An error as the core sends it, with the core's names of the fields. */
export interface SentError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | null;
  readonly restart?: SentRestart | null;
  readonly cause?: SentError | SentForeignError | null;
  readonly [field: string]: unknown;
}

interface SentRestart {
  readonly attempt: number;
  readonly last_error: SentError | null;
  readonly [field: string]: unknown;
}

/** An error of the system or of a library, as the core sends it. */
interface SentForeignError {
  readonly message: string;
  readonly errno: number | null;
}

/** The error that the core sent, as an instance of its class. */
export function restore({ code, message, hint, restart, cause, ...fields }: SentError): McpoolError {
  const Kind = byCode.get(code) ?? McpoolError;
  return new Kind(message, {
    ...camelFields(fields),
    ...(hint != null && { hint: camelVerbs(hint) }),
    ...(restart != null && { restart: restoreRestart(restart) }),
    ...(cause != null && { cause: restoreCause(cause) }),
  });
}

/** Like Node's own system errors: `code` is a name such as `ECONNREFUSED`, `errno` is negative. */
function restoreCause(sent: SentError | SentForeignError): Error {
  if ('code' in sent) return restore(sent);
  const cause = new Error(sent.message);
  if (sent.errno === null) return cause;
  return Object.assign(cause, { code: getSystemErrorName(-sent.errno), errno: -sent.errno });
}

function restoreRestart({ attempt, last_error, ...fields }: SentRestart): Restart {
  return {
    attempt,
    ...camelFields(fields),
    ...(last_error !== null && { lastError: restore(last_error) }),
  };
}

/** Runs a native verb and restores the error that it throws. */
export function restoring<T>(verb: () => T): T {
  try {
    return verb();
  } catch (error) {
    throw restoreThrown(error);
  }
}

/**
 * What a native verb threw, as an error of this realm: in a test runner, the addon belongs to another one. Node-API refuses
 * values of a wrong type by itself.
 */
function restoreThrown(error: unknown): unknown {
  if (isNativeError(error)) return restore(JSON.parse(error.json));
  if (error instanceof Error || !isError(error)) return error;
  return Object.assign(new TypeError(error.message, { cause: error }), { code: Object(error).code });
}

/** Whether it is an error, of any realm. */
export const isError = (thrown: unknown): thrown is Error =>
  thrown instanceof Error || types.isNativeError(thrown);

/** The text of what was thrown, whatever it is: reading it may throw too. */
export function thrownText(thrown: unknown, field: 'message' | 'stack' = 'message'): string {
  try {
    return String((isError(thrown) && thrown[field]) || thrown);
  } catch {
    return 'what was thrown cannot become text';
  }
}
