// The server of the matrix on the TypeScript SDK 1: typescript1.mjs stdio | http PORT | sse PORT. The README beside it
// says what it offers.
import { randomUUID } from 'node:crypto';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { z } from 'zod';

const text = (it) => ({ content: [{ type: 'text', text: it }] });
const names = (value) => ['Ada', 'Alan', 'Grace'].filter((name) => name.startsWith(value));

function createServer() {
  const server = new McpServer({ name: 'matrix', version: '1.0.0' }, { capabilities: { logging: {} } });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async (given) => text(given.text));
  server.registerTool('count', { inputSchema: { steps: z.number() } }, async ({ steps }, extra) => {
    const { progressToken } = extra._meta ?? {};
    for (let step = 1; step <= steps && progressToken !== undefined; step += 1) {
      const params = { progressToken, progress: step, total: steps };
      await extra.sendNotification({ method: 'notifications/progress', params });
    }
    return text(String(steps));
  });
  server.registerTool('fail', { inputSchema: { message: z.string() } }, async ({ message }) => {
    throw new Error(message);
  });
  const sum = { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } };
  server.registerTool('add', sum, async ({ a, b }) => ({
    ...text(JSON.stringify({ sum: a + b })),
    structuredContent: { sum: a + b },
  }));
  server.registerTool('log', { inputSchema: { text: z.string() } }, async (given, extra) => {
    await extra.sendNotification({
      method: 'notifications/message',
      params: { level: 'info', data: given.text },
    });
    return text('logged');
  });

  // Related to the call: otherwise the SDK drops the question while the client has no stream of its own open.
  const asked = (name, ask) =>
    server.registerTool(name, {}, async (extra) =>
      text(JSON.stringify(await ask({ relatedRequestId: extra.requestId }))),
    );
  const sample = {
    messages: [{ role: 'user', content: { type: 'text', text: 'Say a word.' } }],
    maxTokens: 10,
  };
  asked('sample', (related) => server.server.createMessage(sample, related));
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const form = { message: 'What is your name?', requestedSchema };
  asked('elicit', (related) => server.server.elicitInput(form, related));
  asked('roots', (related) => server.server.listRoots(undefined, related));

  const read = (uri, it) => ({ contents: [{ uri: uri.href, text: it }] });
  server.registerResource('note', 'matrix://note', {}, async (uri) => read(uri, 'a note'));
  const template = new ResourceTemplate('matrix://greeting/{name}', {
    list: undefined,
    complete: { name: names },
  });
  server.registerResource('greeting', template, {}, async (uri, { name }) => read(uri, `Hello, ${name}`));
  server.registerPrompt('greet', { argsSchema: { name: completable(z.string(), names) } }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }],
  }));
  return server;
}

const transports = new Map();

async function streamable(request, response) {
  let transport = transports.get(request.headers['mcp-session-id']);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => transports.set(id, transport),
    });
    await createServer().connect(transport);
  }
  await transport.handleRequest(request, response, request.body);
}

async function sse(_, response) {
  const transport = new SSEServerTransport('/messages', response);
  transports.set(transport.sessionId, transport);
  await createServer().connect(transport);
}

const [kind, port] = process.argv.slice(2);
if (kind === 'stdio') {
  await createServer().connect(new StdioServerTransport());
} else {
  const app = express();
  app.use(express.json());
  if (kind === 'http') app.all('/mcp', streamable);
  else {
    app.get('/sse', sse);
    app.post('/messages', (request, response) =>
      transports.get(request.query.sessionId).handlePostMessage(request, response, request.body),
    );
  }
  app.listen(Number(port), '127.0.0.1');
}
