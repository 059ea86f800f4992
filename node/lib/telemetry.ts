// Owns spans and metrics of calls and other requests, if the user has a provider for them. The core has the attributes; this passes them
// to OpenTelemetry's API, which is loaded only if a provider is registered with it. An error of a provider becomes a
// process warning, once, and the call continues.
import type * as Api from '@opentelemetry/api';
import { telemetryWords } from '../native.js';
import { isAbort } from './abort.js';
import { McpoolError } from './errors.js';

/** What the API of every copy keeps its providers under. */
const REGISTRY = Symbol.for('opentelemetry.js.api.1');

interface Registered {
  trace?: object;
  metrics?: object;
}

/** The core's attributes of a call or request. */
interface CallFacts {
  span: string;
  attributes: Api.Attributes;
  measured: Api.Attributes;
  complete: boolean;
  error_messages: boolean;
}

interface Words {
  scope: string;
  version: string;
  duration: { name: string; unit: string; description: string; boundaries: number[] };
  error_type: string;
  status_code: string;
  tool_error: string;
  cancelled: string;
  other: string;
}

let read: Words | undefined;
let warned = false;
let loaded: typeof Api | null | undefined;
const tracers = new WeakMap<object, Api.Tracer>();
const durations = new WeakMap<object, Api.Histogram>();

/** The span of a call or request that starts now, from the core's JSON; undefined if there is no provider. */
export function begin(readJson: () => string | null): CallSpan | undefined {
  const registered = (globalThis as { [REGISTRY]?: Registered })[REGISTRY];
  if (registered === undefined || !(registered.trace || registered.metrics)) return undefined;
  return ignoreErrors(() => {
    const api = load();
    const readFacts = () => JSON.parse(readJson() ?? 'null') as CallFacts | null;
    const facts = api && readFacts();
    return facts ? new CallSpan(api, registered, facts, readFacts) : undefined;
  });
}

/** The function's return value; undefined if it fails. */
function ignoreErrors<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (!warned) {
      warned = true;
      process.emitWarning(`OpenTelemetry failed: ${error}`, 'McpoolWarning');
    }
    return undefined;
  }
}

function load(): typeof Api | null {
  if (loaded === undefined) {
    try {
      loaded = require('@opentelemetry/api') as typeof Api;
    } catch {
      loaded = null;
    }
  }
  return loaded;
}

function words(): Words {
  read ??= JSON.parse(telemetryWords()) as Words;
  return read;
}

/** What is made of a provider, once for each. */
function made<T>(known: WeakMap<object, T>, provider: object | undefined, make: () => T): T | undefined {
  if (provider === undefined) return undefined;
  const before = known.get(provider);
  if (before !== undefined) return before;
  const now = make();
  known.set(provider, now);
  return now;
}

/** The telemetry of one call or request: starts when it is created, ends with `follow`. */
export class CallSpan {
  readonly #api: typeof Api;
  readonly #facts: CallFacts;
  readonly #again: () => CallFacts | null;
  readonly #context: Api.Context;
  readonly #span: Api.Span | undefined;
  readonly #duration: Api.Histogram | undefined;
  readonly #begun = performance.now();

  constructor(
    api: typeof Api,
    { trace, metrics }: Registered,
    facts: CallFacts,
    again: () => CallFacts | null,
  ) {
    this.#api = api;
    this.#facts = facts;
    this.#again = again;
    const { scope, version, duration } = words();
    const { name, unit, description, boundaries } = duration;
    const advice = { explicitBucketBoundaries: boundaries };
    this.#duration = made(durations, metrics, () =>
      api.metrics.getMeter(scope, version).createHistogram(name, { unit, description, advice }),
    );
    const context = api.context.active();
    const tracer = made(tracers, trace, () => api.trace.getTracer(scope, version));
    const options = { kind: api.SpanKind.CLIENT, attributes: facts.attributes };
    this.#span = tracer?.startSpan(facts.span, options, context);
    this.#context = this.#span ? api.trace.setSpan(context, this.#span) : context;
  }

  /** What the request carries of the span. */
  carrier(): Record<string, unknown> {
    const carrier: Record<string, unknown> = {};
    if (this.#span) ignoreErrors(() => this.#api.propagation.inject(this.#context, carrier));
    return carrier;
  }

  /** Waits for its end. `isError` says whether an answer is a failure. */
  async follow<T>(
    call: Promise<T>,
    signal: AbortSignal | undefined,
    isError: (answer: T) => boolean = () => false,
  ): Promise<T> {
    let result: T;
    try {
      result = await call;
    } catch (error) {
      this.#fail(error, isAbort(signal, error));
      throw error;
    }
    this.#end(isError(result) ? { [words().error_type]: words().tool_error } : undefined);
    return result;
  }

  #fail(error: unknown, isCancelled: boolean): void {
    const { error_type, status_code, cancelled, other } = words();
    if (isCancelled || !(error instanceof McpoolError)) {
      this.#end({ [error_type]: isCancelled ? cancelled : other });
      return;
    }
    // The message may quote the server or contain its address.
    const described = this.#facts.error_messages ? `${error.code}: ${error.message}` : error.code;
    if (error.rpc === undefined) {
      this.#end({ [error_type]: error.code }, described);
    } else {
      const status = String(error.rpc.code);
      this.#end({ [error_type]: status, [status_code]: status }, described);
    }
  }

  #end(failure: Api.Attributes | undefined, message?: string): void {
    const seconds = (performance.now() - this.#begun) / 1000;
    const facts = this.#facts.complete ? this.#facts : (this.#again() ?? this.#facts);
    ignoreErrors(() => this.#duration?.record(seconds, { ...facts.measured, ...failure }, this.#context));
    const span = this.#span;
    if (span === undefined) return;
    ignoreErrors(() => {
      span.setAttributes({ ...facts.attributes, ...failure });
      span.updateName(facts.span);
      if (failure) {
        const code = this.#api.SpanStatusCode.ERROR;
        span.setStatus(message === undefined ? { code } : { code, message });
      }
    });
    ignoreErrors(() => span.end());
  }
}
