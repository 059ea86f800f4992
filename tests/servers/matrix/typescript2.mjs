// The server of the matrix on the TypeScript SDK 2: typescript2.mjs stdio | http PORT. The README beside it says what
// it offers.
import { randomUUID } from 'node:crypto';
import { createServer as listen } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
  completable,
  createMcpHandler,
  inputRequired,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const text = (it) => ({ content: [{ type: 'text', text: it }] });
const names = (value) => ['Ada', 'Alan', 'Grace'].filter((name) => name.startsWith(value));

function createServer({ era }) {
  const server = new McpServer({ name: 'matrix', version: '1.0.0' }, { capabilities: { logging: {} } });
  const given = (shape) => ({ inputSchema: z.object(shape) });
  server.registerTool('echo', given({ text: z.string() }), async (it) => text(it.text));
  server.registerTool('count', given({ steps: z.number() }), async ({ steps }, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {};
    for (let step = 1; step <= steps && progressToken !== undefined; step += 1) {
      const params = { progressToken, progress: step, total: steps };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    return text(String(steps));
  });
  server.registerTool('fail', given({ message: z.string() }), async ({ message }) => {
    throw new Error(message);
  });
  const sum = { ...given({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) };
  server.registerTool('add', sum, async ({ a, b }) => ({
    ...text(JSON.stringify({ sum: a + b })),
    structuredContent: { sum: a + b },
  }));
  server.registerTool('log', given({ text: z.string() }), async (it, { mcpReq }) => {
    await mcpReq.log('info', it.text);
    return text('logged');
  });

  /** Asks by a request of its own, or since 2026-07-28 by an answer that requires input. */
  const asked = (name, question, ask) =>
    server.registerTool(name, given({}), async (_, { mcpReq }) => {
      if (era === 'legacy') return text(JSON.stringify(await ask(mcpReq)));
      const answer = mcpReq.inputResponses?.answer;
      return answer ? text(JSON.stringify(answer)) : inputRequired({ inputRequests: { answer: question } });
    });
  const sample = {
    messages: [{ role: 'user', content: { type: 'text', text: 'Say a word.' } }],
    maxTokens: 10,
  };
  asked('sample', inputRequired.createMessage(sample), (it) => it.requestSampling(sample));
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const form = { message: 'What is your name?', requestedSchema };
  asked('elicit', inputRequired.elicit(form), (it) => it.elicitInput(form));
  // Related to the call: otherwise the SDK drops the question while the client has no stream of its own open.
  asked('roots', inputRequired.listRoots(), ({ id }) =>
    server.server.listRoots(undefined, { relatedRequestId: id }),
  );

  const read = (uri, it) => ({ contents: [{ uri: uri.href, text: it }] });
  server.registerResource('note', 'matrix://note', {}, async (uri) => read(uri, 'a note'));
  const template = new ResourceTemplate('matrix://greeting/{name}', {
    list: undefined,
    complete: { name: names },
  });
  server.registerResource('greeting', template, {}, async (uri, { name }) => read(uri, `Hello, ${name}`));
  const argsSchema = z.object({ name: completable(z.string(), names) });
  server.registerPrompt('greet', { argsSchema }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }],
  }));
  return server;
}

const sessions = new Map();

/** The protocol with sessions, which the handler of the SDK serves only without them. */
async function withSession(request, response, body) {
  let transport = sessions.get(request.headers['mcp-session-id']);
  if (!transport) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await createServer({ era: 'legacy' }).connect(transport);
  }
  await transport.handleRequest(request, response, body);
}

const [kind, port] = process.argv.slice(2);
if (kind === 'stdio') {
  serveStdio(createServer);
} else {
  const stateless = toNodeHandler(createMcpHandler(createServer, { legacy: 'reject' }));
  listen(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : undefined;
    const legacy = await isLegacyRequest(await toWebRequest(request, body), body);
    await (legacy ? withSession : stateless)(request, response, body);
  }).listen(Number(port), '127.0.0.1');
}
