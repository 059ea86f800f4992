// Owns what is said of a JavaScript value that cannot be used: the core knows only the JSON of it.
import { NO_JSON } from '../native.js';
import { InvalidArgumentsError } from './error-classes.js';

/** Whether it is an object without a class of its own. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // An object of another realm has another `Object.prototype`, but that one is a root too.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** What a value is, for "…, not a number". */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return withArticle(typeof value === 'object' ? classOf(value) : typeof value);
}

function classOf(value: object): string {
  if (Array.isArray(value)) return 'array';
  if (isPlain(value)) return 'object';
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' && name !== '' ? name : 'object';
}

const withArticle = (name: string) => `${/^[aeio]/i.test(name) ? 'an' : 'a'} ${name}`;

/** The text of an argument such as "name of the server". Another value would become a text that nobody meant. */
export function textOf(what: string, given: unknown): string {
  if (typeof given === 'string') return given;
  throw wrongArgument(what, 'a text', given);
}

export const serverName = (given: unknown) => textOf('name of the server', given);
export const toolName = (given: unknown) => textOf('name of the tool', given);

export const wrongArgument = (what: string, expected: string, given: unknown) =>
  new InvalidArgumentsError(`The ${what} must be ${expected}, not ${kindOf(given)}`, { executed: 'no' });

/** What stands for a value that JSON does not have: it says what was given, and the core says what it must be. */
export const standIn = (given: unknown) => ({ [NO_JSON]: kindOf(given) });

export const isNoJson = (value: unknown) => ['function', 'symbol', 'bigint'].includes(typeof value);

const LOSING = ['Date', 'Map', 'Set', 'Headers', 'URLSearchParams', 'FormData', 'Promise'];

/** Whether JSON has nothing like it, or would lose what is in it. */
export function isUnusable(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return isNoJson(value);
  return LOSING.includes(Object.prototype.toString.call(value).slice('[object '.length, -1));
}
