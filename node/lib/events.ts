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

/** A tool is no longer as it was when it was first seen. */
export interface ToolDriftEvent extends Happening {
  type: 'tool_drift';
  /** The server's name for it. */
  tool: string;
  /** What it was: the fingerprint. */
  pinned: string;
  /** What it is: the fingerprint. */
  fingerprint: string;
  /** What is different: JSON pointers into the tool's entry, what stood there, what stands there now. */
  changes: { path: string; before?: unknown; after?: unknown }[];
  /** Whether it is kept from agents for it. */
  blocked: boolean;
}

/** A call was begun, or has ended. Only with `callEvents`. */
export interface CallEvent extends Happening {
  type: 'call';
  phase: 'started' | 'finished';
  /** Counts the calls of a manager; the same at begin and end. */
  call: number;
  /** The server's name for the tool. */
  tool: string;
  /** What it was called with, at the begin, without what looks secret. */
  arguments?: unknown;
  /** How long it took, at the end. */
  durationMs?: number;
  /** Whether the tool says that it failed, where it has answered. */
  isError?: boolean;
  /** Why there is no answer. */
  error?: McpoolError;
  /** The caller gave it up: there is neither an answer nor an error. */
  cancelled?: true;
}

/** A call that asked for progress has made some. */
export interface ProgressEvent extends Happening {
  type: 'progress';
  /** The server's name for the tool. */
  tool: string;
  progress: number;
  total?: number;
  message?: string;
}

/** What a text that tries to give orders to a model looks like. */
export type SignalKind =
  | 'ignore_previous'
  | 'disregard_previous'
  | 'fake_system_role'
  | 'chat_template'
  | 'bracketed_role'
  | 'new_instructions'
  | 'fake_authorisation'
  | 'mode_switch'
  | 'hidden_characters'
  | 'wrapper_escape';

/** A text that looks as if it were written to give orders to a model. */
export interface Signal {
  kind: SignalKind;
  /** The place, shortened, with hidden characters made visible. */
  excerpt: string;
}

/** A text from a server tries to give orders to a model. */
export interface InjectionEvent extends Happening {
  type: 'injection';
  place: 'result' | 'description' | 'instructions';
  /** The server's name for the tool; none for a server's instructions. */
  tool?: string;
  signals: Signal[];
}

/** A server wants to know who we are. */
export interface AuthRequiredEvent extends Happening {
  type: 'auth_required';
  error: McpoolError;
}

/** This reader was too slow for events that came before; `seq` is the number of the last of them. */
export interface LostEvent extends Happening {
  type: 'lost';
  /** How many they were. */
  count: number;
}

/** One thing that happened. */
export type McpoolEvent =
  | StatusEvent
  | ToolsChangedEvent
  | ToolDriftEvent
  | CallEvent
  | ProgressEvent
  | LogEvent
  | InjectionEvent
  | AuthRequiredEvent
  | ConfigChangedEvent
  | LostEvent;

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
  /** Taken and not read yet, the next one last. */
  #taken: object[] = [];

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
    while (!this.#done && this.#taken.length === 0) {
      const asked = askUntil(
        (key) => this.#native.ready(key, this.#holds),
        (json) => JSON.parse(json),
        this.#asked,
      );
      this.#stop = asked.stop;
      const more: boolean | undefined = await asked.answer;
      this.#stop = undefined;
      if (more) this.#taken = JSON.parse(this.#native.take()).reverse();
      else this.#done = true;
    }
    if (this.#done) return { done: true, value: undefined };
    return { done: false, value: shape(this.#taken.pop() as object) };
  }
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
