// Owns turning the core's JSON into what JavaScript expects (camelCase fields, errors as classes, no nulls) and
// JavaScript's options into what the core expects.
import { fileURLToPath } from 'node:url';
import { ConfigInvalidError, restore, restoring, type SentError } from './errors.js';

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

function isSentError(name: string, value: unknown): value is SentError {
  return name === 'error' && typeof value === 'object';
}

/** The JSON of a config or of options. */
export function write(what: string, value: unknown): string {
  try {
    return JSON.stringify(value, numbersAsTheyAre) ?? 'null';
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigInvalidError(`The ${what} cannot become JSON: ${why}`, { cause });
  }
}

/** JSON cannot represent such numbers: as null they would look like an omitted value. */
function numbersAsTheyAre(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}

/** Passes JSON to a native verb and restores its errors. */
export function restoringWrite<T>(options: object, verb: (json: string) => T): T {
  const json = writeOptions(options);
  return restoring(() => verb(json));
}

/** Options with their paths as strings. Invalid values stay, and the core refuses them. */
export function withPaths(options: object, ...names: string[]): object {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ConfigInvalidError(`The options must be an object, not ${JSON.stringify(options)}`);
  }
  const given: Record<string, unknown> = { ...options };
  for (const name of names) {
    const path = given[name];
    if (path instanceof URL) given[name] = pathOf(path);
  }
  return given;
}

/** A path of the file system. */
export const pathOf = (path: string | URL) => (path instanceof URL ? fileURLToPath(path) : String(path));

/** The JSON of options under the core's names for them. */
export function writeOptions(options: object): string {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const entries = Object.entries(options).map(([name, value]) => [snake(name), value]);
  return write('options', Object.fromEntries(entries));
}
