// Owns this thread's side of the post: promises wait under a key, letters settle them in batches.
import { Bridge, type NativeManager } from '../native.js';
import { InvalidArgumentsError, restore } from './errors.js';
import { ToolResult } from './result.js';

/** How far a call has come, in the server's own measure. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** What a caller can say about one call. */
export interface CallOptions {
  /** Overrides the server's `toolTimeout`. */
  timeoutMs?: number | undefined;
  /** Gives the call up and tells the server. */
  signal?: AbortSignal | undefined;
  /** Asks the server for progress. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Becomes the request's `_meta`. */
  meta?: Record<string, unknown> | undefined;
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: unknown): void;
  /** Makes a verb's answer from its JSON. */
  read?: (json: string) => unknown;
  onProgress?: ((progress: Progress) => void) | undefined;
  signal?: AbortSignal | undefined;
  onAbort?: (() => void) | undefined;
  /** A manager stays while its calls are under way. */
  owner?: Submit;
}

enum Kind {
  Result,
  Json,
  Failed,
  Progress,
}

/** Who waits, by the low bits of the key. */
const waiting: (Waiting | undefined)[] = [];
const PLACE = 2 ** 24;
/** Keys that are free. */
const free: number[] = [];
let opened: Bridge | undefined;

/** This thread's bridge, made on first use. */
export function bridge(): Bridge {
  // Other runtimes have libuv's names without its loop.
  opened ??= new Bridge(deliver, !('bun' in process.versions || 'deno' in process.versions));
  return opened;
}

function deliver(...letters: (number | string)[]): void {
  for (let at = 0; at < letters.length; at += 2) {
    const tag = letters[at] as number;
    const text = letters[at + 1] as string;
    const kind: Kind = tag & 3;
    const key = (tag - kind) / 4;
    const waiter = waiting[key & (PLACE - 1)];
    if (waiter === undefined) continue;
    if (kind === Kind.Progress) {
      tell(waiter, text);
      continue;
    }
    leave(key, key);
    if (waiter.onAbort) waiter.signal?.removeEventListener('abort', waiter.onAbort);
    if (kind === Kind.Result) waiter.resolve(new ToolResult(text));
    else if (kind === Kind.Failed) waiter.reject(restore(JSON.parse(text)));
    else waiter.resolve(waiter.read?.(text));
  }
}

function tell(waiter: Waiting, text: string): void {
  const { progress, total, message } = JSON.parse(text);
  try {
    waiter.onProgress?.({ progress, ...(total !== null && { total }), ...(message !== null && { message }) });
  } catch (error) {
    throwLater(error);
  }
}

/** What a listener throws is its owner's uncaught exception; it must not stop the other letters. */
export function throwLater(error: unknown): void {
  process.nextTick(() => {
    throw error;
  });
}

function enter(waiter: Waiting): number {
  const key = free.pop() ?? waiting.length;
  waiting[key & (PLACE - 1)] = waiter;
  return key;
}

function leave(key: number, next: number): void {
  waiting[key & (PLACE - 1)] = undefined;
  free.push(next);
}

/** Nobody waits any more. A letter that is on its way must not meet the next one at this place: its key differs. */
function cancel(key: number): void {
  leave(key, key + PLACE);
  bridge().cancel(key);
}

/** Starts a verb; resolves with its answer. */
export function ask<T>(start: (key: number) => void, read: (json: string) => T): Promise<T> {
  return askUntil(start, read).answer as Promise<T>;
}

/** As `ask`, for a verb that its caller may stop: `stop` resolves it with `undefined`. */
export function askUntil<T>(start: (key: number) => void, read: (json: string) => T) {
  let stop = () => {};
  const answer = new Promise<T | undefined>((resolve, reject) => {
    const waiter: Waiting = { resolve: resolve as (answer: unknown) => void, reject, read };
    const key = enter(waiter);
    stop = () => {
      if (waiting[key & (PLACE - 1)] !== waiter) return;
      cancel(key);
      resolve(undefined);
    };
    start(key);
  });
  return { answer, stop };
}

const flush = () => bridge().flush();

/** Calls a tool; without a server, `tool` is a name of the catalog. */
export function call(
  submit: Submit,
  server: string | undefined,
  tool: string,
  args: Record<string, unknown> | undefined,
  options: CallOptions | undefined,
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const json = args === undefined ? undefined : write(args, 'arguments');
    const waiter: Waiting = { resolve, reject, owner: manager } as Waiting;
    lastKey += 1;
    const key = lastKey;
    let timeoutMs: number | undefined;
    let meta: string | undefined;
    if (options) {
      if (options.signal?.aborted) throw aborted(options.signal);
      timeoutMs = options.timeoutMs === undefined ? undefined : Number(options.timeoutMs);
      meta = options.meta === undefined ? undefined : write(options.meta, 'meta');
      waiter.onProgress = options.onProgress;
    }
    const wantsFlush = manager.submit(
      key,
      server,
      tool,
      json,
      timeoutMs,
      waiter.onProgress !== undefined,
      meta,
    );
    waiting.set(key, waiter);
    if (wantsFlush) queueMicrotask(flush);
    if (options?.signal) watch(options.signal, key, waiter);
  });
}

function watch(signal: AbortSignal, key: number, waiter: Waiting): void {
  waiter.signal = signal;
  waiter.onAbort = () => {
    cancel(key);
    waiter.reject(aborted(signal));
  };
  signal.addEventListener('abort', waiter.onAbort, { once: true });
}

function aborted(signal: AbortSignal): Error {
  const { reason } = signal;
  if (reason instanceof Error && reason.name === 'AbortError') return reason;
  return Object.assign(new DOMException('The call was aborted', 'AbortError'), { cause: reason });
}

/** The JSON of a plain object. What is none is left to the core to refuse. */
function write(value: object, what: string): string {
  if (!isPlain(value)) return 'null';
  try {
    return JSON.stringify(value);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidArgumentsError(`The ${what} cannot become JSON: ${why}`, { executed: 'no', cause });
  }
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // An object of another realm has another `Object.prototype`, but that one is a root too.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
