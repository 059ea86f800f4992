// An HTTP service with `node:http`. One manager lives as long as the service, and all requests share its connections.
// `node examples/http_server.mjs` starts it on a free port; `PORT` names another.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Manager, McpoolError } from 'mcpool';

const manager = new Manager({
  mcpServers: { demo: { command: 'npx', args: ['--no', 'mcpool', 'demo-server'] } },
});
await manager.connectAll();

async function answer(request) {
  const [, first, name] = request.url.split('/');
  if (first === 'health') return manager.status().map(({ name, state }) => ({ name, state }));
  if (first !== 'tools') return undefined;
  if (request.method !== 'POST') return manager.getTools().map((tool) => tool.name);
  const { text, structured, isError } = await manager.call(name, await json(request), { timeoutMs: 30_000 });
  return { text, structured, isError };
}

const service = createServer(async (request, response) => {
  const send = (status, body) => response.writeHead(status).end(JSON.stringify(body));
  try {
    const body = await answer(request);
    send(body === undefined ? 404 : 200, body ?? 'not found');
  } catch (error) {
    const { code, message } = error;
    send(error instanceof McpoolError ? 502 : 400, { code, message });
  }
});

service.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
await once(service, 'listening');
console.log(`http://127.0.0.1:${service.address().port}`);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    service.close();
    await manager.close();
  });
}
