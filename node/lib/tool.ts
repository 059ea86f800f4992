// Owns the tools of a catalog: a tool knows its names, the rest is read when looked at.
import { inspect } from 'node:util';
import type { NativeCatalog } from '../native.js';

/** The server's hints about a tool. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
  [hint: string]: unknown;
}

/** Whether a tool's server is connected. */
export type ToolState = 'live' | 'deferred';

/** A JSON Schema. */
export type Schema = Record<string, unknown>;

const parse = (json: string | null) => (json === null ? undefined : JSON.parse(json));

/** A tool under the name that agents use. */
export class Tool {
  /** The name in the catalog. */
  readonly name: string;
  readonly server: string;
  /** The server's name for it. */
  readonly rawName: string;
  readonly #catalog: NativeCatalog;
  readonly #index: number;

  /** @internal */
  constructor(catalog: NativeCatalog, index: number, name: string, server: string, rawName: string) {
    this.#catalog = catalog;
    this.#index = index;
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

  /** The JSON Schema of its arguments; always an object schema with `properties`. */
  get inputSchema(): Schema {
    return parse(this.#catalog.inputSchema(this.#index));
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

  /** Changes when name, description, schema or annotations change, and only then. */
  get fingerprint(): string {
    return this.#catalog.fingerprint(this.#index) ?? '';
  }

  /** Whether a person should approve its calls. */
  get requiresApproval(): boolean {
    return this.#catalog.requiresApproval(this.#index) ?? true;
  }

  /** Where it comes from, for people. */
  get provider(): string {
    return this.#catalog.provider(this.#index) ?? '';
  }

  /** `live`: its server is connected. `deferred`: known from before; a call waits for the server. */
  get state(): ToolState {
    return this.#catalog.state(this.#index) as ToolState;
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
export function toolsOf(catalog: NativeCatalog): Tool[] {
  const names: string[] = JSON.parse(catalog.names());
  const tools: Tool[] = new Array(names.length / 3);
  for (let index = 0; index < tools.length; index++) {
    const [name = '', server = '', rawName = ''] = names.slice(index * 3, index * 3 + 3);
    tools[index] = new Tool(catalog, index, name, server, rawName);
  }
  return tools;
}
