// A server over stdio whose tools have schemas of every kind; each tool gives its arguments back, and the
// line that they came in.
import { createInterface } from 'node:readline';

const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' }, word: { type: 'string' } } };
const object = (properties, rest) => ({ type: 'object', properties, ...rest });

const schemas = {
  recursive: object({ list: { $ref: '#/$defs/node' } }, { $defs: { node } }),
  dangling: object({ any: { $ref: '#/$defs/nowhere' } }),
  booleans: object({ any: true, other: {} }, { additionalProperties: true }),
  untyped: { properties: { word: {} } },
  many: object({
    word: { type: ['string', 'null'] },
    kind: { anyOf: [{ const: 1 }, { enum: ['a', null] }] },
  }),
  formats: object({
    when: { type: 'string', format: 'made-up' },
    odd: { type: 'string', pattern: '^\\p{L}' },
  }),
  old: {
    $schema: 'http://json-schema.org/draft-04/schema#',
    ...object({ n: { type: 'number', minimum: 0, exclusiveMinimum: true } }),
  },
  new: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...object({ pair: { type: 'array', prefixItems: [{}, {}] } }),
  },
  free: { type: 'object', additionalProperties: true },
  reserved: object({ resumeData: { type: 'object' }, word: {} }, { required: ['resumeData'] }),
  empty: {},
  absent: undefined,
};

/** Arguments that fit each of them. */
export const fitting = {
  ...{
    recursive: { list: { next: { word: 'a' } } },
    dangling: {},
    booleans: { any: 1 },
    untyped: { word: 'a' },
  },
  ...{
    many: { word: null, kind: 1 },
    formats: { when: 'now', odd: 'ä' },
    old: { n: 1 },
    new: { pair: [1, 'a'] },
  },
  ...{ free: { any: ['a'] }, reserved: { resumeData: { a: 1 }, word: 'a' }, empty: {}, absent: {} },
};

const answers = {
  initialize: ({ protocolVersion }) => ({
    ...{ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } },
  }),
  'tools/list': () => ({
    tools: Object.entries(schemas).map(([name, inputSchema]) => ({ name, description: name, inputSchema })),
  }),
  'tools/call': ({ name, arguments: args = {} }, line) => ({
    content: [{ type: 'text', text: `${name} got ${JSON.stringify(args)}, by ${line}` }],
  }),
};

if (process.argv[1] === import.meta.filename) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const result = answers[method]?.(params, line) ?? {};
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
  }
}
