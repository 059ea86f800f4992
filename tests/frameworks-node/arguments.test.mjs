// Hazard: arguments as models and providers really write them break the loop, or reach the server changed. The core decides
// what they mean; here every loop is shown to ask it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HumanMessage } from '@langchain/core/messages';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { Agent as OpenAiAgent, Runner } from '@openai/agents';
import { generateText, stepCountIs } from 'ai';
import { createAgent } from 'langchain';
import * as aiSdk from 'mcpool/adapters/ai-sdk';
import * as anthropic from 'mcpool/adapters/anthropic';
import * as langchain from 'mcpool/adapters/langchain';
import * as mastra from 'mcpool/adapters/mastra';
import * as openai from 'mcpool/adapters/openai';
import * as openaiAgents from 'mcpool/adapters/openai-agents';
import { model as aiSdkModel } from './models/ai-sdk.mjs';
import { Scripted } from './models/langchain.mjs';
import { model as mastraModel } from './models/mastra.mjs';
import { chat } from './models/openai.mjs';
import { model as openaiAgentsModel } from './models/openai-agents.mjs';
import { manage, turns, world } from './support.mjs';

const odd = fileURLToPath(new URL('odd-server.mjs', import.meta.url));

/** A manager whose tool `mcp_a_free` gives its arguments back. */
async function free(t) {
  const manager = manage(t, { a: { command: process.execPath, args: [odd] } });
  await manager.connectAll();
  return manager;
}

/** How one call with these arguments is made, and what the model is told of it. */
const ways = {
  'openai runChat': async (manager, name, args) => {
    const call = { type: 'function', id: 'call', function: { name, ...args } };
    const [{ content }] = await openai.runChat(manager, { tool_calls: [call] });
    return content;
  },
  'openai runResponse': async (manager, name, args) => {
    const call = { type: 'function_call', call_id: 'call', name, ...args };
    const [{ output }] = await openai.runResponse(manager, { output: [call] });
    return output;
  },
  'openai runTools': async (manager, name, args) => {
    const script = turns([{ name, args: 'arguments' in args ? args.arguments : undefined }], 'done');
    const body = { model: 'gpt', messages: [{ role: 'user', content: 'go' }] };
    const client = chat(script, { raw: true });
    await client.chat.completions.runTools({ ...body, tools: openai.runnerTools(manager) }).finalContent();
    return script.seen[1].results[0].text;
  },
  'openai-agents tools': async (manager, name, args) => {
    const tool = openaiAgents.tools(manager).find((tool) => tool.name === name);
    return tool.invoke({}, args.arguments);
  },
  'openai-agents server': async (manager, name, args) => {
    const { content } = await openaiAgents.server(manager).callToolResult(name, args.arguments);
    return content[0].text;
  },
  'anthropic run': async (manager, name, args) => {
    const call = { type: 'tool_use', id: 'call', name };
    if ('arguments' in args) call.input = args.arguments;
    const [{ content }] = await anthropic.run(manager, [call]);
    return content[0].text;
  },
};

const long = '{"n":12345678901234567890,"word":"a"}';
const taken = [
  [{}, '{}'],
  [{ arguments: null }, '{}'],
  [{ arguments: undefined }, '{}'],
  [{ arguments: '' }, '{}'],
  [{ arguments: ' \n' }, '{}'],
  [{ arguments: 'null' }, '{}'],
  [{ arguments: '{"a": [1]}' }, '{"a":[1]}'],
  [{ arguments: { a: [1] } }, '{"a":[1]}'],
];
const refused = ['{"a":', '[1]', '"a"', '7', '{"a":1e999}', '{"a":NaN}', '{"a":1,"a":2}', [1], 7, true];

for (const [way, run] of Object.entries(ways)) {
  test(`${way}: nothing, null and objects are arguments`, async (t) => {
    const manager = await free(t);
    for (const [args, got] of taken) {
      const text = await run(manager, 'mcp_a_free', args);
      assert.ok(text.includes(`free got ${got}`), `${JSON.stringify(args)}: ${text}`);
    }
  });

  test(`${way}: what is no object, and what JSON cannot hold, is told to the model and not sent`, async (t) => {
    const { manager, happened } = await world(t);
    for (const args of refused) {
      assert.match(await run(manager, 'mcp_a_pid', { arguments: args }), /MCP error/, JSON.stringify(args));
    }
    assert.equal(happened('ran').length, 0);
  });

  test(`${way}: a long number reaches the server as the model wrote it`, async (t) => {
    const manager = await free(t);
    const text = await run(manager, 'mcp_a_free', { arguments: long });
    assert.ok(text.includes(long), text);
  });
}

/** Loops whose framework reads the model's text itself; a text is what the model writes. */
const loops = {
  'ai-sdk': async (manager, script) => {
    const given = { model: aiSdkModel(script), prompt: 'go', stopWhen: stepCountIs(5) };
    return (await generateText({ ...given, ...aiSdk.liveTools(manager) })).text;
  },
  mastra: async (manager, script) => {
    const given = { id: 'agent', name: 'agent', instructions: 'go', model: mastraModel(script) };
    return (await new MastraAgent(given).generate('go', mastra.liveTools(manager))).text;
  },
  'openai-agents server': async (manager, script) => {
    const mcpServers = [openaiAgents.server(manager)];
    const agent = new OpenAiAgent({ name: 'agent', model: openaiAgentsModel(script), mcpServers });
    return (await new Runner({ tracingDisabled: true }).run(agent, 'go')).finalOutput;
  },
  langchain: async (manager, script) => {
    const parsed = async (view) => {
      const said = await script(view);
      return typeof said === 'string'
        ? said
        : said.map(({ name, args }) => ({ name, args: JSON.parse(args) }));
    };
    const agent = createAgent({ model: new Scripted(parsed), middleware: [langchain.liveTools(manager)] });
    const { messages } = await agent.invoke({ messages: [new HumanMessage('go')] });
    return messages.at(-1).content;
  },
};

for (const [framework, run] of Object.entries(loops)) {
  test(`${framework}: a number that JavaScript cannot hold is told to the model and not sent`, async (t) => {
    const { manager, happened } = await world(t);
    const script = turns([{ name: 'mcp_a_pid', args: '{"a":[1e999]}' }], 'done');
    assert.equal(await run(manager, script), 'done');
    assert.match(script.seen[1].results[0].text, /MCP error: .*Infinity/s);
    assert.equal(happened('ran').length, 0);
  });
}

test('openai-agents: arguments that the SDK cannot read are told to the model, and nobody is asked', async (t) => {
  const { manager, happened } = await world(t);
  for (const args of ['', '{"a":', '[1]']) {
    const script = turns([{ name: 'mcp_a_echo', args }], 'done');
    const given = { name: 'agent', model: openaiAgentsModel(script), tools: openaiAgents.tools(manager) };
    const result = await new Runner({ tracingDisabled: true }).run(new OpenAiAgent(given), 'go');
    assert.deepEqual(result.interruptions, [], args);
    assert.equal(result.finalOutput, 'done');
    assert.match(script.seen[1].results[0].text, /error/i);
  }
  assert.equal(happened('ran').length, 0);
});
