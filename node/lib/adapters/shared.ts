// Owns what the adapters share: the record of a call, and calling a tool by the name that a model gave.
import type { Arguments, CallOptions, ContentBlock, Image, Manager, Signal, Tool, ToolOutput } from 'mcpool';

/** How tools are made for a framework. */
export interface ToolOptions {
  /** Whether the framework asks a person before it calls a tool that requires approval. */
  needsApproval?: boolean;
}

/** The outcome of a call as plain JSON: the text is for the model, the rest for the program. */
export interface ToolRecord {
  text: string;
  isError: boolean;
  server: string;
  /** The server's name for it. */
  tool: string;
  /** The blocks as the server sent them. */
  content: ContentBlock[];
  structured?: unknown;
  /** What in the text looks like instructions to a model. */
  signals: Signal[];
  /** Why there is no result. */
  error?: { code: string; message: string; hint?: string };
}

const IMAGES_OF_RECORD = Symbol.for('mcpool.imagesOfRecord');

/** The images that a model is shown of a record, which the framework may have stored. */
export function imagesOfRecord(tool: Tool, record: ToolRecord): Image[] {
  const asked = tool as unknown as Record<symbol, (record: ToolRecord) => Image[]>;
  return (asked[IMAGES_OF_RECORD] as (typeof asked)[symbol]).call(tool, record);
}

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

/** The arguments that a model wrote as JSON. The core refuses text that is not JSON. */
export function argumentsOf(json: string): Arguments {
  if (json.trim() === '') return {};
  try {
    return JSON.parse(json);
  } catch {
    return json as never;
  }
}

/** Caches what `make` returns for a tool, as long as the tool is in the list. */
export function perTool<T>(make: (tool: Tool) => T): (tool: Tool) => T {
  const made = new WeakMap<Tool, T>();
  return (tool) => {
    const known = made.get(tool) ?? make(tool);
    made.set(tool, known);
    return known;
  };
}

/** Call options with the framework's signal, if it gave one. */
export const signalOptions = (signal: AbortSignal | null | undefined): CallOptions =>
  signal ? { signal } : {};

const BY_NAME = Symbol.for('mcpool.execute');

/** Calls the tool of this name. An unknown name is answered too, so that the model learns of its mistake. */
export function executeNamed(
  manager: Manager,
  name: string,
  args: Arguments,
  options: CallOptions,
): Promise<ToolOutput> {
  const named = manager as unknown as Record<symbol, (...asked: unknown[]) => Promise<ToolOutput>>;
  return (named[BY_NAME] as (typeof named)[symbol]).call(manager, name, args, options);
}
