// Owns the tools of a catalog: a tool has its names, the rest is read on first use.
import { inspect } from 'node:util';
import { type NativeCatalog, parseArguments } from '../native.js';
import { type Arguments, type CallContext, callForModel } from './calls.js';
import { McpoolError, restoring } from './errors.js';
import type { Signal } from './events.js';
import { named } from './inspect.js';
import type { CallOptions } from './options.js';
import { ToolOutput } from './output.js';
import { type Image, ToolResult } from './result.js';

/** The server's hints about a tool. Others than these are in the tool's `json`. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** How tools are named: a style, or a function whose answers are made legal and unique. */
export type Naming = 'plain' | 'letters' | 'double' | 'raw' | ((server: string, tool: string) => string);

/** Whether a tool's server is connected. */
export type ToolState = 'live' | 'deferred';

/** A JSON Schema. */
export type Schema = Record<string, unknown>;

/** The key of what the adapters ask of a tool, which is no copy of the class that they know. */
export const imagesOfRecord: unique symbol = Symbol.for('mcpool.imagesOfRecord');
export const executeUnasked: unique symbol = Symbol.for('mcpool.executeUnasked');
export const needsApproval: unique symbol = Symbol.for('mcpool.needsApproval');
export const readArguments: unique symbol = Symbol.for('mcpool.readArguments');

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
   * Calls the tool for an agent: a failure is in the output's text. Rejects only when it is cancelled (`options.signal`),
   * with the signal's reason, and when an option is wrong. The call uses the tool's server and raw name, so a tool stays
   * valid over restarts. `args` may be the text that a model wrote.
   */
  async execute(args?: Arguments | string, options?: CallOptions): Promise<ToolOutput> {
    return this.#output(await callForModel(this.#caller, this.server, this.rawName, args, options));
  }

  #output(outcome: ToolResult | McpoolError): ToolOutput {
    const { server, rawName, provider } = this;
    return new ToolOutput({ server, tool: rawName, provider, manager: this.#caller.manager }, outcome);
  }

  /** @internal Whether a framework has to ask a person before a call. */
  [needsApproval](): boolean {
    return this.#caller.manager.needsFrameworkApproval(this.#catalog, this.#index);
  }

  /** @internal As `execute`, where nobody can be asked: a call that needs the approval of a person is refused. */
  async [executeUnasked](args?: Arguments | string, options?: CallOptions): Promise<ToolOutput> {
    try {
      restoring(() => this.#caller.manager.checkFrameworkApproval(this.#catalog, this.#index));
    } catch (error) {
      if (!(error instanceof McpoolError)) throw error;
      return this.#output(error);
    }
    return this.execute(args, options);
  }

  /** @internal The JSON object in a text that a model wrote, or `undefined` if it is none. */
  [readArguments](text: string): string | undefined {
    try {
      return restoring(() => parseArguments(text));
    } catch (error) {
      if (!(error instanceof McpoolError)) throw error;
      return undefined;
    }
  }

  /** @internal The images that a model is shown of a call whose record may have been stored meanwhile. */
  [imagesOfRecord]({ content, isError }: Pick<ToolOutput, 'content' | 'isError'>): Image[] {
    const blocks = content.filter((block) => block?.type !== 'text');
    return blocks.length > 0 ? new ToolResult(JSON.stringify({ content: blocks, isError })).modelImages : [];
  }

  toString(): string {
    return this.name;
  }

  toJSON(): Record<string, unknown> {
    const { name, server, rawName, title, description, inputSchema, outputSchema } = this;
    const { annotations, icons, fingerprint, requiresApproval, provider, state } = this;
    return {
      ...{ name, server, rawName, title, description, inputSchema, outputSchema },
      ...{ annotations, icons, fingerprint, requiresApproval, provider, state },
    };
  }

  [inspect.custom](depth: number, options: object): string {
    const { name, server, rawName, description, state } = this;
    return named('Tool', { name, server, rawName, description, state }, depth, options);
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
