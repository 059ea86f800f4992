// Owns the types of a server's prompts.
import type { Icon } from './resource.js';
import type { ContentBlock } from './result.js';

/** What a prompt is filled in with. */
export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required: boolean;
}

/** A prompt that a server offers, with all that the server says of it. */
export interface Prompt {
  /** Its name, by which it is asked for. */
  name: string;
  title?: string;
  description?: string;
  arguments: PromptArgument[];
  icons?: Icon[];
  [more: string]: unknown;
}

/** A message of a prompt. */
export interface PromptMessage {
  role: 'user' | 'assistant';
  content: ContentBlock;
}

/** A prompt that is filled in. */
export interface PromptResult {
  description?: string;
  messages: PromptMessage[];
  [more: string]: unknown;
}

/** Values that an argument may have. */
export interface Completion {
  values: string[];
  /** How many there are in all. */
  total?: number;
  hasMore: boolean;
}

/** What is to be completed: an argument of a prompt, or of a template of resources. */
export interface CompletionRequest {
  /** The name of the prompt. */
  prompt?: string | undefined;
  /** The template. */
  resource?: string | undefined;
  /** The name of the argument. */
  argument: string;
  /** What was typed so far. */
  value?: string | undefined;
  /** The arguments that are known already. */
  others?: Readonly<Record<string, string>> | undefined;
}

/** How severe the log messages of a server are at least. */
export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';
