// An HTTP service with `node:http`. One manager lives as long as the service, and all requests share its connections.
// It listens on a free port; `PORT` names another.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Manager, McpoolError } from 'mcpool';

const manager = new Manager({
  mcpServers: { demo: { command: 'npx', args: ['--no', 'mcpool', 'demo-server'] } },
});
await manager.connectAll();

/** The body of the response; undefined if there is nothing at that path. */
async function answer(request: IncomingMessage, signal: AbortSignal): Promise<unknown> {
  const [, first, name] = (request.url ?? '').split('/');
  if (first === 'health') return manager.status().map(({ name, state }) => ({ name, state }));
  if (first !== 'tools') return undefined;
  if (request.method !== 'POST' || !name) return manager.getTools().map((tool) => tool.name);
  const sent = (await json(request)) as Record<string, unknown>;
  const { text, structured, isError } = await manager.call(name, sent, { timeoutMs: 30_000, signal });
  return { text, structured, isError };
}

const service = createServer(async (request, response) => {
  const send = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
  // A request that is aborted cancels the call.
  const aborted = new AbortController();
  response.once('close', () => aborted.abort());
  try {
    const body = await answer(request, aborted.signal);
    send(body === undefined ? 404 : 200, body ?? 'not found');
  } catch (error) {
    if (error instanceof McpoolError) send(502, { code: error.code, message: error.message });
    else send(400, { message: String(error) });
  }
});

service.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
await once(service, 'listening');
console.log(`http://127.0.0.1:${(service.address() as AddressInfo).port}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    service.close();
    await manager.close();
  });
}
