// Owns turning the core's JSON into what JavaScript expects (camelCase fields, errors as classes, no nulls) and
// JavaScript's options into what the core expects.
import { fileURLToPath } from 'node:url';
import { ConfigInvalidError, restore, type SentError, thrownText } from './errors.js';
import { withExtra } from './extra.js';
import { isNoJson, isUnusable, kindOf, standIn, wrongArgument } from './given.js';
import { camelFields } from './names.js';

/** The record with its own field names in camelCase; the values stay as they are, but for errors. */
export function shape<T>(record: object): T {
  const shaped = camelFields(record);
  if (isSentError(shaped.error)) shaped.error = restore(shaped.error);
  return shaped as T;
}

function isSentError(value: unknown): value is SentError {
  return typeof value === 'object';
}

/** The JSON of a config or of options. */
export function write(what: string, value: unknown): string {
  try {
    return JSON.stringify(value, refuseLoss) ?? 'null';
  } catch (cause) {
    throw new ConfigInvalidError(`The ${what} cannot become JSON: ${thrownText(cause)}`, { cause });
  }
}

/** JSON leaves out functions and symbols, and writes some numbers as null: they would look like omitted values. */
function refuseLoss(name: string, value: unknown): unknown {
  const isLost = isNoJson(value) || (typeof value === 'object' && isUnusable(value));
  if (isLost) throw new TypeError(`${name === '' ? 'it' : `"${name}"`} is ${kindOf(value)}`);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return typeof value === 'object' && value !== null ? withExtra(value) : value;
}

/** The JSON of options, their paths as strings. Invalid values stay, and the core refuses them. */
export function writeOptions(options: object): string {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    return write('options', options);
  }
  const entries = Object.entries(options).map(([name, value]) => [name, plainOption(value)]);
  return write('options', Object.fromEntries(entries));
}

function plainOption(value: unknown): unknown {
  if (isUrl(value)) return fileURLToPath(value.href);
  return isUnusable(value) ? standIn(value) : value;
}

/** Whether it is a URL, of any realm. */
export const isUrl = (value: unknown): value is URL =>
  Object.prototype.toString.call(value) === '[object URL]' && typeof (value as URL).href === 'string';

/** A path of the file system. */
export function pathOf(what: string, path: string | URL): string {
  if (isUrl(path)) return fileURLToPath(path.href);
  if (typeof path === 'string') return path;
  throw wrongArgument(what, 'a text or a file URL', path);
}
