// Owns passing a call to the core, and cancelling it.
import type { NativeManager } from '../native.js';
import { InvalidArgumentsError } from './errors.js';
import { type Answering, bridge, cancel, enter, throwLater, type Waiting, withdraw } from './post.js';
import type { ToolResult } from './result.js';
import { begin } from './telemetry.js';

/** The progress of a call, in the server's own unit. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/**
 * Which calls are sent again after a lost connection: none that may have run (`never`), or also those of tools with
 * `readOnlyHint` or `idempotentHint` (`safe`). A call that provably was never sent or never read is always sent
 * again.
 */
export type Retry = 'never' | 'safe';

/** Options of one call. */
export interface CallOptions {
  /** Overrides the server's `toolTimeout`: how long the server may be silent. Progress restarts it. */
  timeoutMs?: number | undefined;
  /** The total time limit of the call, whatever the progress. */
  maxTotalTimeoutMs?: number | undefined;
  /** Overrides which calls the manager sends again after a lost connection. */
  retry?: Retry | undefined;
  /** Cancels the call and notifies the server. */
  signal?: AbortSignal | undefined;
  /** Asks the server for progress. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Becomes the request's `_meta`. */
  meta?: Record<string, unknown> | undefined;
}

/** A call's arguments, by name. */
export type Arguments = Record<string, unknown>;

type Submit = NativeManager['submit'];

/** What a call of a manager's tool needs. */
export interface Caller {
  readonly manager: NativeManager;
  /** The manager's `submit`, got once. */
  readonly submit: Submit;
  readonly asked: Answering;
}

const flush = () => bridge().flush();

/** Calls a tool; without a server, `tool` is a name of the catalog. */
export function call(
  caller: Caller,
  server: string | undefined,
  tool: string,
  args: Arguments | undefined,
  options: CallOptions | undefined,
): Promise<ToolResult> {
  const span = begin(caller.manager, server, tool);
  if (span === undefined) return send(caller, server, tool, args, options);
  return span.follow(send(caller, server, tool, args, carrying(span.carrier(), options)));
}

/** The options with a meta that carries the span; the caller's keys take precedence. */
function carrying(
  carrier: Record<string, unknown>,
  options: CallOptions | undefined,
): CallOptions | undefined {
  const meta = options?.meta;
  // The core refuses what is not a plain object.
  const usable = meta === undefined || isPlain(meta);
  return usable && Object.keys(carrier).length > 0 ? { ...options, meta: { ...carrier, ...meta } } : options;
}

function send(
  { submit, asked }: Caller,
  server: string | undefined,
  tool: string,
  args: Arguments | undefined,
  options: CallOptions | undefined,
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const json = args === undefined ? undefined : write(args, 'arguments');
    // The function keeps its manager alive while its calls are in progress.
    const waiter = { resolve, reject, owner: submit, asked } as Waiting;
    if (options) return callWith(submit, server, tool, json, options, waiter);
    if (submit(enter(waiter), server, tool, json)) queueMicrotask(flush);
  });
}

function callWith(
  submit: Submit,
  server: string | undefined,
  tool: string,
  json: string | undefined,
  options: CallOptions,
  waiter: Waiting,
): void {
  const { timeoutMs, maxTotalTimeoutMs, retry, signal, onProgress, meta } = options;
  if (signal?.aborted) throw aborted(signal);
  if (signal && typeof signal.addEventListener !== 'function') {
    throw new InvalidArgumentsError('The signal of a call must be an AbortSignal', { executed: 'no' });
  }
  const limit = timeoutMs === undefined ? undefined : Number(timeoutMs);
  const wall = maxTotalTimeoutMs === undefined ? undefined : Number(maxTotalTimeoutMs);
  const again = retry === undefined ? undefined : String(retry);
  const metaJson = meta === undefined ? undefined : write(meta, 'meta');
  if (onProgress) waiter.told = (progress) => tell(onProgress, progress);
  const key = enter(waiter);
  try {
    const told = onProgress !== undefined;
    const wantsFlush = submit(key, server, tool, json, limit, told, metaJson, wall, again);
    if (wantsFlush) queueMicrotask(flush);
  } catch (error) {
    withdraw(key);
    throw error;
  }
  if (signal) {
    waiter.leave = onAbort(signal, () => {
      cancel(key);
      waiter.reject(aborted(signal));
    });
  }
}

interface Watch {
  readonly runs: Set<() => void>;
  readonly listener: () => void;
}

const watches = new WeakMap<AbortSignal, Watch>();

/** Returns a function that stops it. A signal has one listener for all its calls, so Node does not warn of a leak. */
function onAbort(signal: AbortSignal, run: () => void): () => void {
  const { runs, listener } = watches.get(signal) ?? watch(signal);
  runs.add(run);
  return () => {
    if (!runs.delete(run) || runs.size > 0) return;
    watches.delete(signal);
    signal.removeEventListener('abort', listener);
  };
}

function watch(signal: AbortSignal): Watch {
  const runs = new Set<() => void>();
  const listener = () => {
    watches.delete(signal);
    for (const run of runs) run();
  };
  signal.addEventListener('abort', listener, { once: true });
  const watch = { runs, listener };
  watches.set(signal, watch);
  return watch;
}

function tell(onProgress: (progress: Progress) => void, json: string): void {
  const { progress, total, message } = JSON.parse(json);
  try {
    onProgress({ progress, ...(total !== null && { total }), ...(message !== null && { message }) });
  } catch (error) {
    throwLater(error);
  }
}

function aborted(signal: AbortSignal): Error {
  const { reason } = signal;
  if (reason instanceof Error && reason.name === 'AbortError') return reason;
  return Object.assign(new DOMException('The call was aborted', 'AbortError'), { cause: reason });
}

/** The JSON of a plain object. The core refuses anything else. */
function write(value: object, what: string): string {
  try {
    return isPlain(value) ? JSON.stringify(value) : 'null';
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidArgumentsError(`The ${what} cannot become JSON: ${why}`, { executed: 'no', cause });
  }
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // An object of another realm has another `Object.prototype`, but that one is a root too.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}
