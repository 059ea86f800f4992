// Owns cancelling by a signal. A signal has one listener, whatever waits for it, so Node does not warn of a leak.
import { InvalidArgumentsError } from './error-classes.js';

/** Work that can be cancelled. */
export interface Cancellable {
  /** Cancels it: the promise rejects with the signal's `reason`. A call's server is notified. */
  signal?: AbortSignal | undefined;
}

/** The signal, if there is one. Throws its reason if it has been aborted. */
export function signalOf({ signal }: Cancellable): AbortSignal | undefined {
  if (signal === undefined || signal === null) return undefined;
  if (typeof signal.addEventListener !== 'function') {
    throw new InvalidArgumentsError('The "signal" must be an AbortSignal', { executed: 'no' });
  }
  if (signal.aborted) throw signal.reason;
  return signal;
}

/** Whether a promise rejected with this because its signal was aborted. */
export const isAbort = (signal: AbortSignal | null | undefined, error: unknown): boolean =>
  signal?.aborted === true && error === signal.reason;

interface Watch {
  readonly runs: Set<() => void>;
  readonly listener: () => void;
}

const watches = new WeakMap<AbortSignal, Watch>();

/** Runs this when the signal is aborted. Returns a function that stops the watch. */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
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

/** The work's answer, unless the signal is aborted before; `stop` ends the work. */
export function untilAborted<T>(
  signal: AbortSignal,
  { answer, stop }: { answer: Promise<T | undefined>; stop(): void },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => {
      reject(signal.reason);
      stop();
    });
    answer.then(resolve as (answer: T | undefined) => void, reject).finally(forget);
  });
}
