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

const STATUSES: Record<string, number> = { TOOL_REJECTED: 404, INVALID_ARGUMENTS: 400 };

/** Status and body of the response. */
async function answer(request: IncomingMessage, signal: AbortSignal): Promise<[number, unknown]> {
  const pathname = (request.url ?? '/').replace(/\?.*/, '');
  const name = /^\/tools\/([^/]+)$/.exec(pathname)?.[1];
  if (!name && pathname !== '/tools' && pathname !== '/health') return [404, { detail: 'Not Found' }];
  if (request.method !== (name ? 'POST' : 'GET')) return [405, { detail: 'Method Not Allowed' }];
  if (name) return [200, await call(name, request, signal)];
  if (pathname === '/tools') return [200, manager.getTools().map((tool) => tool.name)];
  return [200, Object.fromEntries(manager.status().map(({ name, state }) => [name, state]))];
}

const LARGEST_BODY = 1 << 20;

/** Ends the request with an error if its body is too large. */
async function* limited(request: IncomingMessage) {
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw new RangeError('The body is too large');
    yield chunk;
  }
}

/** Calls a tool by its name. */
async function call(name: string, request: IncomingMessage, signal: AbortSignal) {
  const sent = (await json(limited(request))) as Record<string, unknown>;
  const { text, structured, isError } = await manager.call(name, sent, { timeoutMs: 30_000, signal });
  return { text, structured: structured ?? null, isError };
}

/** Status and body after a failure. `String(error)` would leave out the hint. */
function failure(error: unknown): [number, unknown] {
  if (error instanceof McpoolError) {
    const { code, text, hint } = error;
    return [STATUSES[code] ?? 502, { code, message: text, hint: hint ?? null }];
  }
  if (error instanceof RangeError) return [413, { detail: error.message }];
  if (!(error instanceof SyntaxError)) return [500, { detail: 'Internal Server Error' }];
  return [400, { code: 'INVALID_ARGUMENTS', message: 'The body must be a JSON object', hint: null }];
}

const service = createServer(async (request, response) => {
  // A request that is aborted cancels the call.
  const aborted = new AbortController();
  response.once('close', () => aborted.abort());
  const [status, body] = await answer(request, aborted.signal).catch(failure);
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});

service.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
await once(service, 'listening');
console.log(`http://127.0.0.1:${(service.address() as AddressInfo).port}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // The requests under way are answered first.
  process.once(signal, () => service.close(() => manager.close()));
}
