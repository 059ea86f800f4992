// Owns the tools of a catalog: a tool has its names, the rest is read on first use.
import { inspect } from 'node:util';
import type { NativeCatalog } from '../native.js';
import { type Arguments, type CallContext, call } from './calls.js';
import { McpoolError } from './errors.js';
import type { Signal } from './events.js';
import type { CallOptions } from './options.js';
import { ToolOutput } from './output.js';
import { type Image, ToolResult } from './result.js';

/** The server's hints about a tool. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
  [hint: string]: unknown;
}

/** How tools are named: a style, or a function whose answers are made legal and unique. */
export type Naming = 'plain' | 'letters' | 'double' | 'raw' | ((server: string, tool: string) => string);

/** Whether a tool's server is connected. */
export type ToolState = 'live' | 'deferred';

/** A JSON Schema. */
export type Schema = Record<string, unknown>;

/** The key of what the adapters ask of a tool, which is no copy of the class that they know. */
export const imagesOfRecord: unique symbol = Symbol.for('mcpool.imagesOfRecord');

const parse = (json: string | null) => (json === null ? undefined : JSON.parse(json));

/** A tool with its name in the catalog. */
export class Tool {
  /** The name in the catalog. */
  readonly name: string;
  readonly server: string;
  /** The server's name for it. */
  readonly rawName: string;
  readonly #catalog: NativeCatalog;
  readonly #index: number;
  readonly #caller: CallContext;

  /** @internal */
  constructor(
    [catalog, index, caller]: [NativeCatalog, number, CallContext],
    [name, server, rawName]: [string, string, string],
  ) {
    this.#catalog = catalog;
    this.#index = index;
    this.#caller = caller;
    this.name = name;
    this.server = server;
    this.rawName = rawName;
  }

  /** Its title for people. */
  get title(): string | undefined {
    return this.#catalog.title(this.#index) ?? undefined;
  }

  /** Its description for the model. */
  get description(): string {
    return this.#catalog.description(this.#index) ?? '';
  }

  /** The JSON Schema of its arguments as the server has it; one of an object has `properties`. */
  get inputSchema(): Schema {
    return parse(this.#catalog.inputSchema(this.#index));
  }

  /** The same in the form that every provider accepts: an object schema with `properties`. */
  get objectSchema(): Schema & { type: 'object' } {
    return parse(this.#catalog.objectSchema(this.#index));
  }

  /** The JSON Schema of its structured results. */
  get outputSchema(): Schema | undefined {
    return parse(this.#catalog.outputSchema(this.#index));
  }

  get annotations(): ToolAnnotations | undefined {
    return parse(this.#catalog.annotations(this.#index));
  }

  get icons(): unknown[] | undefined {
    return parse(this.#catalog.icons(this.#index));
  }

  /** The whole entry as the server wrote it: numbers too big for JavaScript are exact only here. */
  get json(): string {
    return this.#catalog.json(this.#index) ?? '';
  }

  /** Changes when name, description, schema or annotations change, and only then. */
  get fingerprint(): string {
    return this.#catalog.fingerprint(this.#index) ?? '';
  }

  /** Whether its calls need approval. */
  get requiresApproval(): boolean {
    return this.#catalog.requiresApproval(this.#index) ?? true;
  }

  /** What in its texts and schemas looks like instructions to a model. */
  get signals(): Signal[] {
    return JSON.parse(this.#catalog.signals(this.#index));
  }

  /** Where it comes from, for people. */
  get provider(): string {
    return this.#catalog.provider(this.#index) ?? '';
  }

  /** `live`: its server is connected. `deferred`: known from before; a call waits for the server. */
  get state(): ToolState {
    return this.#catalog.state(this.#index) as ToolState;
  }

  /**
   * Calls the tool for an agent: a failure is in the output's text; only cancelling (`options.signal`) rejects, with an
   * `AbortError`. The call uses the tool's server and raw name, so a tool stays valid over restarts.
   */
  async execute(args?: Arguments, options?: CallOptions): Promise<ToolOutput> {
    const { server, rawName, provider } = this;
    const origin = { server, tool: rawName, provider, manager: this.#caller.manager };
    try {
      return new ToolOutput(origin, await call(this.#caller, server, rawName, args, options));
    } catch (error) {
      if (!(error instanceof McpoolError)) throw error;
      return new ToolOutput(origin, error);
    }
  }

  /** @internal The images that a model is shown of a call whose record may have been stored meanwhile. */
  [imagesOfRecord]({ content, isError }: Pick<ToolOutput, 'content' | 'isError'>): Image[] {
    const blocks = content.filter((block) => block?.type !== 'text');
    return blocks.length > 0 ? new ToolResult(JSON.stringify({ content: blocks, isError })).modelImages : [];
  }

  toJSON(): Record<string, unknown> {
    const { name, server, rawName, title, description, inputSchema, outputSchema } = this;
    const { annotations, icons, fingerprint, requiresApproval, provider, state } = this;
    return {
      ...{ name, server, rawName, title, description, inputSchema, outputSchema },
      ...{ annotations, icons, fingerprint, requiresApproval, provider, state },
    };
  }

  [inspect.custom](): unknown {
    return this.toJSON();
  }
}

/** The tools of `catalog`, sorted by name. */
export function toolsOf(catalog: NativeCatalog, caller: CallContext): Tool[] {
  const names: string[] = JSON.parse(catalog.names());
  const tools: Tool[] = new Array(names.length / 3);
  for (let index = 0; index < tools.length; index++) {
    const [name = '', server = '', rawName = ''] = names.slice(index * 3, index * 3 + 3);
    tools[index] = new Tool([catalog, index, caller], [name, server, rawName]);
  }
  return tools;
}
