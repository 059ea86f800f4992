// A small MCP server on stdin and stdout, whose start costs what that of a real Node server costs: its imports.

import 'node:crypto';
import 'node:dns/promises';
import 'node:http2';
import 'node:https';
import 'node:stream/web';
import 'node:util';
import 'node:worker_threads';
import 'node:zlib';
import { createInterface } from 'node:readline';

const tool = { name: 'nothing', inputSchema: { type: 'object', properties: {} } };

const answer = (method, params) => {
  if (method === 'initialize') {
    const { protocolVersion } = params;
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'plain', version: '1' } };
  }
  return method === 'tools/list' ? { tools: [tool] } : {};
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined && method) {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: answer(method, params) })}\n`);
  }
}
