// Owns arguments whose names a framework takes for itself: they are passed in one more argument, as JSON, never dropped.
import type { Arguments, Tool } from 'mcpool';
import { readArguments } from './shared.js';

type Schema = Tool['objectSchema'];

/** A tool's arguments without the reserved names. */
export interface Renamed {
  schema: Schema;
  /** The arguments as the server wants them. The core refuses text that is no JSON object. */
  gather(given: unknown): Arguments | string | undefined;
}

const DESCRIPTION = 'Further arguments of this tool, as the JSON text of one object with these properties: ';
const warned = new Set<string>();

/** What to do for `tool` if its schema has names of `reserved`, or `undefined` if it has none. */
export function withoutReserved(
  tool: Tool,
  framework: string,
  reserved: readonly string[],
): Renamed | undefined {
  const schema = tool.objectSchema;
  const own = Object(schema.properties) as Record<string, unknown>;
  const taken = reserved.filter((name) => Object.hasOwn(own, name));
  if (taken.length === 0) return undefined;
  let further = 'further_arguments';
  while (Object.hasOwn(own, further)) further += '_';
  warnOnce(tool.name, framework, taken, further);

  const isKept = (name: string) => !taken.includes(name);
  const pick = (isPicked: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(own).filter(([name]) => isPicked(name)));
  const required: string[] = Array.isArray(schema.required) ? schema.required : [];
  const description = DESCRIPTION + JSON.stringify(pick((name) => !isKept(name)));
  return {
    schema: {
      ...schema,
      properties: { ...pick(isKept), [further]: { type: 'string', description } },
      required: [...required.filter(isKept), ...(required.every(isKept) ? [] : [further])],
    },
    gather(given) {
      const { [further]: more, ...named } = Object(given) as Record<string, unknown>;
      if (more === undefined || more === null) return named;
      if (typeof more === 'string') return joined(tool, more, named);
      const isObject = typeof more === 'object' && !Array.isArray(more);
      return isObject ? joined(tool, JSON.stringify(more), named) : String(more);
    },
  };
}

/** One JSON text: parsed here, long numbers would be rounded. The core refuses names that are in both. */
function joined(tool: Tool, text: string, named: Record<string, unknown>): string {
  const json = readArguments(tool, text);
  if (json === undefined) return text;
  const members = [json, JSON.stringify(named)].map((object) => object.slice(1, -1).trim());
  return `{${members.filter(Boolean).join(',')}}`;
}

function warnOnce(tool: string, framework: string, taken: string[], further: string): void {
  if (warned.has(tool)) return;
  // A server that renames its tools for ever must not fill the memory.
  if (warned.size < 1000) warned.add(tool);
  const names = taken.map((name) => `"${name}"`).join(', ');
  process.emitWarning(
    `${framework} keeps arguments named ${names} for itself: the model gives those of ${tool} as JSON in "${further}"`,
    { code: 'MCPOOL_RESERVED_ARGUMENTS' },
  );
}
