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

/** What a tool answered. */
export class ToolResult {
  /** The whole result as the server wrote it; numbers too big for JavaScript are exact here. */
  readonly json: string;
  #raw: Record<string, unknown> | undefined;
  #text: string | undefined;

  /** @internal */
  constructor(json: string) {
    this.json = json;
  }

  /** The whole result, parsed. */
  get raw(): Record<string, unknown> {
    this.#raw ??= JSON.parse(this.json) as Record<string, unknown>;
    return this.#raw;
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
