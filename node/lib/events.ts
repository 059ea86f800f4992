// Owns the stream of events and the listeners fed from one.
import type { NativeEvents } from '../native.js';
import type { McpoolError } from './errors.js';
import { type Answering, askUntil, throwLater } from './post.js';
import { shape } from './shape.js';
import type { Reason, ServerState } from './status.js';

interface Happening {
  /** Counts up by one for each event of a manager. */
  seq: number;
  /** Milliseconds since the Unix epoch. */
  timeMs: number;
  /** The server concerned; empty when all are. */
  server: string;
}

/** A server changed its state. */
export interface StatusEvent extends Happening {
  type: 'status';
  state: ServerState;
  error?: McpoolError;
  /** Why an attempt is made or due. */
  reason?: Reason;
  /** How many attempts there have been since it was last stable. */
  attempt: number;
  /** When the next attempt is due by itself, in milliseconds from then. */
  nextRetryMs?: number;
}

/** A server's tools in the catalog changed, or became live or deferred. */
export interface ToolsChangedEvent extends Happening {
  type: 'tools_changed';
  toolCount: number;
}

/** The server sent a log message, or mcpool has something to say of it. */
export interface LogEvent extends Happening {
  type: 'log';
  /** Who speaks. */
  origin: 'server' | 'mcpool';
  level: string;
  logger?: string;
  data: unknown;
}

/** A reload changed the servers of the manager. */
export interface ConfigChangedEvent extends Happening {
  type: 'config_changed';
  added: string[];
  removed: string[];
  restarted: string[];
  updated: string[];
}

/** One thing that happened. */
export type McpoolEvent = StatusEvent | ToolsChangedEvent | LogEvent | ConfigChangedEvent;

/** What a listener of `type` hears. */
export type EventOf<T extends McpoolEvent['type']> = Extract<McpoolEvent, { type: T }>;

/** Events from the moment the stream was asked for; `return()` stops it. */
export class EventStream implements AsyncIterableIterator<McpoolEvent> {
  readonly #native: NativeEvents;
  readonly #holds: boolean;
  readonly #asked: Answering;
  #last: Promise<unknown> = Promise.resolve();
  #stop: (() => void) | undefined;
  #done = false;

  /** @internal */
  constructor(native: NativeEvents, holds: boolean, asked?: Answering) {
    this.#native = native;
    this.#holds = holds;
    this.#asked = asked;
  }

  /** How many events this reader was too slow for. */
  get lost(): number {
    return this.#native.lost();
  }

  next(): Promise<IteratorResult<McpoolEvent, undefined>> {
    const next = this.#last.then(() => this.#ask());
    this.#last = next;
    return next;
  }

  async return(): Promise<IteratorResult<McpoolEvent, undefined>> {
    this.#done = true;
    this.#stop?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #ask(): Promise<IteratorResult<McpoolEvent, undefined>> {
    if (this.#done) return { done: true, value: undefined };
    const asked = askUntil((key) => this.#native.next(key, this.#holds), readEvent, this.#asked);
    this.#stop = asked.stop;
    const value = await asked.answer;
    this.#stop = undefined;
    this.#done ||= value === undefined;
    return value === undefined ? { done: true, value } : { done: false, value };
  }
}

function readEvent(json: string): McpoolEvent | undefined {
  const event = JSON.parse(json);
  return event === null ? undefined : shape(event);
}

type Listener = (event: never) => void;

/** The listeners of one manager. Their stream runs while there are any, and keeps no process alive. */
export class Listeners {
  readonly #byType = new Map<string, Set<Listener>>();
  readonly #asked: Answering;
  #stream: EventStream | undefined;

  constructor(asked: Answering) {
    this.#asked = asked;
  }

  add(type: string, listener: Listener, open: () => NativeEvents): void {
    const listeners = this.#byType.get(type) ?? new Set();
    this.#byType.set(type, listeners.add(listener));
    if (this.#stream) return;
    this.#stream = new EventStream(open(), false, this.#asked);
    void this.#pump(this.#stream);
  }

  remove(type: string, listener: Listener): void {
    const listeners = this.#byType.get(type);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#byType.delete(type);
    if (this.#byType.size > 0) return;
    void this.#stream?.return();
    this.#stream = undefined;
  }

  async #pump(stream: EventStream): Promise<void> {
    for await (const event of stream) {
      for (const listener of [...(this.#byType.get(event.type) ?? [])]) {
        try {
          listener(event as never);
        } catch (error) {
          throwLater(error);
        }
      }
    }
  }
}
