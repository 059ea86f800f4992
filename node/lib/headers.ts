// Owns headers that a caller gives: as a plain object, or as `Headers` of fetch.
import { isPlain, kindOf } from './given.js';

/** Whether they are those of fetch, of any realm. */
const isHeaders = (headers: unknown): headers is Headers =>
  Object.prototype.toString.call(headers) === '[object Headers]';

/** The headers as an object of texts. A value that is missing is refused, because JSON would leave it out. */
export function plainHeaders(headers: unknown): Record<string, unknown> {
  if (isHeaders(headers)) return Object.fromEntries(headers);
  if (!isPlain(headers))
    throw new TypeError(`the headers must be a plain object or Headers, not ${kindOf(headers)}`);
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') continue;
    throw new TypeError(`the header "${name}" must be a text, not ${kindOf(value)}`);
  }
  return headers;
}
