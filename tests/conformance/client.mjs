// The Node client under test: signs in, lists the tools and calls one.
// Exits with 1 for an error of mcpool, and with 2 for any other.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const home = process.env.MCPOOL_NODE_PACKAGE ?? new URL('../..', import.meta.url).pathname;
const { Manager, McpoolError } = await import(pathToFileURL(join(home, 'node/dist/esm.mjs')).href);

// The suite expects this address. Nobody fetches it.
const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';
const toolName = 'test-tool';

/** What a user of this server would write under `auth`. */
function authSettings(scenario, context) {
  const settings = {
    clientMetadataUrl,
    clientId: context.client_id,
    clientSecret: context.client_secret,
    privateKey: context.private_key_pem,
    assertion: context.valid_jwt,
  };
  if (scenario.startsWith('auth/client-credentials-')) settings.grant = 'clientCredentials';
  if (scenario === 'auth/wif-jwt-bearer') settings.grant = 'jwtBearer';
  if (scenario === 'auth/enterprise-managed-authorization') {
    settings.grant = 'enterprise';
    settings.idp = {
      tokenEndpoint: context.idp_token_endpoint,
      clientId: context.idp_client_id,
      idToken: context.idp_id_token,
    };
  }
  return settings;
}

/** Plays the browser: the authorisation server of the suite asks nobody and redirects at once. */
async function signIn(prompt) {
  const page = await fetch(prompt.url, { redirect: 'manual' });
  return page.headers.get('location');
}

async function run(url) {
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
  const auth = authSettings(process.env.MCP_CONFORMANCE_SCENARIO, context);
  const manager = new Manager({ mcpServers: { test: { url, auth } } }, { onAuth: signIn, cacheDir: false });
  try {
    const report = await manager.connectAll();
    for (const error of Object.values(report.failed)) throw error;
    if (!manager.getTools().some((tool) => tool.rawName === toolName)) {
      throw new Error(`the catalog has no ${toolName}: ${manager.warnings}`);
    }
    const result = await manager.callTool('test', toolName, {});
    if (result.isError) throw new Error(`${toolName} failed: ${result.text}`);
  } finally {
    await manager.close();
  }
}

try {
  await run(process.argv.at(-1));
} catch (error) {
  const isRefusal = error instanceof McpoolError;
  console.error(isRefusal ? `${error.code}: ${error.message}` : error);
  process.exitCode = isRefusal ? 1 : 2;
}
