// Hazard: a tool that requires approval runs unasked. Whoever asks for approval once gets it on every way by which an adapter
// hands the manager's tools over, also for tools that were handed over before, in a run that goes on later, and for tools
// that the server adds.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HumanMessage } from '@langchain/core/messages';
import { Command, MemorySaver } from '@langchain/langgraph';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { Agent as OpenAiAgent, Runner } from '@openai/agents';
import { generateText, stepCountIs, streamText, ToolLoopAgent } from 'ai';
import { createAgent, createMiddleware, humanInTheLoopMiddleware } from 'langchain';
import * as aiSdk from 'mcpool/adapters/ai-sdk';
import * as anthropic from 'mcpool/adapters/anthropic';
import * as langchain from 'mcpool/adapters/langchain';
import * as mastra from 'mcpool/adapters/mastra';
import * as openai from 'mcpool/adapters/openai';
import * as openaiAgents from 'mcpool/adapters/openai-agents';
import { model as aiSdkModel } from './models/ai-sdk.mjs';
import { Scripted } from './models/langchain.mjs';
import { model as mastraModel } from './models/mastra.mjs';
import { model as openaiAgentsModel } from './models/openai-agents.mjs';
import { call, manage, turns, world } from './support.mjs';

const needsApproval = true;
const twice = () => turns([call('count')], [call('count')], 'done');

// AI SDK: every way to run, with tools from every way to make them.

const stopWhen = stepCountIs(10);
const runs = {
  generateText: (given) => generateText({ prompt: 'go', ...given }),
  streamText: async (given) => {
    const result = streamText({ prompt: 'go', ...given });
    await result.consumeStream();
    return { content: await result.content };
  },
  ToolLoopAgent: (given) => new ToolLoopAgent(given).generate({ prompt: 'go' }),
};
const made = {
  'asked by tools(), run with liveTools()': (manager) => {
    aiSdk.tools(manager, { needsApproval });
    return aiSdk.liveTools(manager);
  },
  'asked by liveTools() after tools()': (manager) => {
    const tools = aiSdk.tools(manager);
    aiSdk.liveTools(manager, { needsApproval });
    return { tools };
  },
  'asked by another liveTools() later': (manager) => {
    const live = aiSdk.liveTools(manager);
    aiSdk.liveTools(manager, { needsApproval });
    return live;
  },
};

for (const [way, toolsOf] of Object.entries(made)) {
  for (const [name, run] of Object.entries(runs)) {
    test(`ai-sdk ${name} asks: ${way}`, async (t) => {
      const { manager, happened } = await world(t);
      const { content } = await run({ model: aiSdkModel(twice()), stopWhen, ...toolsOf(manager) });
      assert.ok(content.some(({ type }) => type === 'tool-approval-request'));
      assert.equal(happened('ran').length, 0);
    });
  }
}

test('ai-sdk: another manager on the same servers is not asked for', async (t) => {
  const { manager, happened } = await world(t);
  aiSdk.tools(manager, { needsApproval });
  const child = manager.child();
  t.after(() => child.close());
  await child.connectAll();
  const given = { model: aiSdkModel(twice()), prompt: 'go', stopWhen };
  assert.equal((await generateText({ ...given, ...aiSdk.liveTools(child) })).text, 'done');
  assert.equal(happened('ran').length, 2);
});

// Mastra: an agent's tools, a run's tools, and runs that go on.

const mastraAgent = (script, tools) => {
  const given = { id: 'agent', name: 'agent', instructions: 'go', model: mastraModel(script) };
  const agent = new MastraAgent({ ...given, ...(tools && { tools }) });
  new Mastra({ agents: { agent }, storage: new InMemoryStore(), logger: false });
  return agent;
};

const mastraWays = {
  'the agent’s tools': (manager) => [mastra.tools(manager, { needsApproval }), {}],
  'a function of the agent': (manager) => [() => mastra.tools(manager, { needsApproval }), {}],
  'the agent’s tools, run with liveTools()': (manager) => [
    mastra.tools(manager, { needsApproval }),
    mastra.liveTools(manager),
  ],
  'a function of the agent, run with liveTools()': (manager) => [
    () => mastra.tools(manager, { needsApproval }),
    mastra.liveTools(manager),
  ],
  'liveTools() alone': (manager) => [undefined, mastra.liveTools(manager, { needsApproval })],
  'liveTools(), where the agent has tools': (manager) => [
    mastra.tools(manager),
    mastra.liveTools(manager, { needsApproval }),
  ],
  'liveTools(), where the agent has a function': (manager) => [
    () => mastra.tools(manager),
    mastra.liveTools(manager, { needsApproval }),
  ],
};

for (const [way, given] of Object.entries(mastraWays)) {
  for (const continued of ['generate', 'stream']) {
    test(`mastra ${continued} asks, and asks again in the run that goes on: ${way}`, async (t) => {
      const { manager, happened } = await world(t);
      const [tools, options] = given(manager);
      const script = twice();
      const agent = mastraAgent(script, tools);
      const ended = async (result) => {
        if (continued === 'stream') await result.consumeStream?.();
        return {
          finishReason: await result.finishReason,
          runId: result.runId,
          suspended: await result.suspendPayload,
          text: await result.text,
        };
      };
      const go = continued === 'stream' ? 'approveToolCall' : 'approveToolCallGenerate';
      let asked = await ended(await agent[continued]('go', { maxSteps: 10, ...options }));
      assert.equal(asked.finishReason, 'suspended');
      assert.equal(happened('ran').length, 0);
      // A run that goes on is given its options anew; whoever forgets them is asked all the same.
      const again = tools ? {} : options;
      const approve = ({ runId, suspended: { toolCallId } }) => agent[go]({ runId, toolCallId, ...again });
      asked = await ended(await approve(asked));
      assert.equal(asked.finishReason, 'suspended');
      assert.equal(happened('ran').length, 1);
      asked = await ended(await approve(asked));
      assert.equal(asked.text, 'done');
      assert.equal(happened('ran').length, 2);
    });
  }
}

test('mastra: an agent without tools that goes on without them runs only what was approved', async (t) => {
  const { manager, happened } = await world(t);
  const agent = mastraAgent(twice());
  const asked = await agent.generate('go', mastra.liveTools(manager, { needsApproval }));
  const { toolCallId } = asked.suspendPayload;
  await agent.approveToolCallGenerate({ runId: asked.runId, toolCallId });
  assert.equal(happened('ran').length, 1);
});

test('mastra: a tool that needs approval only since the run began does not run unasked', async (t) => {
  const turning = fileURLToPath(new URL('turning-server.mjs', import.meta.url));
  const server = { command: process.execPath, args: [turning] };
  const manager = manage(t, { a: server }, { approval: 'annotations' });
  await manager.connectAll();
  const script = turns([call('turn')], [call('look')], 'done');
  const result = await mastraAgent(script, mastra.tools(manager, { needsApproval })).generate('go', {
    maxSteps: 10,
  });
  assert.equal(result.text, 'done');
  assert.match(script.seen[1].results[0].text, /did turn/);
  const [{ text }] = script.seen[2].results.slice(-1);
  assert.match(text, /not approved/);
});

test('mastra: its own requireToolApproval holds for tools that need none', async (t) => {
  const { manager, happened } = await world(t);
  const agent = mastraAgent(twice(), mastra.tools(manager));
  const asked = await agent.generate('go', { requireToolApproval: true });
  assert.equal(asked.finishReason, 'suspended');
  assert.equal(happened('ran').length, 0);
});

// LangChain: a middleware asks, by name.

const messages = [new HumanMessage('go')];
const config = { configurable: { thread_id: '1' } };

const langchainAsks = {
  'interruptOn()': (manager) => [
    humanInTheLoopMiddleware({ interruptOn: langchain.interruptOn(manager) }),
    langchain.liveTools(manager),
  ],
  'liveTools()': (manager) => [langchain.liveTools(manager, { needsApproval })],
};

for (const [way, middleware] of Object.entries(langchainAsks)) {
  for (const tools of [() => [], langchain.tools]) {
    test(`langchain asks by ${way}, with ${tools === langchain.tools ? '' : 'no '}tools()`, async (t) => {
      const { manager, happened } = await world(t);
      const agent = createAgent({
        ...{ model: new Scripted(twice()), tools: tools(manager), middleware: middleware(manager) },
        checkpointer: new MemorySaver(),
      });
      for (const ran of [0, 1]) {
        const resume = new Command({ resume: { decisions: [{ type: 'approve' }] } });
        const state = await agent.invoke(ran === 0 ? { messages } : resume, config);
        assert.equal(state.__interrupt__?.length, 1);
        assert.equal(happened('ran').length, ran);
      }
    });
  }

  test(`langchain asks by ${way} about a tool that is new`, async (t) => {
    const { manager, happened } = await world(t);
    const script = turns([call('change_tools', { name: 'fresh' })], [call('fresh')], 'done');
    const agent = createAgent({
      ...{ model: new Scripted(script), middleware: middleware(manager), checkpointer: new MemorySaver() },
    });
    await agent.invoke({ messages }, config);
    const resume = new Command({ resume: { decisions: [{ type: 'approve' }] } });
    const state = await agent.invoke(resume, config);
    assert.equal(state.__interrupt__?.[0].value.actionRequests[0].name, 'mcp_a_fresh');
    assert.deepEqual(
      happened('ran').map(({ tool }) => tool),
      ['change_tools'],
    );
  });
}

test('langchain: an agent from before approval was asked for runs nothing unasked', async (t) => {
  const { manager, happened } = await world(t);
  const early = langchain.liveTools(manager);
  const listed = langchain.tools(manager);
  langchain.liveTools(manager, { needsApproval });
  for (const given of [{ middleware: [early] }, { tools: listed }]) {
    const script = turns([call('count')], 'done');
    const agent = createAgent({ model: new Scripted(script), ...given });
    await agent.invoke({ messages });
    assert.match(script.seen[1].results[0].text, /mcp_a_count was not approved/);
    assert.equal(script.seen[1].results[0].isError, true);
  }
  assert.equal(happened('ran').length, 0);
});

test('langchain: a tool that appears after the person was asked does not run unasked', async (t) => {
  const { manager, happened } = await world(t);
  const live = langchain.liveTools(manager, { needsApproval });
  // Between the question and the call.
  const late = createMiddleware({
    name: 'late',
    wrapToolCall: async (request, handler) => {
      await manager.callTool('a', 'change_tools', { name: 'fresh' });
      return handler(request);
    },
  });
  const script = turns([call('fresh')], 'done');
  const agent = createAgent({ model: new Scripted(script), middleware: [late, live] });
  await agent.invoke({ messages }, config);
  assert.ok(manager.getTools().some(({ name }) => name === 'mcp_a_fresh'));
  assert.match(script.seen[1].results[0].text, /mcp_a_fresh was not approved/);
  assert.ok(!happened('ran').some(({ tool }) => tool === 'fresh'));
});

test('langchain: an agent that does not ask has no step more', async (t) => {
  const { manager } = await world(t);
  assert.equal(langchain.liveTools(manager).afterModel, undefined);
});

test('langchain: the context of a run does not switch the question off', async (t) => {
  const { manager, happened } = await world(t);
  const agent = createAgent({
    model: new Scripted(twice()),
    middleware: [humanInTheLoopMiddleware({}), langchain.liveTools(manager, { needsApproval })],
    checkpointer: new MemorySaver(),
  });
  const context = { interruptOn: { mcp_a_count: false } };
  const state = await agent.invoke({ messages }, { ...config, context });
  assert.equal(state.__interrupt__?.length, 1);
  assert.equal(happened('ran').length, 0);
});

test('langchain: a no is told to the model, and nothing runs', async (t) => {
  const { manager, happened } = await world(t);
  const script = turns([call('count')], 'done');
  const agent = createAgent({
    model: new Scripted(script),
    middleware: [langchain.liveTools(manager, { needsApproval })],
    checkpointer: new MemorySaver(),
  });
  await agent.invoke({ messages }, config);
  const resume = new Command({ resume: { decisions: [{ type: 'reject', message: 'not today' }] } });
  const state = await agent.invoke(resume, config);
  assert.equal(state.messages.at(-1).content, 'done');
  assert.match(script.seen[1].results[0].text, /not today/);
  assert.equal(happened('ran').length, 0);
});

// Names that mean something else to an object: a naming of the program may give them.

const oddly = { naming: (_server, tool) => (tool === 'count' ? '__proto__' : tool) };

test('langchain: a tool of any name does not run unasked', async (t) => {
  for (const middleware of Object.values(langchainAsks).slice(1)) {
    const { manager, happened } = await world(t, oddly);
    const script = turns([{ name: '__proto__', args: {} }], [{ name: 'constructor', args: {} }], 'done');
    const given = { middleware: middleware(manager), checkpointer: new MemorySaver() };
    await createAgent({ model: new Scripted(script), ...given }).invoke({ messages }, config);
    assert.equal(happened('ran').length, 0);
  }
});

test('ai-sdk: a tool of any name is offered, and asked about', async (t) => {
  const { manager, happened } = await world(t, oddly);
  const live = aiSdk.liveTools(manager, { needsApproval });
  assert.deepEqual(
    Object.keys(live.tools).sort(),
    manager
      .getTools()
      .map(({ name }) => name)
      .sort(),
  );
  const script = turns([{ name: '__proto__', args: {} }], 'done');
  await generateText({ model: aiSdkModel(script), prompt: 'go', stopWhen, ...live });
  assert.equal(happened('ran').length, 0);
});

// OpenAI Agents: function tools can ask, a server cannot.

const openaiRun = (given, script) => {
  const agent = new OpenAiAgent({ name: 'agent', model: openaiAgentsModel(script), ...given });
  return new Runner({ tracingDisabled: true }).run(agent, 'go');
};

test('openai-agents asks for tools that were made before', async (t) => {
  const { manager, happened } = await world(t);
  const tools = openaiAgents.tools(manager);
  openaiAgents.tools(manager, { needsApproval });
  const { interruptions } = await openaiRun({ tools }, twice());
  assert.equal(interruptions.length, 1);
  assert.equal(happened('ran').length, 0);
});

test('openai-agents: a server runs nothing unasked once approval is asked for', async (t) => {
  const { manager, happened } = await world(t);
  const server = openaiAgents.server(manager);
  openaiAgents.tools(manager, { needsApproval });
  const script = turns([call('count')], 'done');
  await openaiRun({ mcpServers: [server] }, script);
  assert.match(script.seen[1].results[0].text, /mcp_a_count was not approved/);
  assert.equal(happened('ran').length, 0);
});

// Ways on which nobody can be asked: each refuses the call once approval is asked for anywhere.

const callId = 'call';
const signal = new AbortController().signal;
const named = (tools, name) => tools.find((tool) => (tool.function ?? tool).name === name);

/** What the model is told of a call of a tool by this name. */
const byName = {
  'openai runChat': async (manager, name) => {
    const call = { type: 'function', id: callId, function: { name, arguments: '{"name":"x"}' } };
    return (await openai.runChat(manager, { tool_calls: [call] }))[0].content;
  },
  'openai runResponse': async (manager, name) => {
    const call = { type: 'function_call', call_id: callId, name, arguments: '{"name":"x"}' };
    return (await openai.runResponse(manager, { output: [call] }))[0].output;
  },
  'anthropic run': async (manager, name) => {
    const [result] = await anthropic.run(manager, [
      { type: 'tool_use', id: callId, name, input: { name: 'x' } },
    ]);
    assert.equal(result.is_error, true);
    return result.content[0].text;
  },
  'openai-agents server': async (manager, name) => {
    const result = await openaiAgents.server(manager).callToolResult(name, { name: 'x' });
    assert.equal(result.isError, true);
    return result.content[0].text;
  },
};

const unasked = {
  ...byName,
  'openai runnerTools': (manager, name) =>
    named(openai.runnerTools(manager), name).function.function('{}', { controller: { signal } }),
  'anthropic runnerTools': async (manager, name) => {
    const thrown = await named(anthropic.runnerTools(manager), name)
      .run({}, { signal })
      .catch((error) => error);
    return thrown.content[0].text;
  },
  'langchain tools': (manager, name) => named(langchain.tools(manager), name).invoke({}),
};

for (const [way, run] of Object.entries(unasked)) {
  test(`${way} runs nothing unasked once approval is asked for`, async (t) => {
    const { manager, happened } = await world(t);
    aiSdk.liveTools(manager, { needsApproval });
    assert.match(await run(manager, 'mcp_a_count'), /The call of mcp_a_count was not approved/);
    assert.equal(happened('ran').length, 0);
  });
}

/** A world whose tool `change_tools` had the name `mcp_a_change_tools`, until another tool would have had it, too. */
async function renamed(t) {
  const { manager, happened } = await world(t);
  assert.ok(manager.getTools().some(({ name }) => name === 'mcp_a_change_tools'));
  await manager.callTool('a', 'change_tools', { name: 'change-tools' });
  assert.ok(!manager.getTools().some(({ name }) => name === 'mcp_a_change_tools'));
  return { manager, happened };
}

for (const [way, run] of Object.entries(byName)) {
  test(`${way} runs nothing unasked by the former name of a tool`, async (t) => {
    const { manager, happened } = await renamed(t);
    aiSdk.liveTools(manager, { needsApproval });
    assert.match(await run(manager, 'mcp_a_change_tools'), /mcp_a_change_tools was not approved/);
    assert.equal(happened('ran').length, 1);
  });
}

test('langchain liveTools runs nothing unasked by the former name of a tool', async (t) => {
  const { manager, happened } = await renamed(t);
  const script = turns([call('change_tools', { name: 'x' })], 'done');
  const agent = createAgent({
    ...{ model: new Scripted(script), middleware: [langchain.liveTools(manager, { needsApproval })] },
    checkpointer: new MemorySaver(),
  });
  await agent.invoke({ messages }, config);
  assert.match(script.seen[1].results[0].text, /mcp_a_change_tools was not approved/);
  assert.equal(happened('ran').length, 1);
});

test('an approval that is asked for holds where the package is loaded by require', async (t) => {
  const { manager, happened } = await world(t);
  aiSdk.tools(manager, { needsApproval });
  const required = createRequire(import.meta.url)('mcpool/adapters/openai');
  const call = { type: 'function', id: callId, function: { name: 'mcp_a_count', arguments: '{}' } };
  const [{ content }] = await required.runChat(manager, { tool_calls: [call] });
  assert.match(content, /mcp_a_count was not approved/);
  assert.equal(happened('ran').length, 0);
});

// Where a framework cannot ask, asking for it is refused instead of being forgotten.

const cannotAsk = {
  'openai-agents server': (manager) => openaiAgents.server(manager, { needsApproval }),
  'langchain tools': (manager) => langchain.tools(manager, { needsApproval }),
  'anthropic tools': (manager) => anthropic.tools(manager, { needsApproval }),
  'anthropic runnerTools': (manager) => anthropic.runnerTools(manager, { needsApproval }),
  'openai chatTools': (manager) => openai.chatTools(manager, { needsApproval }),
  'openai responseTools': (manager) => openai.responseTools(manager, { needsApproval }),
  'openai runnerTools': (manager) => openai.runnerTools(manager, { needsApproval }),
};

for (const [way, ask] of Object.entries(cannotAsk)) {
  test(`${way} says that it cannot ask`, async (t) => {
    const { manager } = await world(t);
    assert.throws(() => ask(manager), { name: 'TypeError', message: /needsApproval.*onApproval/s });
  });
}

const runners = {
  'anthropic run': (manager) => anthropic.run(manager, [], { needsApproval }),
  'openai runChat': (manager) => openai.runChat(manager, {}, { needsApproval }),
  'openai runResponse': (manager) => openai.runResponse(manager, { output: [] }, { needsApproval }),
};

for (const [way, run] of Object.entries(runners)) {
  test(`${way} says that it cannot ask`, async (t) => {
    const { manager } = await world(t);
    await assert.rejects(run(manager), { name: 'TypeError', message: /needsApproval.*onApproval/s });
  });
}

const options = {
  'ai-sdk tools': (manager, given) => aiSdk.tools(manager, given),
  'ai-sdk liveTools': (manager, given) => aiSdk.liveTools(manager, given),
  'mastra tools': (manager, given) => mastra.tools(manager, given),
  'mastra liveTools': (manager, given) => mastra.liveTools(manager, given),
  'langchain liveTools': (manager, given) => langchain.liveTools(manager, given),
  'openai-agents tools': (manager, given) => openaiAgents.tools(manager, given),
};

for (const [way, make] of Object.entries(options)) {
  test(`${way}: a wish for approval that is misspelt or no boolean is refused`, async (t) => {
    const { manager } = await world(t);
    for (const given of [{ needApproval: true }, { needs_approval: true }, { needsApproval: 'yes' }]) {
      assert.throws(() => make(manager, given), { name: 'TypeError', message: /needsApproval/ });
    }
  });
}
