// LangChain: `createAgent` with a chat model of our own that asks the script.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent, humanInTheLoopMiddleware, tool } from 'langchain';
import * as imported from 'mcpool/adapters/langchain';
import { battery } from './battery.mjs';
import { Scripted } from './models/langchain.mjs';
import { call, turns, world } from './support.mjs';

const { interruptOn, liveTools, tools } = imported;

const messages = [new HumanMessage('go')];
const lastText = (state) => state.messages.at(-1).content;

battery('langchain liveTools', {
  run: async (manager, script, { signal }) => {
    const agent = createAgent({ model: new Scripted(script), middleware: [liveTools(manager)] });
    return lastText(await agent.invoke({ messages }, { signal }));
  },
});

battery('langchain tools', {
  run: async (manager, script, { signal }) => {
    const agent = createAgent({ model: new Scripted(script), tools: tools(manager) });
    return lastText(await agent.invoke({ messages }, { signal }));
  },
});

test('a call’s message has the record of the call, with its structured result', async (t) => {
  const { manager } = await world(t);
  const script = turns([call('add', { a: 2, b: 3 })], 'done');
  const agent = createAgent({ model: new Scripted(script), tools: tools(manager) });
  const state = await agent.invoke({ messages });
  const { artifact } = state.messages.find((message) => ToolMessage.isInstance(message));
  assert.deepEqual(artifact.structured, { sum: 5 });
  assert.equal(artifact.server, 'a');
  assert.equal(artifact.tool, 'add');
});

test('a tool is called by a program too', async (t) => {
  const { manager } = await world(t);
  const echo = tools(manager).find(({ name }) => name === 'mcp_a_echo');
  assert.match(await echo.invoke({ text: 'a word' }), /a word/);
});

test('own tools stand beside the manager’s', async (t) => {
  const { manager } = await world(t);
  const mine = tool(async () => 'my own word', {
    name: 'mine',
    description: 'mine',
    schema: { type: 'object', properties: {} },
  });
  const script = turns([{ name: 'mine', args: {} }, call('echo', { text: 'a word' })], 'done');
  const agent = createAgent({
    model: new Scripted(script),
    tools: [mine],
    middleware: [liveTools(manager)],
  });
  assert.equal(lastText(await agent.invoke({ messages })), 'done');
  const [first, second] = script.seen[1].results;
  assert.match(first.text, /my own word/);
  assert.match(second.text, /a word/);
});

test('a tool that requires approval waits for a person', async (t) => {
  const { manager, happened } = await world(t);
  const script = turns([call('count')], 'done');
  const asks = humanInTheLoopMiddleware({ interruptOn: interruptOn(manager) });
  const agent = createAgent({
    model: new Scripted(script),
    middleware: [asks, liveTools(manager)],
    checkpointer: new MemorySaver(),
  });
  const state = await agent.invoke({ messages }, { configurable: { thread_id: '1' } });
  assert.equal(state.__interrupt__.length, 1);
  assert.equal(happened('ran').length, 0);
});

test('a run goes on from a saved state in another agent', async (t) => {
  const { manager, happened } = await world(t);
  const checkpointer = new MemorySaver();
  const script = turns([call('count')], 'done');
  const agent = () =>
    createAgent({
      model: new Scripted(script),
      middleware: [humanInTheLoopMiddleware({ interruptOn: interruptOn(manager) }), liveTools(manager)],
      checkpointer,
    });
  const config = { configurable: { thread_id: '1' } };
  await agent().invoke({ messages }, config);
  const resume = { decisions: [{ type: 'approve' }] };
  assert.equal(lastText(await agent().invoke(new Command({ resume }), config)), 'done');
  assert.equal(happened('ran').length, 1);
});

test('require gives the same', () => {
  const required = createRequire(import.meta.url)('mcpool/adapters/langchain');
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort());
});

test('a program of CommonJS meets its own copy of LangChain', async (t) => {
  const require = createRequire(import.meta.url);
  const { manager } = await world(t);
  const [made] = require('mcpool/adapters/langchain').tools(manager);
  assert.ok(made instanceof require('@langchain/core/tools').DynamicStructuredTool);
  assert.ok(
    imported.tools(manager)[0] instanceof (await import('@langchain/core/tools')).DynamicStructuredTool,
  );
});
