// Owns a call's result: the server's JSON unchanged, parsed on first use.
import { inspect } from 'node:util';
import { images, modelImages, type NativeOrigin, renderText, taskIn } from '../native.js';
import type { Signal } from './events.js';
import { named } from './inspect.js';
import type { Task } from './task.js';

/** One block of a result; which fields it has depends on its type. Fields that are not of the protocol are in `raw`. */
export interface ContentBlock {
  type: string;
  /** Of a `text` block. */
  text?: string;
  /** Base64, of an `image` or `audio` block. */
  data?: string;
  mimeType?: string;
  /** Of a `resource_link` block. */
  uri?: string;
  /** For people, of a `resource_link` block. */
  name?: string;
  title?: string;
  description?: string;
  /** In bytes, of a `resource_link` block. */
  size?: number;
  /** Of a `resource` block. */
  resource?: EmbeddedResource;
  /** For whom it is, how important it is, and how old. */
  annotations?: { audience?: ('user' | 'assistant')[]; priority?: number; lastModified?: string };
  _meta?: Record<string, unknown>;
}

/** A resource within a result: its text, or its bytes in base64. */
export interface EmbeddedResource {
  uri: string;
  text?: string;
  blob?: string;
  mimeType?: string;
  _meta?: Record<string, unknown>;
}

/** An image of a result. */
export interface Image {
  mimeType: string;
  /** The image in base64. */
  data: string;
}

/** The text for a model, and the signals in it. */
export interface ForModel {
  text: string;
  signals: Signal[];
}

/** The same as the native side gives it. */
export const readForModel = ({ text, signals }: { text: string; signals: string }): ForModel => ({
  text,
  signals: JSON.parse(signals),
});

/** What a tool answered. */
export class ToolResult {
  /** The whole result as the server wrote it; numbers too big for JavaScript are exact here. */
  readonly json: string;
  #raw: Record<string, unknown> | undefined;
  #text: string | undefined;
  readonly #origin: NativeOrigin | undefined;
  #forModel: ForModel | undefined;

  /** @internal */
  constructor(json: string, origin?: NativeOrigin) {
    this.json = json;
    this.#origin = origin;
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

  /** The structured content, if the tool returned some. */
  get structured(): unknown {
    return this.raw.structuredContent ?? undefined;
  }

  /** Whether the tool reports a failure. */
  get isError(): boolean {
    return this.raw.isError === true;
  }

  /** The result as text: text blocks as they are, others by kind, structured-only results as JSON. */
  get text(): string {
    this.#text ??= renderText(this.json);
    return this.#text;
  }

  /** The task that the server works on, if the call returned that in place of a result. */
  get task(): Task | undefined {
    return JSON.parse(taskIn(this.json)) ?? undefined;
  }

  /** The images among the content blocks and in embedded resources. */
  get images(): Image[] {
    return JSON.parse(images(this.json));
  }

  /** The images for a model beside the text: of types that every provider accepts, and none beside an error. */
  get modelImages(): Image[] {
    return JSON.parse(modelImages(this.json));
  }

  /**
   * The text for a model: cut to the server's `maxResultChars`, scanned for instructions to the model, and marked as
   * the untrusted output of its tool. Made once, on first use.
   */
  forModel(): string {
    return this.#present().text;
  }

  /** What in that text looks like instructions to a model. */
  get signals(): Signal[] {
    return this.#present().signals.slice();
  }

  #present(): ForModel {
    this.#forModel ??= this.#render();
    return this.#forModel;
  }

  #render(): ForModel {
    if (!this.#origin) throw new TypeError('A ToolResult comes from a call');
    return readForModel(this.#origin.forModel(this.json));
  }

  toJSON(): Record<string, unknown> {
    return this.raw;
  }

  /** The same as `text`. */
  toString(): string {
    return this.text;
  }

  [inspect.custom](depth: number, options: object): string {
    const { content, structured, isError } = this;
    return named('ToolResult', { content, structured, isError }, depth, options);
  }
}
