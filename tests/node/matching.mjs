// What "matches" means in a scenario, and how Node's values are written in the files' words.
import { McpoolError } from 'mcpool';

// Written in two parts: they only look like parts of a template.
const ANY = '$'.concat('{any}');
const HAS = '$'.concat('{has:');

/** Says where `actual` differs from what is expected. */
export function check(expected, actual, at = '') {
  const problem = compare(expected, actual ?? null, at);
  if (problem) throw new Error(problem);
}

export const matches = (expected, actual) => compare(expected, actual ?? null, '') === undefined;

function compare(expected, actual, at) {
  const differs = `${at}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
  if (expected === ANY) return actual === null ? `${at}: is missing` : undefined;
  if (typeof expected === 'string' && expected.startsWith(HAS) && typeof actual === 'string') {
    return actual.includes(expected.slice(HAS.length, -1)) ? undefined : differs;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return differs;
    return first(expected, (value, index) => compare(value, actual[index] ?? null, `${at}[${index}]`));
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null || Array.isArray(actual)) return differs;
    return first(Object.entries(expected), ([key, value]) =>
      compare(value, actual[key] ?? null, `${at}.${key}`),
    );
  }
  return expected === actual ? undefined : differs;
}

function first(items, problemOf) {
  for (const [index, item] of items.entries()) {
    const problem = problemOf(item, index);
    if (problem) return problem;
  }
}

/** Whether the items match in this order, with others between them. */
export function isSubsequence(expected, actual) {
  let at = 0;
  return expected.every((wanted) => {
    while (at < actual.length) if (matches(wanted, actual[at++])) return true;
    return false;
  });
}

/**
 * `value` with `${name}` replaced: a text in every string, anything else where it is the whole string. A member `...` is
 * replaced by the members of its value.
 */
export function fill(value, names) {
  if (typeof value === 'string') return fillText(value, names);
  if (Array.isArray(value)) return value.map((item) => fill(item, names));
  if (typeof value !== 'object' || value === null) return value;
  const filled = Object.entries(value).map(([key, entry]) => [key, fill(entry, names)]);
  const { '...': spread, ...own } = Object.fromEntries(filled);
  return { ...spread, ...own };
}

function fillText(text, names) {
  let filled = text;
  for (const [name, replacement] of Object.entries(names)) {
    const pattern = `\${${name}}`;
    if (typeof replacement === 'string') filled = filled.replaceAll(pattern, replacement);
    else if (filled === pattern) return replacement;
  }
  return filled;
}

/** The members of an object under their names in snake case; what they hold stays as it is. */
export function snake(value) {
  if (value === undefined) return undefined;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [snakeName(key), entry]));
}

const snakeName = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A hint with our verbs in snake case, as the scenarios have them. */
const snakeHint = (hint) => hint?.replace(/\b[a-z]+[A-Za-z]*(?=\()/g, snakeName);

/** The other way round, for options. */
export function camel(value) {
  const name = (key) => key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [name(key), entry]));
}

/** Errors as plain objects, wherever they are. */
export function plain(value) {
  if (value instanceof McpoolError) {
    const { message, hint, restart, cause } = value;
    const own = { message, hint: snakeHint(hint), restart: plain(snake(restart)), cause: plain(cause) };
    return { ...snake(value), ...own };
  }
  // Node's own system errors have negative numbers.
  if (value instanceof Error) return { message: value.message, errno: value.errno && -value.errno };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}
