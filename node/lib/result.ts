// Owns a call's result: the server's JSON as it came, parsed when somebody looks.
import { inspect } from 'node:util';
import { renderText } from '../native.js';

/** One block of a result; which fields it has depends on its type. */
export interface ContentBlock {
  type: string;
  /** Of a `text` block. */
  text?: string;
  /** Base64, of an `image` or `audio` block. */
  data?: string;
  mimeType?: string;
  /** Of a `resource_link` block. */
  uri?: string;
  /** Of a `resource` block. */
  resource?: { uri: string; text?: string; blob?: string; mimeType?: string; [field: string]: unknown };
  [field: string]: unknown;
}

/** Nobody else writes this into a result. */
const mark = `mcpool-${Math.random()}-`;

/** Parses JSON in pieces, between which stand long strings that need no parsing. */
function parseParts(parts: string[]): Record<string, unknown> {
  const frame = parts.map((part, index) => (index % 2 ? mark + index : part)).join('');
  return fill(JSON.parse(frame), parts) as Record<string, unknown>;
}

function fill(value: unknown, parts: string[]): unknown {
  if (typeof value === 'string')
    return value.startsWith(mark) ? parts[Number(value.slice(mark.length))] : value;
  if (typeof value !== 'object' || value === null) return value;
  const holder = value as Record<string, unknown>;
  for (const key of Object.keys(holder)) holder[key] = fill(holder[key], parts);
  return value;
}

/** What a tool answered. */
export class ToolResult {
  #json: string | string[];
  #raw: Record<string, unknown> | undefined;
  #text: string | undefined;

  /** @internal */
  constructor(json: string | string[]) {
    this.#json = json;
  }

  /** The whole result as the server wrote it; numbers too big for JavaScript are exact here. */
  get json(): string {
    if (typeof this.#json !== 'string') {
      this.#json = this.#json.join('');
    }
    return this.#json;
  }

  /** The whole result, parsed. */
  get raw(): Record<string, unknown> {
    this.#raw ??= typeof this.#json === 'string' ? JSON.parse(this.#json) : parseParts(this.#json);
    return this.#raw as Record<string, unknown>;
  }

  /** The content blocks; empty when there are none. */
  get content(): ContentBlock[] {
    const { content } = this.raw;
    return Array.isArray(content) ? content : [];
  }

  /** The structured content, where the tool gave some. */
  get structured(): unknown {
    return this.raw.structuredContent ?? undefined;
  }

  /** Whether the tool says that it failed. */
  get isError(): boolean {
    return this.raw.isError === true;
  }

  /** The result as text: text blocks as they are, others by kind, structured-only results as JSON. */
  get text(): string {
    this.#text ??= renderText(this.json);
    return this.#text;
  }

  toJSON(): Record<string, unknown> {
    return this.raw;
  }

  [inspect.custom](): unknown {
    return { content: this.content, structured: this.structured, isError: this.isError };
  }
}
