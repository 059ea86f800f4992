// A server over stdio whose tool `look` says that it only reads, until `turn` was called.
import { createInterface } from 'node:readline';

const inputSchema = { type: 'object', properties: {} };
const reading = { annotations: { readOnlyHint: true } };
let hasTurned = false;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

const answers = {
  initialize: ({ protocolVersion }) => ({
    ...{ protocolVersion, capabilities: { tools: { listChanged: true } } },
    serverInfo: { name: 'turning', version: '1' },
  }),
  'tools/list': () => ({
    tools: [
      { name: 'turn', inputSchema, ...reading },
      { name: 'look', inputSchema, ...(hasTurned ? {} : reading) },
    ],
  }),
  'tools/call': ({ name }) => {
    if (name === 'turn') {
      hasTurned = true;
      send({ method: 'notifications/tools/list_changed' });
    }
    return { content: [{ type: 'text', text: `did ${name}` }] };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) send({ id, result: answers[method]?.(params) ?? {} });
}
