// An authorisation server on `oidc-provider`, and a server that demands its tokens: oidc.mjs PORT [OPTIONS].
// The options, as JSON: `seconds` that an access token lives, `dpop` for tokens that are bound to a key, the address of a
// server behind this one (`upstream`) and its `path`.
import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import express from 'express';
import { allowInsecureRequests, clockTolerance, validateJwtAccessToken } from 'oauth4webapi';
import { Provider } from 'oidc-provider';
import { scope, serveProtected } from './protected.mjs';

const port = Number(process.argv[2]);
const { seconds = 3600, dpop = false, upstream, path } = JSON.parse(process.argv[3] ?? '{}');

const key = createPublicKey(readFileSync(new URL('../certs/client.key', import.meta.url)));
const machine = { grant_types: ['client_credentials'], response_types: [], redirect_uris: [] };
const device = 'urn:ietf:params:oauth:grant-type:device_code';
const clients = [
  { ...machine, client_id: 'machine', client_secret: 'the secret: of a+machine/%' },
  {
    ...machine,
    client_id: 'signing-machine',
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    jwks: { keys: [key.export({ format: 'jwk' })] },
  },
  {
    ...machine,
    client_id: 'television',
    client_secret: 'television',
    grant_types: [device, 'refresh_token'],
  },
  { ...machine, client_id: 'resource', client_secret: 'resource' },
];

// The authorisation server has an origin of its own, and a path.
const app = express();
const listening = app.listen(0, '127.0.0.1');
await once(listening, 'listening');
const origin = `http://127.0.0.1:${listening.address().port}`;
const provider = new Provider(`${origin}/oidc`, {
  clients,
  scopes: ['openid', 'offline_access', scope],
  cookies: { keys: ['a key of the tests'] },
  clientAuthMethods: ['none', 'client_secret_basic', 'private_key_jwt'],
  features: {
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 'n'), requireNonce: () => dpop },
    introspection: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, audience) => ({
        scope,
        audience,
        accessTokenTTL: seconds,
        accessTokenFormat: dpop ? 'jwt' : 'opaque',
      }),
    },
  },
});
app.use('/oidc', provider.callback());

/** How often each thing happened. */
const seen = {};
const note = (what) => {
  seen[what] = (seen[what] ?? 0) + 1;
};
provider.on('grant.success', (ctx) => note(ctx.oidc.params.grant_type));
provider.on('grant.error', (ctx, error) => note(`${ctx.oidc.params?.grant_type}: ${error.message}`));
provider.on('registration_create.success', () => note('registration'));
provider.on('grant.revoked', () => note('revocation'));

const answer = await fetch(`${origin}/oidc/.well-known/openid-configuration`);
const oauthMetadata = await answer.json();

/** Asks the authorisation server about a token. */
async function verify(token) {
  const { href } = new URL(oauthMetadata.introspection_endpoint);
  const authorization = `Basic ${btoa('resource:resource')}`;
  const body = new URLSearchParams({ token });
  const said = await (await fetch(href, { method: 'POST', headers: { authorization }, body })).json();
  if (!said.active) throw new InvalidTokenError('The token is not active');
  const { client_id: clientId, exp: expiresAt, aud, sub } = said;
  return { token, clientId, scopes: said.scope.split(' '), expiresAt, resource: aud, extra: { sub } };
}

/** Checks a signed token and the proof that comes with it. */
const guard = (resource, resourceMetadataUrl) => async (req, res, next) => {
  const request = new Request(new URL(req.originalUrl, resource), {
    method: req.method,
    headers: req.headers,
  });
  const options = { requireDPoP: true, [allowInsecureRequests]: true, [clockTolerance]: 0 };
  try {
    const claims = await validateJwtAccessToken(oauthMetadata, request, resource.href, options);
    req.auth = {
      token: '',
      clientId: claims.client_id,
      scopes: [scope],
      extra: { sub: claims.sub, cnf: claims.cnf },
    };
  } catch (error) {
    note(`guard: ${error.message}`);
    const challenge = `DPoP algs="ES256", scope="${scope}", resource_metadata="${resourceMetadataUrl}"`;
    return res.set('WWW-Authenticate', challenge).status(401).end();
  }
  return next();
};

serveProtected({ port, path, oauthMetadata, verify, guard: dpop ? guard : undefined, upstream, seen });
