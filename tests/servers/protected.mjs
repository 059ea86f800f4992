// A server on the official TypeScript SDK that demands a token: its tools, or those of a server behind it.
// `GET /seen` returns what the authorisation server has noted.
import { request } from 'node:http';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { z } from 'zod';

export const scope = 'mcp';

function createServer() {
  const server = new McpServer({ name: 'real', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  server.registerTool('who', {}, async ({ authInfo }) => ({
    content: [{ type: 'text', text: JSON.stringify(authInfo.extra) }],
  }));
  return server;
}

/** Answers without a session, as the SDK's example for servers without state does. */
async function answer(req, res) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  res.on('close', () => transport.close());
  await createServer().connect(transport);
  await transport.handleRequest(req, res);
}

/** Passes requests on to another server, without the token. */
const passOn = (upstream) => (req, res) => {
  const { authorization: _, host: __, ...headers } = req.headers;
  const passed = request(new URL(req.originalUrl, upstream), { method: req.method, headers }, (said) => {
    res.writeHead(said.statusCode, said.headers);
    said.pipe(res);
  });
  passed.on('error', () => res.destroy());
  res.on('close', () => passed.destroy());
  req.pipe(passed);
};

/**
 * Serves at the port. `verify` returns what the SDK wants to know about a token; `guard` takes the place of the SDK's own
 * check.
 */
export function serveProtected({ port, path = '/mcp', oauthMetadata, verify, guard, upstream, seen }) {
  const resource = new URL(`http://127.0.0.1:${port}${path}`);
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resource);
  const checked =
    guard?.(resource, resourceMetadataUrl) ??
    requireBearerAuth({
      verifier: { verifyAccessToken: verify },
      requiredScopes: [scope],
      resourceMetadataUrl,
      expectedResource: resource,
    });
  const app = express();
  app.get('/seen', (_, res) => res.json(seen));
  app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: resource, scopesSupported: [scope] }));
  if (upstream) app.use(checked, passOn(upstream));
  else {
    app.post(path, checked, answer);
    app.all(path, checked, (_, res) => res.status(405).end());
  }
  app.listen(port, '127.0.0.1');
}
