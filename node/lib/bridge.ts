// Owns the bridge of this thread to the core: promises wait under a key, letters settle them in batches.
import { Bridge, LetterKind, type NativeOrigin, PLACES, TAG_KINDS } from '../native.js';
import { untilAborted } from './abort.js';
import { restore, restoring } from './errors.js';
import { ToolResult } from './result.js';

/** The waiter of a letter. */
export interface Waiting {
  resolve(answer: unknown): void;
  reject(error: unknown): void;
  /** Makes a verb's answer from its JSON. */
  read?: (json: string) => unknown;
  /** Receives a call's progress. */
  onProgress?: (json: string) => void;
  /** Answers a question of the core. */
  onQuestion?: ((json: string) => void) | undefined;
  /** Runs when the letter has come. */
  onSettled?: () => void;
  /** Stays as long as this waits. */
  owner?: unknown;
}

const waiting: (Waiting | undefined)[] = [];
const freeKeys: number[] = [];
let opened: Bridge | undefined;
/** The origin of the results from here on. */
let origin: NativeOrigin | undefined;

/** This thread's bridge, made on first use. */
export function bridge(): Bridge {
  // Other runtimes have libuv's names without its loop.
  opened ??= new Bridge(deliver, !('bun' in process.versions || 'deno' in process.versions));
  return opened;
}

function deliver(...letters: (number | string | NativeOrigin)[]): void {
  for (let at = 0; at < letters.length; at += 2) {
    const tag = letters[at] as number;
    const text = letters[at + 1] as string;
    const kind: LetterKind = tag & (TAG_KINDS - 1);
    if (kind === LetterKind.Origin) {
      origin = letters[at + 1] as NativeOrigin;
      continue;
    }
    const key = (tag - kind) / TAG_KINDS;
    const waiter = waiting[key & (PLACES - 1)];
    if (waiter === undefined) continue;
    if (kind === LetterKind.Progress) {
      waiter.onProgress?.(text);
      continue;
    }
    if (kind === LetterKind.Question) {
      waiter.onQuestion?.(text);
      continue;
    }
    removeKey(key, key);
    waiter.onSettled?.();
    if (kind === LetterKind.Result) waiter.resolve(new ToolResult(text, origin));
    else if (kind === LetterKind.Failed) fail(waiter, text);
    else waiter.resolve(waiter.read?.(text));
  }
}

const settled = Promise.resolve();

/**
 * Rejects with the error that the core sent. It is made when the waiter's promise already follows another one: V8 then
 * sees who awaits it, and puts that into the stack.
 */
function fail(waiter: Waiting, json: string): void {
  const failing = settled
    .then(() => {})
    .then(() => {
      throw restore(JSON.parse(json));
    });
  waiter.resolve(failing);
}

/** Gives `waiter` a key. */
export function addWaiter(waiter: Waiting): number {
  const key = freeKeys.pop() ?? waiting.length;
  waiting[key & (PLACES - 1)] = waiter;
  return key;
}

function removeKey(key: number, next: number): void {
  waiting[key & (PLACES - 1)] = undefined;
  freeKeys.push(next);
}

/** Takes back a key for which nothing was started. */
export const removeWaiter = (key: number) => removeKey(key, key);

/** Removes a waiter. The next one in this slot has another key, so that a late letter does not reach it. */
export function cancel(key: number): void {
  removeKey(key, key + PLACES);
  bridge().cancel(key);
}

/** A verb in progress; `stop` resolves it with `undefined`. */
export interface RunningVerb<T> {
  answer: Promise<T | undefined>;
  stop(): void;
}

/** Answers questions of the core. */
export type OnQuestion = ((json: string) => void) | undefined;

/** Starts a verb that its caller may stop. */
export function startVerb<T>(
  start: (key: number) => void,
  read: (json: string) => T,
  onQuestion?: OnQuestion,
): RunningVerb<T> {
  let stop = () => {};
  const answer = new Promise<T | undefined>((resolve, reject) => {
    const key = addWaiter({
      resolve: resolve as (answer: unknown) => void,
      reject,
      read,
      onQuestion,
      onSettled: () => (stop = () => {}),
    });
    try {
      restoring(() => start(key));
    } catch (error) {
      removeWaiter(key);
      throw error;
    }
    stop = () => {
      stop = () => {};
      cancel(key);
      resolve(undefined);
    };
  });
  return { answer, stop: () => stop() };
}

/** The keys of functions that answer while no verb is running. */
const answering = new FinalizationRegistry<number>(cancel);

/** Has `onQuestion` answer also while no verb is running, for as long as somebody else refers to it. */
export function answerMeanwhile(onQuestion: (json: string) => void, start: (key: number) => void): void {
  const answers = new WeakRef(onQuestion);
  const key = addWaiter({
    resolve: () => {},
    reject: () => {},
    onQuestion: (json) => answers.deref()?.(json),
  });
  start(key);
  answering.register(onQuestion, key);
}

/** Starts a verb; resolves with its answer. */
export function runVerb<T>(
  start: (key: number) => void,
  read: (json: string) => T,
  onQuestion?: OnQuestion,
  signal?: AbortSignal,
): Promise<T> {
  const verb = startVerb(start, read, onQuestion);
  return signal ? untilAborted(signal, verb) : (verb.answer as Promise<T>);
}

/** An error thrown by a listener becomes an uncaught exception; it must not stop the other letters. */
export function throwLater(error: unknown): void {
  process.nextTick(() => {
    throw error;
  });
}
