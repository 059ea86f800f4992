// The Node client under test: one function for each scenario, which does what the suite expects.
// Exits with 1 for an error of mcpool, and with 2 for any other.
import { deepStrictEqual } from 'node:assert';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const home = process.env.MCPOOL_NODE_PACKAGE ?? new URL('../..', import.meta.url).pathname;
const { Manager, McpoolError } = await import(pathToFileURL(join(home, 'node/dist/esm.mjs')).href);

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
// The version that a client and a server of the suite agree on by themselves
const negotiatedVersion = '2025-11-25';
// The first version without a handshake. Some servers of the suite would also speak an older one.
const statelessVersion = '2026-07-28';
// The suite expects this address. Nobody fetches it.
const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';

/** Connects to the suite's server and uses it. */
async function connected({ auth, ...options }, use) {
  const protocol = version === negotiatedVersion ? undefined : version;
  const config = { mcpServers: { test: { url, auth, protocol } } };
  const manager = new Manager(config, { cacheDir: false, ...options });
  try {
    const report = await manager.connectAll();
    for (const error of Object.values(report.failed)) throw error;
    if (version === statelessVersion) deepStrictEqual(manager.status('test').protocolVersion, version);
    return await use(manager);
  } finally {
    await manager.close();
  }
}

const toolNames = (manager) => manager.getTools().map((tool) => tool.rawName);

/** Calls a tool that the catalog has, and returns the text of its result. */
async function call(manager, tool, args = {}) {
  if (!toolNames(manager).includes(tool)) throw new Error(`the catalog has no ${tool}: ${manager.warnings}`);
  const result = await manager.callTool('test', tool, args);
  if (result.isError) throw new Error(`${tool} failed: ${result.text}`);
  return result.text;
}

const initialize = () => connected({}, (manager) => deepStrictEqual(toolNames(manager), []));

const toolsCall = () =>
  connected({}, async (manager) => {
    deepStrictEqual(await call(manager, 'add_numbers', { a: 5, b: 3 }), 'The sum of 5 and 3 is 8');
  });

async function elicitationDefaults() {
  const defaults = { name: 'John Doe', age: 30, score: 95.5, status: 'active', verified: true };
  const onElicitation = () => ({ action: 'accept', content: {} });
  const said = await connected({ onElicitation }, (manager) =>
    call(manager, 'test_client_elicitation_defaults'),
  );
  deepStrictEqual(JSON.parse(said.replace('Elicitation completed: ', '')), defaults);
}

const sseRetry = () =>
  connected({}, async (manager) => {
    deepStrictEqual(await call(manager, 'test_reconnection'), 'Reconnection test completed successfully');
  });

/** Offers everything that a client can offer: the suite skips checks of what is not there. */
function requestMetadata() {
  const offers = {
    onElicitation: () => ({ action: 'decline' }),
    onSampling: () => null,
    roots: ['/tmp'],
  };
  return connected(offers, (manager) => deepStrictEqual(toolNames(manager), []));
}

function requestState() {
  let ask, answer;
  const asked = new Promise((resolve) => {
    ask = resolve;
  });
  const answered = new Promise((resolve) => {
    answer = resolve;
  });
  const onElicitation = async () => {
    ask();
    await answered;
    return { action: 'accept', content: { confirmed: true } };
  };
  return connected({ onElicitation }, async (manager) => {
    const echo = call(manager, 'test_mrtr_echo_state');
    await Promise.race([echo, asked]);
    // While the question of the first tool is open: its state belongs to no other call.
    deepStrictEqual(await call(manager, 'test_mrtr_unrelated'), 'unrelated-ok');
    answer();
    deepStrictEqual(await echo, 'echo-state-ok');
    deepStrictEqual(await call(manager, 'test_mrtr_no_state'), 'no-state-ok');
    deepStrictEqual(await call(manager, 'test_mrtr_no_result_type'), 'no-result-type-test-ok');
  });
}

const standardHeaders = () =>
  connected({}, async (manager) => {
    for (const tool of ['test_headers', 'my-hyphenated-tool']) await call(manager, tool);
    for (const resource of await manager.listResources('test')) {
      await manager.readResource('test', resource.uri);
    }
    for (const prompt of await manager.listPrompts('test')) await manager.getPrompt('test', prompt.name, {});
  });

const customHeaders = () =>
  connected({}, async (manager) => {
    for (const wanted of context.toolCalls) await call(manager, wanted.name, wanted.arguments);
  });

/** Calls all that is offered: tools with invalid headers must not be. */
const invalidToolHeaders = () =>
  connected({}, async (manager) => {
    for (const tool of manager.getTools()) {
      const names = Object.keys(tool.inputSchema.properties);
      await call(manager, tool.rawName, Object.fromEntries(names.map((name) => [name, 'eu'])));
    }
    deepStrictEqual(toolNames(manager), ['valid_tool']);
  });

const refNoDeref = () => connected({}, (manager) => deepStrictEqual(toolNames(manager), ['lookup_user']));

const schemaPreservation = () =>
  connected({}, (manager) => {
    const tool = manager.getTools().find((tool) => tool.rawName === 'json_schema_2020_12_tool');
    return call(manager, 'json_schema_echo', { schema: tool.inputSchema });
  });

async function listSkills(manager) {
  const names = (await manager.listSkills('test')).map((skill) => skill.name);
  deepStrictEqual(names, ['pdf-processing']);
}

const skillsNoPrefetch = () => connected({}, listSkills);

/** Loads a skill that was tampered with. If it is not refused, goes on like somebody who trusts it. */
const skillsVerify = () =>
  connected({}, async (manager) => {
    await listSkills(manager);
    await manager.readSkill('test', 'pdf-processing');
    await manager.readResource('test', 'skill://pdf-processing/references/FORMS.md');
    throw new Error('the skill was not refused');
  });

/** What a user of this server would write under `auth`. */
function authSettings() {
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
async function onAuth(prompt) {
  const page = await fetch(prompt.url, { redirect: 'manual' });
  return page.headers.get('location');
}

const authorize = () =>
  connected({ auth: authSettings(), onAuth }, async (manager) => {
    deepStrictEqual(await call(manager, 'test-tool'), 'test');
  });

const scenarios = {
  initialize,
  tools_call: toolsCall,
  'elicitation-sep1034-client-defaults': elicitationDefaults,
  'sse-retry': sseRetry,
  'request-metadata': requestMetadata,
  'sep-2322-client-request-state': requestState,
  'http-standard-headers': standardHeaders,
  'http-custom-headers': customHeaders,
  'http-invalid-tool-headers': invalidToolHeaders,
  'json-schema-ref-no-deref': refNoDeref,
  'json-schema-2020-12-preservation': schemaPreservation,
  'sep-2640-client-no-prefetch': skillsNoPrefetch,
  'sep-2640-client-verify-digest': skillsVerify,
  'sep-2640-client-verify-size': skillsVerify,
  'sep-2640-client-verify-frontmatter': skillsVerify,
};

try {
  await (scenario.startsWith('auth/') ? authorize() : scenarios[scenario]());
} catch (error) {
  const isRefusal = error instanceof McpoolError;
  console.error(isRefusal ? `${error.code}: ${error.message}` : error);
  process.exitCode = isRefusal ? 1 : 2;
}
