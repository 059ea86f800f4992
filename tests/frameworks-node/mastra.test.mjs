// Mastra: its agent with its own mock of a model.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import * as imported from 'mcpool/adapters/mastra';
import { battery } from './battery.mjs';
import { model } from './models/mastra.mjs';
import { call, manage, turns, world } from './support.mjs';

const { liveTools, tools } = imported;

const agentOf = (script, tools) =>
  new Agent({ id: 'agent', name: 'agent', instructions: 'go', model: model(script), tools });

// Mastra writes schemas of properties that say nothing anew.
const keepsSchemas = false;
// It keeps names for itself, whose arguments are given in another one.
const written = (name, { resumeData, ...args }) =>
  name === 'reserved' ? { ...args, further_arguments: JSON.stringify({ resumeData }) } : args;

battery('mastra liveTools', {
  ...{ keepsSchemas, written },
  run: async (manager, script, { signal }) => {
    const given = { maxSteps: 10, abortSignal: signal, ...liveTools(manager) };
    return (await agentOf(script, {}).generate('go', given)).text;
  },
});

battery('mastra stream', {
  ...{ keepsSchemas, written },
  run: async (manager, script, { signal }) => {
    const given = { maxSteps: 10, abortSignal: signal, ...liveTools(manager) };
    const result = await agentOf(script, {}).stream('go', given);
    return result.text;
  },
});

battery('mastra tools', {
  ...{ keepsSchemas, written },
  run: async (manager, script, { signal }) => {
    const agent = agentOf(script, () => tools(manager));
    return (await agent.generate('go', { maxSteps: 10, abortSignal: signal })).text;
  },
});

test('the program gets the record of a call, with its structured result', async (t) => {
  const { manager } = await world(t);
  const script = turns([call('add', { a: 2, b: 3 })], 'done');
  const { toolResults, steps } = await agentOf(script, tools(manager)).generate('go', { maxSteps: 10 });
  const [{ payload }] = steps[0]?.toolResults ?? toolResults;
  assert.deepEqual(payload.result.structured, { sum: 5 });
  assert.equal(payload.result.server, 'a');
  assert.equal(payload.result.tool, 'add');
});

test('a prepareStep of the program works beside the live tools', async (t) => {
  const { manager } = await world(t);
  const steps = [];
  const prepareStep = async ({ stepNumber, tools }) => {
    steps.push([stepNumber, Object.hasOwn(tools, 'mcp_a_fresh')]);
    return stepNumber === 0 ? { activeTools: ['mcp_a_change_tools'] } : undefined;
  };
  const script = turns([call('change_tools', { name: 'fresh' })], [call('fresh')], 'done');
  const given = { maxSteps: 10, ...liveTools(manager, { prepareStep }) };
  assert.equal((await agentOf(script, {}).generate('go', given)).text, 'done');
  assert.deepEqual(steps, [
    [0, false],
    [1, true],
    [2, true],
  ]);
  assert.deepEqual(script.seen[0].tools, ['mcp_a_change_tools']);
  assert.ok(script.seen[1].tools.includes('mcp_a_fresh'));
});

test('arguments that Mastra keeps for itself reach the server, with a warning', async (t) => {
  const odd = fileURLToPath(new URL('odd-server.mjs', import.meta.url));
  const naming = (_server, tool) => `mcp_a_${tool}_${process.pid}`;
  const manager = manage(t, { a: { command: process.execPath, args: [odd] } }, { naming });
  await manager.connectAll();
  const warnings = [];
  process.on('warning', (warning) => warnings.push(warning));
  const name = `mcp_a_reserved_${process.pid}`;
  const asked = ['{"resumeData":{"a":1}}', '{"resumeData":', '[1]', '7', { resumeData: { a: 2 } }];
  const calls = asked.map((further_arguments) => ({ name, args: { word: 'b', further_arguments } }));
  const script = turns([...calls, { name, args: { word: 'c' } }], 'done');
  await agentOf(script, tools(manager)).generate('go', { maxSteps: 10 });
  const [given, cut, list, number, object, none] = script.seen[1].results.map(({ text }) => text);
  assert.match(given, /reserved got {"resumeData":{"a":1},"word":"b"}/);
  for (const text of [cut, list, number]) assert.match(text, /MCP error/);
  assert.match(object, /reserved got {"resumeData":{"a":2},"word":"b"}/);
  assert.match(none, /reserved got {"word":"c"}/);
  const schema = script.seen[0].schemas[script.seen[0].tools.indexOf(name)];
  assert.deepEqual(Object.keys(schema.properties), ['word', 'further_arguments']);
  assert.deepEqual(schema.required, ['further_arguments']);
  assert.equal(warnings.filter(({ code }) => code === 'MCPOOL_RESERVED_ARGUMENTS').length, 1);
  assert.match(warnings[0].message, /"resumeData".*further_arguments/);
});

test('long numbers in such arguments stay exact, and what two readers may read differently is refused', async (t) => {
  const odd = fileURLToPath(new URL('odd-server.mjs', import.meta.url));
  const manager = manage(t, { a: { command: process.execPath, args: [odd] } });
  await manager.connectAll();
  const sent = async (further_arguments) => {
    const args = { word: 'b', further_arguments };
    const script = turns([{ name: 'mcp_a_reserved', args }], 'done');
    await agentOf(script, tools(manager)).generate('go', { maxSteps: 10 });
    return script.seen[1].results[0].text;
  };
  const exact = '{"resumeData":12345678901234567890}';
  assert.match(await sent(exact), /"arguments":{"resumeData":12345678901234567890,"word":"b"}/);
  for (const none of ['{ }', '', 'null']) assert.match(await sent(none), /reserved got {"word":"b"}/);
  for (const text of ['{"resumeData":1,"resumeData":2}', '{"word":"a"}', '{"resumeData":1e999}']) {
    assert.match(await sent(text), /MCP error/, text);
  }
});

test('a tool that requires approval waits for it', async (t) => {
  const { manager, happened } = await world(t);
  const script = turns([call('count')], 'done');
  const agent = agentOf(script, tools(manager, { needsApproval: true }));
  const mastra = new Mastra({ agents: { agent }, storage: new InMemoryStore(), logger: false });
  const asked = await mastra.getAgent('agent').generate('go', { maxSteps: 10 });
  assert.equal(asked.finishReason, 'suspended');
  assert.equal(happened('ran').length, 0);
  const { toolCallId } = asked.suspendPayload;
  const result = await agent.approveToolCallGenerate({ runId: asked.runId, toolCallId });
  assert.equal(result.text, 'done');
  assert.equal(happened('ran').length, 1);
});

test('require gives the same', () => {
  const required = createRequire(import.meta.url)('mcpool/adapters/mastra');
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort());
});
