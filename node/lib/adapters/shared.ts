// Owns what the adapters have in common: which images a model can be shown, and calling a tool by the model's words.
import type { Arguments, CallOptions, ContentBlock, Manager, Schema, Signal, Tool, ToolOutput } from 'mcpool';

/** A JSON Schema of an object. */
export type ObjectSchema = Schema & { type: 'object' };

/** How tools are made for a framework. */
export interface ToolOptions {
  /** Whether the framework asks a person before it calls a tool that requires approval. */
  needsApproval?: boolean;
}

/** An image in base64. */
export interface Image {
  data: string;
  mimeType: string;
}

/** What became of a call, as plain JSON: the text is for the model, the rest for the program. */
export interface ToolRecord {
  text: string;
  isError: boolean;
  server: string;
  /** The server's name for it. */
  tool: string;
  /** The blocks as the server sent them. */
  content: ContentBlock[];
  structured?: unknown;
  /** What in the text looks as if it were written to give orders to a model. */
  signals: Signal[];
  /** Why there is no result. */
  error?: { code: string; message: string; hint?: string };
}

const SHOWN: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The images that every model takes. Others stay what the text says of them, for a bad one would cost the whole turn; so
 * would one beside an error, with some providers.
 */
export function imagesOf({ content, isError }: Pick<ToolOutput, 'content' | 'isError'>): Image[] {
  if (isError) return [];
  return content.flatMap((block) => {
    const { type, data, mimeType, resource } = Object(block);
    const { blob, mimeType: kind } = Object(resource);
    const image = type === 'resource' ? { data: blob, mimeType: kind } : { data, mimeType };
    return (type === 'image' || type === 'resource') && isShown(image) ? [image] : [];
  });
}

const isShown = ({ data, mimeType }: Image): boolean =>
  SHOWN.has(mimeType) && typeof data === 'string' && data.length % 4 === 0 && BASE64.test(data);

export function recordOf(output: ToolOutput): ToolRecord {
  const { text, isError, server, tool, content, structured, signals, error } = output;
  return {
    ...{ text, isError, server, tool, content, signals },
    ...(structured !== undefined && { structured }),
    ...(error && {
      error: { code: error.code, message: error.message, ...(error.hint && { hint: error.hint }) },
    }),
  };
}

export const dataUrl = ({ data, mimeType }: Image): string => `data:${mimeType};base64,${data}`;

/** The schema as all providers take it: that of an object, with properties. What else it says is the server's word. */
export function objectSchemaOf({ inputSchema }: Tool): ObjectSchema {
  return { ...inputSchema, type: 'object', properties: Object(inputSchema.properties) };
}

/** The arguments that a model wrote as JSON. What is none is left to the core to refuse. */
export function argumentsOf(json: string): Arguments {
  if (json.trim() === '') return {};
  try {
    return JSON.parse(json);
  } catch {
    return json as never;
  }
}

/** Makes a thing of each tool once, for as long as the tool is in the list. */
export function perTool<T>(make: (tool: Tool) => T): (tool: Tool) => T {
  const made = new WeakMap<Tool, T>();
  return (tool) => {
    const known = made.get(tool) ?? make(tool);
    made.set(tool, known);
    return known;
  };
}

/** The signal alone, where the framework gave one. */
export const heeding = (signal: AbortSignal | null | undefined): CallOptions => (signal ? { signal } : {});

const BY_NAME = Symbol.for('mcpool.execute');

/** Calls the tool of this name. A name that no tool has is answered too, for the model has to be told. */
export function executeNamed(
  manager: Manager,
  name: string,
  args: Arguments,
  options: CallOptions,
): Promise<ToolOutput> {
  const named = manager as unknown as Record<symbol, (...asked: unknown[]) => Promise<ToolOutput>>;
  return (named[BY_NAME] as (typeof named)[symbol]).call(manager, name, args, options);
}
