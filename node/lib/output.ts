// Owns the output of a call for an agent: always text for its model, and the details behind it.
import { inspect } from 'node:util';
import type { NativeManager } from '../native.js';
import { McpoolError } from './errors.js';
import type { Signal } from './events.js';
import { named } from './inspect.js';
import { type ContentBlock, type ForModel, type Image, readForModel, type ToolResult } from './result.js';

interface Of {
  server: string;
  tool: string;
  provider: string;
  manager: NativeManager;
}

/** The keys of what the adapters ask of a manager, which is no copy of the class that they know. */
export const byName: unique symbol = Symbol.for('mcpool.execute');
export const requireApproval: unique symbol = Symbol.for('mcpool.requireApproval');
export const requiresApproval: unique symbol = Symbol.for('mcpool.requiresApproval');

/** The outcome of a call for an agent: `text` is for the model. */
export class ToolOutput {
  /** The server that was called. */
  readonly server: string;
  /** The server's name for the tool. */
  readonly tool: string;
  /** Where the tool comes from, for people. */
  readonly provider: string;
  /** The whole result, if there is one. */
  readonly result: ToolResult | undefined;
  /** Why there is no result. */
  readonly error: McpoolError | undefined;
  readonly #manager: NativeManager;
  #failure: ForModel | undefined;

  /** @internal */
  constructor({ server, tool, provider, manager }: Of, outcome: ToolResult | McpoolError) {
    this.server = server;
    this.tool = tool;
    this.provider = provider;
    this.#manager = manager;
    if (outcome instanceof McpoolError) this.error = outcome;
    else this.result = outcome;
  }

  /** The text for the model: the result as `forModel()` renders it, or why there is none. */
  get text(): string {
    return this.result ? this.result.forModel() : this.#failureForModel().text;
  }

  /** Whether the tool reports a failure, or there is no result. */
  get isError(): boolean {
    return this.result?.isError ?? true;
  }

  /** The content blocks as the server sent them; empty when there is no result. */
  get content(): ContentBlock[] {
    return this.result?.content ?? [];
  }

  /** The structured content, if the tool returned some. */
  get structured(): unknown {
    return this.result?.structured;
  }

  /** The images for the model beside the text: of types that every provider accepts, and none beside an error. */
  get modelImages(): Image[] {
    return this.result?.modelImages ?? [];
  }

  /** What in the text looks like instructions to a model. */
  get signals(): Signal[] {
    return this.result ? this.result.signals : this.#failureForModel().signals.slice();
  }

  #failureForModel(): ForModel {
    this.#failure ??= this.#renderFailure();
    return this.#failure;
  }

  #renderFailure(): ForModel {
    const { code = '', modelMessage, server: of, suggestion, executed, byServer = false } = this.error ?? {};
    const { server, tool } = this;
    return readForModel(
      this.#manager.failureForModel(server, tool, code, modelMessage, of, suggestion, executed, byServer),
    );
  }

  toString(): string {
    return this.text;
  }

  toJSON(): Record<string, unknown> {
    const { text, isError, server, tool, provider, content, structured, signals, error } = this;
    return { text, isError, server, tool, provider, content, structured, signals, error };
  }

  [inspect.custom](depth: number, options: object): string {
    const { server, tool, isError, result, error } = this;
    return named('ToolOutput', { server, tool, isError, result, error }, depth, options);
  }
}
