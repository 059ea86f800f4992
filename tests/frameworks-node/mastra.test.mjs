// Mastra: its agent with its own mock of a model.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import * as imported from 'mcpool/adapters/mastra';
import { battery, call, turns, world } from './battery.mjs';
import { model } from './models/mastra.mjs';

const { liveTools, tools } = imported;

const agentOf = (script, tools) =>
  new Agent({ id: 'agent', name: 'agent', instructions: 'go', model: model(script), tools });

// Mastra writes schemas anew for the provider.
const keepsSchemas = false;

battery('mastra liveTools', {
  keepsSchemas,
  run: async (manager, script, { signal }) => {
    const given = { maxSteps: 10, abortSignal: signal, ...liveTools(manager) };
    return (await agentOf(script, {}).generate('go', given)).text;
  },
});

battery('mastra stream', {
  keepsSchemas,
  run: async (manager, script, { signal }) => {
    const given = { maxSteps: 10, abortSignal: signal, ...liveTools(manager) };
    const result = await agentOf(script, {}).stream('go', given);
    return result.text;
  },
});

battery('mastra tools', {
  keepsSchemas,
  list: 'run',
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
