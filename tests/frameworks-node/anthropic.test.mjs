// The Anthropic SDK: a loop of `messages.create`, and its tool runner, before a `fetch` that asks the script.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import * as imported from 'mcpool/adapters/anthropic';
import { battery } from './battery.mjs';
import { clientOf } from './models/anthropic.mjs';
import { call, turns, world } from './support.mjs';

const { run, runnerTools, tools } = imported;

const given = { model: 'claude', max_tokens: 100 };

battery('anthropic messages', {
  run: async (manager, script, { signal }) => {
    const client = clientOf(script);
    const messages = [{ role: 'user', content: 'go' }];
    for (;;) {
      const message = await client.messages.create({ ...given, messages, tools: tools(manager) }, { signal });
      if (message.stop_reason !== 'tool_use') return message.content[0].text;
      const content = await run(manager, message, { signal });
      messages.push({ role: 'assistant', content: message.content }, { role: 'user', content });
    }
  },
});

battery('anthropic toolRunner', {
  run: async (manager, script, { signal }) => {
    const messages = [{ role: 'user', content: 'go' }];
    const runner = clientOf(script).beta.messages.toolRunner(
      { ...given, messages, tools: runnerTools(manager) },
      { signal },
    );
    return (await runner).content[0].text;
  },
});

test('a runner is told of a changed list between two turns', async (t) => {
  const { manager, mcpServers } = await world(t);
  await manager.reload({ mcpServers: { ...mcpServers, b: mcpServers.a } });
  const offered = () => manager.getTools().map(({ name }) => name);
  const changed = async () => {
    await manager.reload({ mcpServers });
    return [call('echo', { text: 'a word' })];
  };
  const script = turns([call('change_tools', { name: 'fresh' })], changed, [call('fresh')], 'done');
  const tools = runnerTools(manager);
  const messages = [{ role: 'user', content: 'go' }];
  const runner = clientOf(script).beta.messages.toolRunner({ ...given, messages, tools });
  for await (const _ of runner) tools.refresh(runner);
  assert.ok(script.seen[0].tools.includes('mcp_b_echo'));
  assert.ok(script.seen[1].tools.includes('mcp_a_fresh'));
  assert.deepEqual(script.seen[2].tools.toSorted(), offered());
  assert.equal(script.seen[3].results[0].isError, false);
  assert.equal((await runner.done()).content[0].text, 'done');
});

test('a name that no tool has is answered', async (t) => {
  const { manager } = await world(t);
  const asked = { type: 'tool_use', id: 'call', name: 'mcp_a_ech', input: {} };
  const [result] = await run(manager, [{ type: 'text', text: 'hm' }, asked]);
  assert.equal(result.tool_use_id, 'call');
  assert.equal(result.is_error, true);
  assert.match(result.content[0].text, /MCP error: .*mcp_a_ech\b.*mcp_a_echo/);
});

test('what asks for nothing is answered by nothing', async (t) => {
  const { manager } = await world(t);
  for (const none of [undefined, null, 'x', 7, [], {}]) {
    assert.deepEqual(await run(manager, none), []);
    assert.deepEqual(await run(manager, { content: none }), []);
    assert.deepEqual(await run(manager, [none]), []);
  }
});

test('a call that names no tool is answered', async (t) => {
  const { manager } = await world(t);
  const [result] = await run(manager, [{ type: 'tool_use', id: 'call' }]);
  assert.deepEqual([result.tool_use_id, result.is_error], ['call', true]);
  assert.match(result.content[0].text, /MCP error: There is no tool ""/);
});

test('what is asked beside tools is left alone', async (t) => {
  const { manager } = await world(t);
  assert.deepEqual(await run(manager, [{ type: 'text', text: 'hm' }]), []);
  const script = turns([call('echo', { text: 'a' })], 'done');
  await clientOf(script).messages.create({ ...given, messages: [{ role: 'user', content: 'go' }] });
  assert.deepEqual(script.seen[0].tools, []);
});

test('require gives the same', () => {
  const required = createRequire(import.meta.url)('mcpool/adapters/anthropic');
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort());
});
