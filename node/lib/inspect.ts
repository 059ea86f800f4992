// Owns how our objects are printed.
import { inspect } from 'node:util';

/** An object as Node prints one of a class: its name before its fields, without those that are undefined. */
export function named(name: string, fields: object, depth: number, options: object): string {
  if (depth < 0) return `[${name}]`;
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return `${name} ${inspect(Object.fromEntries(set), options)}`;
}
