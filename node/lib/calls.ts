// Owns passing a call to the core.
import { AsyncResource } from 'node:async_hooks';
import { types } from 'node:util';
import { checkCallOption, type NativeManager, parseArguments } from '../native.js';
import { isAbort, onAbort, signalOf } from './abort.js';
import {
  addWaiter,
  bridge,
  cancel,
  type OnQuestion,
  removeWaiter,
  throwLater,
  type Waiting,
} from './bridge.js';
import { InvalidArgumentsError, McpoolError, restoring, thrownText } from './errors.js';
import { isPlain, isUnusable, kindOf, standIn } from './given.js';
import { plainHeaders } from './headers.js';
import { CALL_OPTIONS, type CallOptions } from './options.js';
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
export type Retry = NonNullable<CallOptions['retry']>;

/** Gets the progress of a call. */
export type OnProgress = (progress: Progress) => void;

/** An object of values by name, such as a call's arguments; also one of an interface, which a `Record` would refuse. */
export type Arguments = Readonly<Record<string, unknown>> | (object & { readonly [Symbol.iterator]?: never });

type Submit = NativeManager['submit'];

/** What a call of a manager's tool needs. */
export interface CallContext {
  readonly manager: NativeManager;
  /** The manager's `submit`, got once. */
  readonly submit: Submit;
  readonly onQuestion: OnQuestion;
  /** Whether its calls ask something: the answers are given in the async context of the call. */
  readonly asksCallers: boolean;
}

const flush = () => bridge().flush();

/** Calls a tool; without a server, `tool` is a name of the catalog. `read` makes JSON of the arguments. */
export function call<A>(
  caller: CallContext,
  server: string | undefined,
  tool: string,
  args: A | undefined,
  options: CallOptions | undefined,
  read: (args: A) => string,
): Promise<ToolResult> {
  const span = begin(() => caller.manager.telemetry(server, tool));
  if (span === undefined) return send(caller, server, tool, args, options, read);
  const sent = send(caller, server, tool, args, withCarrier(span.carrier(), options), read);
  return span.follow(sent, options?.signal, (result) => result.isError);
}

/**
 * Calls a tool for an agent. Resolves with the error that its model is told; rejects when the call was cancelled, or when
 * an option is wrong: that is a mistake of the program, not of the model.
 */
export async function callForModel(
  caller: CallContext,
  server: string | undefined,
  tool: string,
  args: Arguments | string | undefined,
  options: CallOptions | undefined,
): Promise<ToolResult | McpoolError> {
  let isReadable = args === undefined;
  const read = (given: Arguments | string) => {
    const json = readModelArguments(given);
    isReadable = json.startsWith('{');
    return json;
  };
  try {
    return await call(caller, server, tool, args, options, read);
  } catch (error) {
    if (isAbort(options?.signal, error) || !(error instanceof McpoolError)) throw error;
    const isAboutOptions = isReadable && error instanceof InvalidArgumentsError && error.server === undefined;
    if (isAboutOptions) throw error;
    return error;
  }
}

/** The options with a meta that carries the span; the caller's keys take precedence. */
function withCarrier(
  carrier: Record<string, unknown>,
  options: CallOptions | undefined,
): CallOptions | undefined {
  const meta = options?.meta;
  // What is not a plain object is refused.
  const usable = (options === undefined || isOptions(options)) && (meta === undefined || isPlain(meta));
  return usable && Object.keys(carrier).length > 0 ? { ...options, meta: { ...carrier, ...meta } } : options;
}

function send<A>(
  { submit, onQuestion, asksCallers }: CallContext,
  server: string | undefined,
  tool: string,
  args: A | undefined,
  options: CallOptions | undefined,
  read: (args: A) => string,
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const json = args === undefined ? undefined : read(args);
    // The function keeps its manager alive while its calls are in progress.
    const waiter = { resolve, reject, owner: submit, onQuestion } as Waiting;
    if (asksCallers && onQuestion) waiter.onQuestion = AsyncResource.bind(onQuestion);
    if (options != null) return callWith(submit, server, tool, json, options, waiter);
    if (submit(addWaiter(waiter), server, tool, json)) queueMicrotask(flush);
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
  checkOptions(options);
  const { onProgress } = options;
  const signal = signalOf(options);
  const given = optionPairs(options);
  const wantsProgress = typeof onProgress === 'function';
  if (wantsProgress) waiter.onProgress = (progress) => reportProgress(onProgress, progress);
  const key = addWaiter(waiter);
  try {
    if (submit(key, server, tool, json, wantsProgress, ...given)) queueMicrotask(flush);
  } catch (error) {
    removeWaiter(key);
    throw error;
  }
  if (signal) {
    waiter.onSettled = onAbort(signal, () => {
      cancel(key);
      waiter.reject(signal.reason);
    });
  }
}

const NAMES: ReadonlySet<string> = new Set([...CALL_OPTIONS, 'signal']);

function checkOptions(options: CallOptions): void {
  if (!isOptions(options)) {
    const text = 'The options of a call must be an object with names and values';
    throw new InvalidArgumentsError(text, { executed: 'no' });
  }
  for (const name in options) {
    const isUnknown = !NAMES.has(name) && options[name as keyof CallOptions] !== undefined;
    if (isUnknown) restoring(() => checkCallOption(name));
  }
}

const isOptions = (options: unknown) => typeof options === 'object' && !Array.isArray(options);

/** Each given option as its place in the table and its value: a number as it is, anything else as JSON. */
function optionPairs(options: CallOptions): (number | string)[] {
  const given: (number | string)[] = [];
  for (let place = 0; place < CALL_OPTIONS.length; place++) {
    const name = CALL_OPTIONS[place] as (typeof CALL_OPTIONS)[number];
    const value: unknown = options[name];
    if (value === undefined || value === null) continue;
    // A function stays here; the core only learns that there is one.
    if (name === 'onProgress' && typeof value === 'function') continue;
    given.push(place, optionValue(name, value));
  }
  return given;
}

function optionValue(name: string, value: unknown): number | string {
  if (name === 'headers') return write(headersOf(value), name);
  const isUsable = typeof value !== 'object' || Array.isArray(value) || isPlain(value);
  if (!isUsable || isUnusable(value)) return JSON.stringify(standIn(value));
  return typeof value === 'number' ? value : write(value, name);
}

function headersOf(value: unknown): Record<string, unknown> {
  try {
    return plainHeaders(value);
  } catch (cause) {
    const text = `The option "headers" of a call cannot be used: ${thrownText(cause)}`;
    throw new InvalidArgumentsError(text, { executed: 'no', cause });
  }
}

function reportProgress(onProgress: OnProgress, json: string): void {
  const { progress, total, message } = JSON.parse(json);
  try {
    onProgress({ progress, ...(total !== null && { total }), ...(message !== null && { message }) });
  } catch (error) {
    throwLater(error);
  }
}

/** The JSON of arguments. */
export function writeArguments(args: Arguments): string {
  const json = write(args, 'arguments');
  // JSON.stringify writes null for a number that JSON does not have, and {} for a Map or a Set.
  if (json.includes('null') || json.includes('{}', 1)) write(args, 'arguments', lossRefuser());
  return json;
}

/** The JSON of an agent's arguments. Text is what a model wrote, which the core reads: its long numbers stay exact. */
export const readModelArguments = (args: Arguments | string): string =>
  typeof args === 'string' ? restoring(() => parseArguments(args)) : writeArguments(args);

type Replacer = (this: object, name: string, value: unknown) => unknown;

/** A replacer for JSON.stringify that throws where content would be lost. */
function lossRefuser(): Replacer {
  const paths = new Map<unknown, string>();
  return function (name, value) {
    if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError(`it has no ${value}`);
    if (typeof value !== 'object' || value === null) return value;
    const path = joined(paths.get(this), name);
    if (types.isMap(value) || types.isSet(value)) {
      throw new TypeError(`"${path}" is ${kindOf(value)}, of which JSON would keep nothing`);
    }
    paths.set(value, path);
    return value;
  };
}

const joined = (parent: string | undefined, name: string) => (parent ? `${parent}.${name}` : name);

/** The JSON of a value. The core refuses objects that are not plain. */
function write(value: unknown, what: string, replacer?: Replacer): string {
  try {
    const hasJson = typeof value !== 'object' || Array.isArray(value) || isPlain(value);
    return (hasJson ? JSON.stringify(value, replacer) : undefined) ?? 'null';
  } catch (cause) {
    const text = `The ${what} cannot become JSON: ${thrownText(cause)}`;
    throw new InvalidArgumentsError(text, { executed: 'no', cause, modelMessage: text });
  }
}
