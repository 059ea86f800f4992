// An authorisation server on Better Auth, and a server that demands its tokens: better-auth.mjs PORT [OPTIONS].
// The options, as JSON: `seconds` that an access token lives. A refresh token that is used twice ends the login.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { verifyBearerToken } from '@better-auth/core/oauth2';
import { oauthProvider } from '@better-auth/oauth-provider';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { createAuthMiddleware } from 'better-auth/api';
import { toNodeHandler } from 'better-auth/node';
import { jwt } from 'better-auth/plugins';
import express from 'express';
import { scope, serveProtected } from './protected.mjs';

const port = Number(process.argv[2]);
const { seconds = 3600 } = JSON.parse(process.argv[3] ?? '{}');
const resource = `http://127.0.0.1:${port}/mcp`;

const app = express();
const listening = createServer(app).listen(0, '127.0.0.1');
await once(listening, 'listening');
const origin = `http://127.0.0.1:${listening.address().port}`;

/** How often each thing happened. */
const seen = {};
const note = (what) => {
  seen[what] = (seen[what] ?? 0) + 1;
};

const tables = ['user', 'session', 'account', 'verification', 'jwks', 'oauthClient', 'oauthRefreshToken'];
tables.push(
  'oauthAccessToken',
  'oauthConsent',
  'oauthResource',
  'oauthClientResource',
  'oauthClientAssertion',
);
const auth = betterAuth({
  baseURL: origin,
  secret: 'a secret of the tests that is long enough',
  database: memoryAdapter(Object.fromEntries(tables.map((table) => [table, []]))),
  emailAndPassword: { enabled: true },
  telemetry: { enabled: false },
  hooks: {
    after: createAuthMiddleware(async ({ path, body, context }) => {
      if (path === '/oauth2/register') note('registration');
      if (path === '/oauth2/revoke') note('revocation');
      const error = context.returned instanceof Error ? `: ${context.returned.body?.error}` : '';
      if (path === '/oauth2/token') note(`${body?.grant_type}${error}`);
    }),
  },
  plugins: [
    jwt(),
    oauthProvider({
      loginPage: '/login',
      consentPage: '/consent',
      scopes: ['openid', 'offline_access', scope],
      resources: [{ identifier: resource, accessTokenTtl: seconds }],
      clientRegistrationDefaultResources: [resource],
      allowDynamicClientRegistration: true,
      allowUnauthenticatedClientRegistration: true,
      accessTokenExpiresIn: seconds,
    }),
  ],
});
const person = { name: 'Ada', email: 'ada@example.org', password: 'a long password' };
const { user } = await auth.api.signUpEmail({ body: person });

/** A page with a form, whose fields go to an endpoint of Better Auth. */
function page(path, inputs, endpoint, bodyOf) {
  const html = `<form action="${path}" method="post">${inputs}<input type="hidden" name="oauth_query" value="`;
  app.get(path, (req, res) => {
    const query = req.originalUrl.split('?')[1].replaceAll('&', '&amp;');
    res.send(`${html}${query}"></form>`);
  });
  app.post(path, express.urlencoded(), async (req, res) => {
    const headers = { 'content-type': 'application/json', origin, cookie: req.headers.cookie ?? '' };
    const body = JSON.stringify({ ...bodyOf(req.body), oauth_query: req.body.oauth_query });
    const said = await fetch(`${origin}/api/auth${endpoint}`, { method: 'POST', headers, body });
    const { url, ...rest } = await said.json();
    for (const cookie of said.headers.getSetCookie()) res.append('set-cookie', cookie);
    if (url) res.redirect(url);
    else res.status(400).json(rest);
  });
}
const fields = '<input name="email"><input name="password" type="password">';
page('/login', fields, '/sign-in/email', ({ email, password }) => ({ email, password }));
page('/consent', '', '/oauth2/consent', () => ({ accept: true }));
app.all('/{*path}', toNodeHandler(auth));

const answer = await fetch(`${origin}/.well-known/oauth-authorization-server/api/auth`);
const oauthMetadata = await answer.json();

async function verify(token) {
  const { issuer, jwks_uri: jwksUrl } = oauthMetadata;
  const options = { jwksUrl, verifyOptions: { issuer, audience: resource } };
  const claims = await verifyBearerToken(token, options).catch((error) => {
    throw new InvalidTokenError(String(error.message));
  });
  const { azp: clientId, exp: expiresAt, sub } = claims;
  const name = sub === user.id ? 'ada' : sub;
  const scopes = claims.scope.split(' ');
  return { token, clientId, scopes, expiresAt, resource, extra: { sub: name } };
}

serveProtected({ port, oauthMetadata, verify, seen });
