// A server on the official TypeScript SDK over Node's own HTTP/2: http2.mjs PORT CERTS.
// It requires a certificate of its clients.
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { z } from 'zod';

const [port, certs] = process.argv.slice(2);
const text = (it) => ({ content: [{ type: 'text', text: it }] });
const waiting = [];
let connections = 0;

function createServer(version) {
  const server = new McpServer({ name: 'real', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async (given) => text(given.text));
  server.registerTool('seen', {}, async () =>
    text(JSON.stringify({ version, connections, waiting: waiting.length })),
  );
  server.registerTool('meet', { inputSchema: { others: z.number() } }, async ({ others }) => {
    const met = new Promise((resolve) => waiting.push(resolve));
    if (waiting.length === others) for (const resolve of waiting.splice(0)) resolve();
    await met;
    return text('met');
  });
  return server;
}

async function answer(incoming, outgoing) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const names = Object.entries(incoming.headers).filter(([name]) => !name.startsWith(':'));
  const { method } = incoming;
  const body = method === 'POST' ? Buffer.concat(chunks) : undefined;
  const request = new Request(`https://127.0.0.1:${port}${incoming.url}`, { method, headers: names, body });
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await createServer(incoming.httpVersion).connect(transport);
  const response = await transport.handleRequest(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders?.();
  if (response.body) for await (const chunk of response.body) outgoing.write(chunk);
  outgoing.end();
}

const files = { key: 'server.key', cert: 'server.pem', ca: 'ca.pem' };
const read = Object.entries(files).map(([name, file]) => [name, readFileSync(join(certs, file))]);
const options = { ...Object.fromEntries(read), requestCert: true, rejectUnauthorized: true, allowHTTP1: true };
createSecureServer(options, (incoming, outgoing) => {
  answer(incoming, outgoing).catch(() => outgoing.destroy());
})
  .on('secureConnection', () => {
    connections += 1;
  })
  .listen(Number(port), '127.0.0.1');
