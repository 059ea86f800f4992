// Owns the stream of events and the listeners fed from one.
import { checkEventType, type NativeEvents } from '../native.js';
import { type OnQuestion, startVerb, throwLater } from './bridge.js';
import { InvalidArgumentsError, type McpoolError, restoring } from './errors.js';
import { textOf } from './given.js';
import { shape } from './shape.js';
import type { Reason, ServerState } from './status.js';
import type { TaskStatus } from './task.js';

interface Happening {
  /** Counts up by one for each event of a manager. */
  seq: number;
  /** Milliseconds since the Unix epoch. */
  timeMs: number;
  /** The server; empty if the event concerns all servers. */
  server: string;
  /** Set if it is about the connection of another identity than the manager's. */
  identity?: string;
}

/** A server changed its state. */
export interface StatusEvent extends Happening {
  type: 'status';
  state: ServerState;
  error?: McpoolError;
  /** The reason of the current or next attempt. */
  reason?: Reason;
  /** The number of attempts since it was last stable. */
  attempt: number;
  /** When the next automatic attempt is due, in milliseconds from then. */
  nextRetryMs?: number;
}

/** A server's tools in the catalog changed, or became live or deferred. */
export interface ToolsChangedEvent extends Happening {
  type: 'tools_changed';
  toolCount: number;
}

/** A log message of the server, or of mcpool about it. */
export interface LogEvent extends Happening {
  type: 'log';
  /** The origin of the message. */
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
  /** The fingerprint of the first version. */
  pinned: string;
  /** The fingerprint of the current version. */
  fingerprint: string;
  /** The differences: JSON pointers into the tool's entry, with the old and the new value. */
  changes: { path: string; before?: unknown; after?: unknown }[];
  /** Whether it is withheld from agents because of this. */
  blocked: boolean;
}

/** A skill differs from when it was first seen. */
export interface SkillDriftEvent extends Happening {
  type: 'skill_drift';
  /** Its uri. */
  skill: string;
  /** The fingerprint of the first version. */
  pinned: string;
  /** The fingerprint of the current version. */
  fingerprint: string;
  /** The differences: JSON pointers into the skill's entry, with the old and the new value. */
  changes: { path: string; before?: unknown; after?: unknown }[];
  /** Whether it is withheld because of this. */
  blocked: boolean;
}

/** A call has started or ended. Only with `callEvents`. */
export interface CallEvent extends Happening {
  type: 'call';
  phase: 'started' | 'finished';
  /** The number of the call in its manager; the same at its start and end. */
  call: number;
  /** The server's name for the tool. */
  tool: string;
  /** The arguments, at the start; possible secrets are masked. */
  arguments?: unknown;
  /** How long it took, at the end. */
  durationMs?: number;
  /** Whether the tool reports a failure, if it has answered. */
  isError?: boolean;
  /** Why there is no answer. */
  error?: McpoolError;
  /** The caller cancelled: there is neither an answer nor an error. */
  cancelled?: true;
}

/** The progress of a call that asked for it. */
export interface ProgressEvent extends Happening {
  type: 'progress';
  /** The server's name for the tool. */
  tool: string;
  progress: number;
  total?: number;
  message?: string;
}

/** A call waits for a task, or that task has another status. */
export interface TaskEvent extends Happening {
  type: 'task';
  /** The server's name for the tool. */
  tool: string;
  /** The task's id, for the option `resumeTask` of a later call. */
  taskId: string;
  status: TaskStatus;
  /** What the server says about that. */
  message?: string;
}

/** The kind of a text that looks like instructions to a model. */
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

/** A text that looks like instructions to a model. */
export interface Signal {
  kind: SignalKind;
  /** An excerpt, with hidden characters made visible. */
  excerpt: string;
}

/** A text from a server looks like instructions to a model. */
export interface InjectionEvent extends Happening {
  type: 'injection';
  place: 'result' | 'description' | 'instructions' | 'skill';
  /** The server's name for the tool; none for a server's instructions and for a skill. */
  tool?: string;
  /** The address of the skill, if it is the text of one. */
  skill?: string;
  signals: Signal[];
}

/** A server needs a sign-in. */
export interface AuthRequiredEvent extends Happening {
  type: 'auth_required';
  error: McpoolError;
}

/** A server's list of resources or of resource templates changed. */
export interface ResourcesChangedEvent extends Happening {
  type: 'resources_changed';
}

/** A resource that the manager has subscribed to changed. */
export interface ResourceUpdatedEvent extends Happening {
  type: 'resource_updated';
  uri: string;
}

/** A server's list of prompts changed. */
export interface PromptsChangedEvent extends Happening {
  type: 'prompts_changed';
}

/** A person has finished on the page of an elicitation. */
export interface ElicitationCompleteEvent extends Happening {
  type: 'elicitation_complete';
  elicitationId: string;
}

/** This reader has missed earlier events because it was too slow; `seq` is the number of the last one. */
export interface LostEvent extends Happening {
  type: 'lost';
  /** The number of missed events. */
  count: number;
}

/** One event. */
export type McpoolEvent =
  | StatusEvent
  | ToolsChangedEvent
  | ToolDriftEvent
  | SkillDriftEvent
  | CallEvent
  | ProgressEvent
  | TaskEvent
  | LogEvent
  | InjectionEvent
  | AuthRequiredEvent
  | ConfigChangedEvent
  | ResourcesChangedEvent
  | ResourceUpdatedEvent
  | PromptsChangedEvent
  | ElicitationCompleteEvent
  | LostEvent;

/** The event of a listener for `type`. */
export type EventOf<T extends McpoolEvent['type']> = Extract<McpoolEvent, { type: T }>;

/** Events since the creation of the stream; `return()` stops it. */
export class EventStream implements AsyncIterableIterator<McpoolEvent>, AsyncDisposable {
  readonly #native: NativeEvents;
  readonly #holds: boolean;
  readonly #onQuestion: OnQuestion;
  #last: Promise<unknown> = Promise.resolve();
  #stop: (() => void) | undefined;
  #done = false;
  /** Taken and not read yet, the next one last. */
  #taken: object[] = [];

  /** @internal */
  constructor(native: NativeEvents, holds: boolean, onQuestion?: OnQuestion) {
    this.#native = native;
    this.#holds = holds;
    this.#onQuestion = onQuestion;
  }

  /** How many events this reader has missed because it was too slow. */
  get lost(): number {
    return this.#native.lost();
  }

  next(): Promise<IteratorResult<McpoolEvent, undefined>> {
    const next = this.#last.then(() => this.#read());
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #read(): Promise<IteratorResult<McpoolEvent, undefined>> {
    while (!this.#done && this.#taken.length === 0) {
      const verb = startVerb(
        (key) => this.#native.ready(key, this.#holds),
        (json) => JSON.parse(json),
        this.#onQuestion,
      );
      this.#stop = verb.stop;
      const more: boolean | undefined = await verb.answer;
      this.#stop = undefined;
      if (more) this.#taken = JSON.parse(this.#native.take()).reverse();
      else this.#done = true;
    }
    if (this.#done) return { done: true, value: undefined };
    return { done: false, value: shape(this.#taken.pop() as object) };
  }
}

type Listener = (event: never) => void;

/** The listeners of one manager. Their stream runs while there are any, and does not keep the process alive. */
export class Listeners {
  /** By type, each with whether it is called only once. */
  readonly #byType = new Map<string, Map<Listener, boolean>>();
  readonly #onQuestion: OnQuestion;
  #stream: EventStream | undefined;

  constructor(onQuestion: OnQuestion) {
    this.#onQuestion = onQuestion;
  }

  add(type: string, listener: Listener, isOnce: boolean, open: () => NativeEvents): void {
    checkListener(type, listener);
    const listeners = this.#byType.get(type) ?? new Map<Listener, boolean>();
    // `on` after `once` stays; `once` after `on` changes nothing.
    this.#byType.set(type, listeners.set(listener, isOnce && listeners.get(listener) !== false));
    if (this.#stream) return;
    this.#stream = new EventStream(open(), false, this.#onQuestion);
    void this.#pump(this.#stream);
  }

  remove(type: string, listener: Listener): void {
    checkListener(type, listener);
    this.#forget(type, listener);
    this.#endUnusedStream();
  }

  #forget(type: string, listener: Listener): void {
    const listeners = this.#byType.get(type);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#byType.delete(type);
  }

  #endUnusedStream(): void {
    if (this.#byType.size > 0) return;
    void this.#stream?.return();
    this.#stream = undefined;
  }

  async #pump(stream: EventStream): Promise<void> {
    for await (const event of stream) {
      for (const [listener, isOnce] of [...(this.#byType.get(event.type) ?? [])]) {
        if (isOnce) this.#forget(event.type, listener);
        try {
          listener(event as never);
        } catch (error) {
          throwLater(error);
        }
      }
      // After the listeners: one that adds itself again hears the next event of this stream.
      if (this.#stream === stream) this.#endUnusedStream();
    }
  }
}

/** A misspelt type would never be heard of. */
function checkListener(type: unknown, listener: unknown): void {
  const name = textOf('type of the event', type);
  restoring(() => checkEventType(name));
  if (typeof listener !== 'function') {
    throw new InvalidArgumentsError(`The listener for "${name}" must be a function`);
  }
}
