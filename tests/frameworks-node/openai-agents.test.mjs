// The OpenAI Agents SDK: its runner with a model that asks the script.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Agent, Runner } from '@openai/agents';
import * as imported from 'mcpool/adapters/openai-agents';
import { battery } from './battery.mjs';
import { model } from './models/openai-agents.mjs';
import { call, turns, world } from './support.mjs';

const { server, tools } = imported;

async function loop(given, script, options) {
  const agent = new Agent({ name: 'agent', instructions: 'go', model: model(script), ...given });
  const runner = new Runner({ tracingDisabled: true });
  return runner.run(agent, 'go', options);
}

// The SDK fills in what a server's schemas leave open.
battery('openai-agents server', {
  keepsSchemas: false,
  run: async (manager, script, { signal }) =>
    (await loop({ mcpServers: [server(manager)] }, script, { signal })).finalOutput,
});

battery('openai-agents tools', {
  run: async (manager, script, { signal }) =>
    (await loop({ tools: tools(manager) }, script, { signal })).finalOutput,
});

test('a server has the whole result for the program', async (t) => {
  const { manager } = await world(t);
  const pool = server(manager);
  const result = await pool.callToolResult('mcp_a_add', { a: 2, b: 3 });
  assert.deepEqual(result.structuredContent, { sum: 5 });
  assert.equal(result.isError, false);
  const failed = await pool.callTool('mcp_a_fail', { message: 'out of paper' });
  assert.equal(failed.isError, true);
  assert.deepEqual(Object.keys(failed), ['0']);
});

test('the SDK’s own settings of a server are kept', async (t) => {
  const { manager } = await world(t);
  const seen = [];
  const customDataExtractor = ({ structuredContent }) => {
    seen.push(structuredContent);
    return {};
  };
  const pool = server(manager, { name: 'mine', customDataExtractor });
  assert.equal(pool.name, 'mine');
  const script = turns([call('add', { a: 2, b: 3 })], 'done');
  await loop({ mcpServers: [pool] }, script);
  assert.deepEqual(seen, [{ sum: 5 }]);
});

test('connect connects the manager, close leaves it alone', async (t) => {
  const { manager } = await world(t);
  await manager.disconnectAll();
  const pool = server(manager);
  await pool.connect();
  await pool.close();
  const { content } = await pool.callToolResult('mcp_a_echo', { text: 'a word' });
  assert.match(content[0].text, /a word/);
});

test('a tool that requires approval interrupts the run until it is given', async (t) => {
  const { manager, happened } = await world(t);
  const script = turns([call('count')], 'done');
  const agent = new Agent({
    name: 'agent',
    model: model(script),
    tools: tools(manager, { needsApproval: true }),
  });
  const runner = new Runner({ tracingDisabled: true });
  const result = await runner.run(agent, 'go');
  assert.equal(result.interruptions.length, 1);
  assert.equal(happened('ran').length, 0);
  result.state.approve(result.interruptions[0]);
  assert.equal((await runner.run(agent, result.state)).finalOutput, 'done');
  assert.equal(happened('ran').length, 1);
});

test('require gives the same', () => {
  const required = createRequire(import.meta.url)('mcpool/adapters/openai-agents');
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort());
});
