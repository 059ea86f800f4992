// Owns headers that a caller gives: as a plain object, or as `Headers` of fetch.

/** Whether it is an object without a class of its own. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // An object of another realm has another `Object.prototype`, but that one is a root too.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Whether they are those of fetch, of any realm. */
const isHeaders = (headers: unknown): headers is Headers =>
  Object.prototype.toString.call(headers) === '[object Headers]';

/** The headers as an object of texts. A value that is missing is refused, because JSON would leave it out. */
export function plainHeaders(headers: unknown): Record<string, unknown> {
  if (isHeaders(headers)) return Object.fromEntries(headers);
  if (!isPlain(headers)) throw new TypeError('the headers are neither a plain object nor Headers');
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string') throw new TypeError(`the header "${name}" is not a text`);
  }
  return headers;
}
