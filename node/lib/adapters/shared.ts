// Owns what the adapters share: the record of a call, and calling a tool by the name that a model gave.
import type { Arguments, CallOptions, ContentBlock, Image, Manager, Signal, Tool, ToolOutput } from 'mcpool';

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

const READ_ARGUMENTS = Symbol.for('mcpool.readArguments');

/** The JSON object in a text that a model wrote, as the core reads it, or `undefined` if it is none. */
export function readArguments(tool: Tool, text: string): string | undefined {
  const asked = tool as unknown as Record<symbol, (text: string) => string | undefined>;
  return (asked[READ_ARGUMENTS] as (typeof asked)[symbol]).call(tool, text);
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

/** The entries of a list as a provider sent it; a list that is missing has none. */
export const entriesOf = <T>(list: readonly T[] | null | undefined): T[] =>
  Array.isArray(list) ? list.filter((entry) => typeof entry === 'object' && entry !== null) : [];

export const dataUrl = ({ data, mimeType }: Image): string => `data:${mimeType};base64,${data}`;

/** The arguments as a provider or a framework hands them over: text, an object, or nothing. The core reads text. */
export const argumentsOf = (given: unknown): Arguments | undefined =>
  (given ?? undefined) as Arguments | undefined;

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

const UNASKED = Symbol.for('mcpool.executeUnasked');

/** Calls a tool where nobody can be asked: a call that needs the approval of a person is refused. */
export function executeUnasked(tool: Tool, args: unknown, options: CallOptions): Promise<ToolOutput> {
  const asked = tool as unknown as Record<symbol, (...asked: unknown[]) => Promise<ToolOutput>>;
  return (asked[UNASKED] as (typeof asked)[symbol]).call(tool, argumentsOf(args), options);
}

const BY_NAME = Symbol.for('mcpool.execute');

/**
 * The same by the name that a model gave. An unknown name is answered too, so that the model learns of its mistake; once
 * approval is asked for, a name that is not in the list is refused, because it may be the former name of a tool.
 */
export function executeNamed(
  manager: Manager,
  name: string | null | undefined,
  args: unknown,
  options: CallOptions,
): Promise<ToolOutput> {
  const named = manager as unknown as Record<symbol, (...asked: unknown[]) => Promise<ToolOutput>>;
  return (named[BY_NAME] as (typeof named)[symbol]).call(
    manager,
    String(name ?? ''),
    argumentsOf(args),
    options,
  );
}
