// Owns turning the core's JSON into what JavaScript expects: camelCase fields, errors as classes, no nulls.
import { restore } from './errors.js';

const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** The record with its own field names in camelCase; the values stay as they are, but for errors. */
export function shape<T>(record: object): T {
  const shaped: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) {
    if (value === null) continue;
    shaped[camel(name)] = isSentError(name, value) ? restore(value) : value;
  }
  return shaped as T;
}

function isSentError(name: string, value: unknown): value is Parameters<typeof restore>[0] {
  return name === 'error' && typeof value === 'object';
}
