// The AI SDK: `generateText`, `streamText` and `ToolLoopAgent` with its own mock of a model.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { generateText, stepCountIs, streamText, ToolLoopAgent } from 'ai';
import * as imported from 'mcpool/adapters/ai-sdk';
import { battery } from './battery.mjs';
import { model } from './models/ai-sdk.mjs';
import { call, turns, world } from './support.mjs';

const { liveTools, tools } = imported;

const stopWhen = stepCountIs(10);

battery('ai-sdk generateText', {
  run: async (manager, script, { signal }) => {
    const given = { model: model(script), prompt: 'go', stopWhen, abortSignal: signal };
    return (await generateText({ ...given, ...liveTools(manager) })).text;
  },
});

battery('ai-sdk streamText', {
  run: async (manager, script, { signal }) => {
    const given = { model: model(script), prompt: 'go', stopWhen, abortSignal: signal, onError() {} };
    const result = streamText({ ...given, ...liveTools(manager) });
    let text = '';
    for await (const chunk of result.textStream) text += chunk;
    return text;
  },
});

battery('ai-sdk ToolLoopAgent', {
  run: async (manager, script, { signal }) => {
    const agent = new ToolLoopAgent({ model: model(script), stopWhen, ...liveTools(manager) });
    return (await agent.generate({ prompt: 'go', abortSignal: signal })).text;
  },
});

test('the program gets the record of a call, with its structured result', async (t) => {
  const { manager } = await world(t);
  const script = turns([call('add', { a: 2, b: 3 })], 'done');
  const result = await generateText({ model: model(script), prompt: 'go', stopWhen, tools: tools(manager) });
  const [{ output, dynamic }] = result.steps[0].toolResults;
  assert.equal(dynamic, true);
  assert.deepEqual(output.structured, { sum: 5 });
  assert.equal(output.server, 'a');
  assert.equal(output.tool, 'add');
  assert.deepEqual(JSON.parse(JSON.stringify(output)), output);
});

test('own tools stand beside the manager’s, and win', async (t) => {
  const { manager } = await world(t);
  const own = {
    mcp_a_echo: { ...tools(manager).mcp_a_pid, description: 'mine' },
    mine: tools(manager).mcp_a_pid,
  };
  const { tools: live } = liveTools(manager, { own });
  assert.equal(live.mcp_a_echo.description, 'mine');
  assert.equal(Object.keys(live).length, manager.getTools().length + 1);
});

const changing = () => turns([call('change_tools', { name: 'fresh' })], [call('fresh')], 'done');

test('a prepareStep of the program works beside the live tools', async (t) => {
  const { manager } = await world(t);
  const steps = [];
  const prepareStep = async ({ stepNumber }) => {
    steps.push(stepNumber);
    return stepNumber === 0 ? { activeTools: ['mcp_a_change_tools'] } : undefined;
  };
  const script = changing();
  const given = { model: model(script), prompt: 'go', stopWhen };
  assert.equal((await generateText({ ...given, ...liveTools(manager, { prepareStep }) })).text, 'done');
  assert.deepEqual(steps, [0, 1, 2]);
  assert.deepEqual(script.seen[0].tools, ['mcp_a_change_tools']);
  assert.ok(script.seen[1].tools.includes('mcp_a_fresh'));
});

test('live tools follow the list also where another prepareStep takes their place', async (t) => {
  const { manager } = await world(t);
  for (const run of [generateText, (given) => new ToolLoopAgent(given).generate({ prompt: 'go' })]) {
    const script = changing();
    const given = { model: model(script), stopWhen, ...liveTools(manager), prepareStep: () => ({}) };
    await run(run === generateText ? { ...given, prompt: 'go' } : given);
    assert.ok(script.seen[1].tools.includes('mcp_a_fresh'));
  }
});

test('a tool that requires approval waits for it', async (t) => {
  const { manager, happened } = await world(t);
  const script = turns([call('count')], 'done');
  const given = { model: model(script), stopWhen, tools: tools(manager, { needsApproval: true }) };
  const prompt = { role: 'user', content: 'go' };
  const asked = await generateText({ ...given, messages: [prompt] });
  const request = asked.content.find(({ type }) => type === 'tool-approval-request');
  assert.equal(request.toolCall.toolName, 'mcp_a_count');
  assert.equal(happened('ran').length, 0);
  const answer = { type: 'tool-approval-response', approvalId: request.approvalId, approved: true };
  const messages = [prompt, ...asked.response.messages, { role: 'tool', content: [answer] }];
  const result = await generateText({ ...given, messages });
  assert.equal(result.text, 'done');
  assert.equal(happened('ran').length, 1);
});

test('require gives the same', () => {
  const required = createRequire(import.meta.url)('mcpool/adapters/ai-sdk');
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort());
});
