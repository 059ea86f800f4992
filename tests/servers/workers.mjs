// Cloudflare's library for workers, as authorisation server and as what demands its tokens, with the TypeScript SDK behind
// it: workers.mjs PORT [OPTIONS]. The options, as JSON: `seconds` that an access token lives.
// It runs without the workers' own runtime, which needs a newer Node: the store is a map here.
import { createServer } from 'node:http';
import { register } from 'node:module';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { z } from 'zod';

const port = Number(process.argv[2]);
const { seconds = 3600 } = JSON.parse(process.argv[3] ?? '{}');
const origin = `http://127.0.0.1:${port}`;

const runtime = 'data:text/javascript,export class WorkerEntrypoint {}';
const hook = `export const resolve = (name, context, next) =>
  name === 'cloudflare:workers' ? { url: ${JSON.stringify(runtime)}, shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
const { OAuthProvider } = await import('@cloudflare/workers-oauth-provider');

/** A store that forgets what has expired. */
class Store {
  #entries = new Map();

  async get(key, { type } = {}) {
    const { value, until } = this.#entries.get(key) ?? {};
    if (value === undefined || until <= Date.now()) return null;
    return type === 'json' ? JSON.parse(value) : value;
  }

  async put(key, value, { expirationTtl = Number.POSITIVE_INFINITY } = {}) {
    // The library lets access tokens live for a minute at least.
    const ttl = key.startsWith('token:') ? seconds : expirationTtl;
    this.#entries.set(key, { value, until: Date.now() + ttl * 1000 });
  }

  async delete(key) {
    this.#entries.delete(key);
  }

  async list({ prefix = '' } = {}) {
    const names = [...this.#entries.keys()].filter((name) => name.startsWith(prefix));
    return { keys: names.map((name) => ({ name })), list_complete: true };
  }
}

const text = (it) => ({ content: [{ type: 'text', text: it }] });

/** The server behind the library's check. */
async function answer(request, _env, { props }) {
  const server = new McpServer({ name: 'real', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async (given) => text(given.text));
  server.registerTool('who', {}, async () => text(JSON.stringify(props)));
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  return transport.handleRequest(request);
}

/** The page that asks a person. */
async function authorize(request, { OAUTH_PROVIDER: oauth }) {
  if (request.method === 'GET') {
    const { headers, handle } = await oauth.beginConsent(await oauth.parseAuthRequest(request));
    headers.set('content-type', 'text/html');
    const page = `<form method="post"><input type="hidden" name="handle" value="${handle}"></form>`;
    return new Response(page, { headers });
  }
  const form = await request.formData();
  const { request: asked, headers } = await oauth.approveConsent(request, String(form.get('handle')), {});
  const props = { sub: 'ada' };
  const about = { userId: 'ada', metadata: {}, scope: asked.scope, props };
  const { redirectTo } = await oauth.completeAuthorization({ request: asked, ...about });
  headers.set('location', redirectTo);
  return new Response(null, { status: 302, headers });
}

const provider = new OAuthProvider({
  apiRoute: '/mcp',
  apiHandler: { fetch: answer },
  defaultHandler: { fetch: authorize },
  authorizeEndpoint: '/authorize',
  tokenEndpoint: '/oauth/token',
  clientRegistrationEndpoint: '/oauth/register',
  scopesSupported: ['mcp', 'offline_access'],
  requiredScopes: ['mcp'],
  resourceMetadata: { resource: `${origin}/mcp`, authorization_servers: [origin] },
});
const env = { OAUTH_KV: new Store() };

/** How often each thing happened. */
const seen = {};
function note(path, body, status) {
  const sent = new URLSearchParams(body);
  const revokes = sent.has('token') ? 'revocation' : sent.get('grant_type');
  const what = { '/oauth/register': 'registration', '/oauth/token': revokes }[path];
  const name = status < 400 ? what : `${what}: ${status}`;
  if (what) seen[name] = (seen[name] ?? 0) + 1;
}

createServer(async (incoming, outgoing) => {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const { method, headers, url } = incoming;
  if (url === '/seen') return outgoing.end(JSON.stringify(seen));
  const body = method === 'POST' ? Buffer.concat(chunks) : undefined;
  const ctx = { waitUntil: () => {}, passThroughOnException: () => {} };
  const response = await provider.fetch(new Request(`${origin}${url}`, { method, headers, body }), env, ctx);
  note(url, body?.toString(), response.status);
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value);
  outgoing.writeHead(response.status);
  if (response.body) for await (const chunk of response.body) outgoing.write(chunk);
  return outgoing.end();
}).listen(port, '127.0.0.1');
