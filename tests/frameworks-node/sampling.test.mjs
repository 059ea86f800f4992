// Sampling: a server that asks for a message gets it from the model of a framework. Each framework has what its model is told
// of a whole conversation, word by word, and what is refused. Elicitation: the framework's own loop waits for a person.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { MastraLanguageModelV2Mock } from '@mastra/core/test-utils/llm-mock';
import { Agent as OpenAiAgent, run, Usage } from '@openai/agents';
import { generateText, stepCountIs } from 'ai';
import * as mock from 'ai/test';
import { createAgent } from 'langchain';
import * as aiSdk from 'mcpool/adapters/ai-sdk';
import * as anthropic from 'mcpool/adapters/anthropic';
import * as langchain from 'mcpool/adapters/langchain';
import * as mastra from 'mcpool/adapters/mastra';
import * as openai from 'mcpool/adapters/openai';
import * as openaiAgents from 'mcpool/adapters/openai-agents';
import OpenAI from 'openai';
import { model as aiModel } from './models/ai-sdk.mjs';
import { clientOf } from './models/anthropic.mjs';
import { Scripted } from './models/langchain.mjs';
import { model as mastraModel } from './models/mastra.mjs';
import { chat } from './models/openai.mjs';
import { model as agentsModel } from './models/openai-agents.mjs';
import { chunksOf } from './models/parts.mjs';
import { call, turns, until, world } from './support.mjs';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const URL_OF_PIXEL = `data:image/png;base64,${PIXEL}`;
const text = (said) => ({ type: 'text', text: said });
const ASK = { messages: [{ role: 'user', content: text('Capital?') }], maxTokens: 7 };
const schema = { type: 'object', properties: {} };
const ADD = { name: 'add', description: 'Adds', inputSchema: schema };
const IMAGE = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const AUDIO = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' };
const USE = { type: 'tool_use', id: 'c1', name: 'add', input: { a: 1 } };
const RESULT = { type: 'tool_result', toolUseId: 'c1', content: [text('3')] };
const TALK = {
  messages: [
    { role: 'user', content: [text('Look'), IMAGE] },
    { role: 'assistant', content: [text('I add'), USE] },
    { role: 'user', content: [RESULT] },
  ],
  systemPrompt: 'Be brief',
  maxTokens: 7,
};
const SETTINGS = { temperature: 0.5, stopSequences: ['END'] };
const TOOLS = { tools: [ADD], toolChoice: { mode: 'required' } };
/** What a model says if it calls the server's tool. */
const CALL = { name: 'add', args: { a: 3 } };

const plain = (value) => JSON.parse(JSON.stringify(value));
const only = (value, ...names) => {
  const entries = Object.entries(value).filter(
    ([name, given]) => names.includes(name) && given !== undefined,
  );
  return plain(Object.fromEntries(entries));
};

/** A `fetch` that remembers requests and answers with `answer(said, request)`. */
const fetchOf =
  (seen, said, answer) =>
  async (_url, { body }) => {
    const request = JSON.parse(body);
    seen.push(request);
    return new Response(JSON.stringify(answer(said.shift(), request)), {
      headers: { 'content-type': 'application/json' },
    });
  };

/** Parts of a model of the AI SDK, and of Mastra. */
const partsOf = (said) =>
  typeof said === 'string'
    ? { parts: [text(said)], reason: 'stop' }
    : {
        parts: [
          { type: 'tool-call', toolCallId: 'c2', toolName: said.name, input: JSON.stringify(said.args) },
        ],
        reason: 'tool-calls',
      };

const CHAT_TOOL = { type: 'function', function: { name: 'add', description: 'Adds', parameters: schema } };
const AI_TALK = {
  prompt: [
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: [text('Look'), { type: 'file', mediaType: 'image/png', data: PIXEL }] },
    {
      role: 'assistant',
      content: [text('I add'), { type: 'tool-call', toolCallId: 'c1', toolName: 'add', input: { a: 1 } }],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'c1', toolName: 'add', output: { type: 'text', value: '3' } },
      ],
    },
  ],
  maxOutputTokens: 7,
};
const AI_TOOLS = {
  tools: [{ type: 'function', name: 'add', description: 'Adds', inputSchema: schema }],
  toolChoice: { type: 'required' },
};

/** A request of these models without what their frameworks add; bytes are base64. */
function aiRequest(request) {
  const kept = only(
    request,
    'prompt',
    'maxOutputTokens',
    'temperature',
    'stopSequences',
    'tools',
    'toolChoice',
  );
  for (const { content } of kept.prompt) {
    for (const part of Array.isArray(content) ? content : []) {
      delete part.providerOptions;
      if (part.type === 'file') part.data = part.data.data ?? part.data;
      if (part.type === 'file' && part.data.startsWith('data:')) part.data = part.data.split(',')[1];
      // Mastra repeats the arguments there.
      if (part.output) delete part.input;
    }
  }
  for (const tool of kept.tools ?? []) for (const name of ['providerOptions', 'strict']) delete tool[name];
  if (!kept.tools?.length) {
    delete kept.tools;
    delete kept.toolChoice;
  }
  if (!kept.stopSequences?.length) delete kept.stopSequences;
  return kept;
}

const MockLanguageModel = mock.MockLanguageModelV4 ?? mock.MockLanguageModelV3;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

class Seeing extends BaseChatModel {
  constructor(seen, said) {
    super({});
    Object.assign(this, { seen, said });
  }
  _llmType() {
    return 'scripted';
  }
  bindTools(tools, options) {
    return this.withConfig({ tools, ...options });
  }
  async _generate(messages, options) {
    const told = messages.map((message) => ({
      ...{ type: message.getType(), content: message.content },
      ...(message.tool_calls?.length && { calls: message.tool_calls }),
      ...(message.tool_call_id && { of: message.tool_call_id }),
    }));
    this.seen.push({ messages: plain(told), ...only(options, 'stop', 'tools', 'tool_choice') });
    const said = this.said.shift();
    const tool_calls = typeof said === 'string' ? [] : [{ ...said, id: 'c2' }];
    const message = new AIMessage({ content: typeof said === 'string' ? said : '', tool_calls });
    return { generations: [{ text: '', message }] };
  }
}

/** For each framework: a model that says these things, what it is told of `TALK`, and an agent that calls a tool. */
const frameworks = {
  'ai-sdk': {
    make(...said) {
      const seen = [];
      const model = new MockLanguageModel({
        doGenerate: async (request) => {
          seen.push(aiRequest(request));
          const { parts, reason } = partsOf(said.shift());
          return { content: parts, finishReason: { unified: reason, raw: reason }, usage, warnings: [] };
        },
      });
      return { seen, on: (options) => aiSdk.sampling(model, options) };
    },
    talk: AI_TALK,
    settings: SETTINGS,
    tools: AI_TOOLS,
    loop: (manager, script) =>
      generateText({
        model: aiModel(script),
        prompt: 'go',
        stopWhen: stepCountIs(5),
        ...aiSdk.liveTools(manager),
      }),
  },
  mastra: {
    make(...said) {
      const seen = [];
      const answer = (request) => {
        seen.push(aiRequest(request));
        const { parts, reason } = partsOf(said.shift());
        const finish = { finishReason: reason, usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } };
        return { parts, finish };
      };
      const model = new MastraLanguageModelV2Mock({
        ...{ provider: 'openai.chat', modelId: 'gpt-4o' },
        doGenerate: async (request) => {
          const { parts, finish } = answer(request);
          return { content: parts, ...finish, warnings: [] };
        },
        doStream: async (request) => {
          const { parts, finish } = answer(request);
          return { stream: ReadableStream.from(chunksOf(parts, finish)) };
        },
      });
      return { seen, on: (options) => mastra.sampling(model, options) };
    },
    talk: AI_TALK,
    settings: SETTINGS,
    tools: AI_TOOLS,
    loop(manager, script) {
      const given = { id: 'a', name: 'a', instructions: 'go', model: mastraModel(script) };
      return new MastraAgent({ ...given, tools: () => mastra.tools(manager) }).generate('go');
    },
  },
  langchain: {
    make(...said) {
      const seen = [];
      const made = new Seeing(seen, said);
      const make = ({ maxTokens, temperature }) => {
        const settings = only({ maxTokens, temperature }, 'maxTokens', 'temperature');
        const push = (request) => Array.prototype.push.call(seen, { ...request, ...settings });
        return Object.assign(made, { seen: { push } });
      };
      return { seen, on: (options) => langchain.sampling(make, options) };
    },
    talk: {
      messages: [
        { type: 'system', content: 'Be brief' },
        { type: 'human', content: [text('Look'), IMAGE] },
        { type: 'ai', content: 'I add', calls: [{ id: 'c1', name: 'add', args: { a: 1 } }] },
        { type: 'tool', content: [text('3')], of: 'c1' },
      ],
      maxTokens: 7,
    },
    settings: { temperature: 0.5, stop: ['END'] },
    tools: { tools: [CHAT_TOOL], tool_choice: 'any' },
    loop: (manager, script) =>
      createAgent({ model: new Scripted(script), tools: langchain.tools(manager) }).invoke({
        messages: [new HumanMessage('go')],
      }),
  },
  'openai-agents': {
    make(...said) {
      const seen = [];
      const model = {
        async getResponse(request) {
          const { modelSettings, ...asked } = request;
          seen.push({ ...only(asked, 'systemInstructions', 'input', 'tools'), ...plain(modelSettings) });
          const turn = said.shift();
          const content = [{ type: 'output_text', text: turn }];
          const output =
            typeof turn === 'string'
              ? { type: 'message', role: 'assistant', status: 'completed', content }
              : {
                  type: 'function_call',
                  callId: 'c2',
                  name: turn.name,
                  arguments: JSON.stringify(turn.args),
                };
          return { usage: new Usage(), output: [output] };
        },
      };
      return { seen, on: (options) => openaiAgents.sampling(model, options) };
    },
    talk: {
      systemInstructions: 'Be brief',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look' },
            { type: 'input_image', image: URL_OF_PIXEL },
          ],
        },
        { role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'I add' }] },
        { type: 'function_call', callId: 'c1', name: 'add', status: 'completed', arguments: '{"a":1}' },
        { type: 'function_call_result', callId: 'c1', name: 'add', status: 'completed', output: '3' },
      ],
      tools: [],
      maxTokens: 7,
    },
    settings: { temperature: 0.5 },
    tools: {
      tools: [{ type: 'function', name: 'add', description: 'Adds', parameters: schema, strict: false }],
      toolChoice: 'required',
    },
    refuses: ['stopSequences'],
    loop: (manager, script) =>
      run(
        new OpenAiAgent({
          name: 'a',
          model: agentsModel(script),
          mcpServers: [openaiAgents.server(manager)],
        }),
        'go',
      ),
  },
  anthropic: {
    make(...said) {
      const seen = [];
      const answer = (turn, { model }) => ({
        ...{ id: 'msg', type: 'message', role: 'assistant', model, stop_sequence: null },
        content: [
          typeof turn === 'string'
            ? text(turn)
            : { type: 'tool_use', id: 'c2', name: turn.name, input: turn.args },
        ],
        stop_reason: typeof turn === 'string' ? 'end_turn' : 'tool_use',
        usage: { input_tokens: 1, output_tokens: 1 },
      });
      const client = new Anthropic({ apiKey: 'none', maxRetries: 0, fetch: fetchOf(seen, said, answer) });
      return { seen, on: (options) => anthropic.sampling(client, { model: 'claude', ...options }) };
    },
    talk: {
      model: 'claude',
      max_tokens: 7,
      system: 'Be brief',
      messages: [
        {
          role: 'user',
          content: [
            text('Look'),
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
          ],
        },
        { role: 'assistant', content: [text('I add'), USE] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [text('3')] }] },
      ],
    },
    settings: { stop_sequences: ['END'] },
    tools: {
      tools: [{ name: 'add', description: 'Adds', input_schema: schema }],
      tool_choice: { type: 'any' },
    },
    refuses: ['temperature', 'audio'],
    loop: (manager, script) =>
      clientOf(script)
        .beta.messages.toolRunner({
          ...{ model: 'claude', max_tokens: 99, messages: [{ role: 'user', content: 'go' }] },
          tools: anthropic.runnerTools(manager),
        })
        .runUntilDone(),
  },
  openai: {
    make(...said) {
      const seen = [];
      const answer = (turn, { model }) => {
        const called = { id: 'c2', type: 'function', function: { name: turn.name, arguments: '{"a":3}' } };
        const message =
          typeof turn === 'string'
            ? { role: 'assistant', content: turn }
            : { role: 'assistant', content: null, tool_calls: [called] };
        const finish_reason = typeof turn === 'string' ? 'stop' : 'tool_calls';
        return { id: 'c', object: 'chat.completion', model, choices: [{ index: 0, message, finish_reason }] };
      };
      const client = new OpenAI({ apiKey: 'none', maxRetries: 0, fetch: fetchOf(seen, said, answer) });
      return { seen, on: (options) => openai.sampling(client, { model: 'gpt', ...options }) };
    },
    talk: {
      model: 'gpt',
      max_completion_tokens: 7,
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: [text('Look'), { type: 'image_url', image_url: { url: URL_OF_PIXEL } }] },
        {
          role: 'assistant',
          content: 'I add',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: '3' },
      ],
    },
    settings: { temperature: 0.5, stop: ['END'] },
    tools: { tools: [CHAT_TOOL], tool_choice: 'required' },
    loop: (manager, script) =>
      chat(script)
        .chat.completions.runTools({
          ...{ model: 'gpt', messages: [{ role: 'user', content: 'go' }] },
          tools: openai.runnerTools(manager),
        })
        .finalContent(),
  },
};

/** What the server gets if it asks. */
async function asked(t, onSampling, params) {
  const { manager } = await world(t, { wrap: false, onSampling });
  const { text: json } = await manager.callTool('a', 'ask', { method: 'sampling/createMessage', params });
  return JSON.parse(json);
}

/** The warnings that are printed until the test ends. */
function warnings(t) {
  const heard = [];
  const hear = (warning) => heard.push(warning.message);
  process.on('warning', hear);
  t.after(() => process.off('warning', hear));
  return heard;
}

async function refused(t, onSampling, params, why) {
  const heard = warnings(t);
  const { error } = await asked(t, onSampling, params);
  assert.equal(error.code, -1);
  await until(() => heard.some((message) => message.includes(why)), `a warning: ${why}`);
}

for (const [name, framework] of Object.entries(frameworks)) {
  const { make, talk, settings, tools, refuses = [], loop } = framework;

  test(`${name}: a tool that an agent calls asks the model`, async (t) => {
    const { manager } = await world(t, { onSampling: make('Paris').on() });
    const script = turns([call('ask', { method: 'sampling/createMessage', params: ASK })], 'done');
    await loop(manager, script);
    assert.match(script.seen[1].results[0].text, /Paris/);
  });

  test(`${name}: an agent waits while a person answers a server`, async (t) => {
    const onElicitation = async ({ message }) => {
      assert.equal(message, 'Where to?');
      await sleep(1);
      return { action: 'accept', content: { city: 'Rome' } };
    };
    const { manager } = await world(t, { onElicitation });
    const requestedSchema = { type: 'object', properties: { city: { type: 'string' } } };
    const params = { message: 'Where to?', requestedSchema };
    const script = turns([call('ask', { method: 'elicitation/create', params })], 'done');
    await loop(manager, script);
    assert.match(script.seen[1].results[0].text, /Rome/);
  });

  test(`${name}: a server gets the model’s text and its name`, async (t) => {
    const { result } = await asked(t, make('Paris').on(), ASK);
    assert.deepEqual(result.content, text('Paris'));
    assert.equal(result.role, 'assistant');
    assert.ok(result.model);
    assert.equal(result.stopReason ?? 'endTurn', 'endTurn');
  });

  test(`${name}: a model is told the whole conversation`, async (t) => {
    const { seen, on } = make('done');
    await asked(t, on(), TALK);
    assert.deepEqual(seen.at(-1), talk);
    const short = make('done');
    await asked(t, short.on(), ASK);
    assert.doesNotMatch(JSON.stringify(short.seen.at(-1)), /system/);
  });

  test(`${name}: settings reach the model or are refused`, async (t) => {
    const { seen, on } = make('done');
    const known = Object.fromEntries(
      Object.entries(SETTINGS).filter(([member]) => !refuses.includes(member)),
    );
    await asked(t, on(), { ...TALK, ...known });
    assert.deepEqual(seen.at(-1), { ...talk, ...settings });
    for (const member of Object.keys(SETTINGS).filter((member) => refuses.includes(member))) {
      await refused(t, make('never').on(), { ...ASK, [member]: SETTINGS[member] }, `has no ${member}`);
      const { result } = await asked(t, make('so').on({ ignore: [member] }), { ...ASK, ...SETTINGS });
      assert.equal(result.content.text, 'so');
    }
  });

  test(`${name}: a model calls a tool that the server runs`, async (t) => {
    const { seen, on } = make(CALL);
    const { result } = await asked(t, on(), { ...TALK, ...TOOLS });
    assert.deepEqual(seen.at(-1), { ...talk, ...tools });
    assert.equal(result.stopReason, 'toolUse');
    assert.deepEqual(result.content, { type: 'tool_use', id: 'c2', name: 'add', input: { a: 3 } });
  });

  test(`${name}: audio reaches the model or is refused`, async (t) => {
    const params = { ...ASK, messages: [{ role: 'user', content: AUDIO }] };
    const { seen, on } = make('heard');
    if (refuses.includes('audio')) return refused(t, on(), params, 'takes no audio/wav');
    const { result } = await asked(t, on(), params);
    assert.equal(result.content.text, 'heard');
    assert.match(JSON.stringify(seen.at(-1)), /AAAA/);
  });

  test(`${name}: a hint may choose another model`, async (t) => {
    const given = [];
    const on = make('so').on({ choose: (hints) => void given.push(hints) });
    const modelPreferences = { hints: [{ name: 'small' }, {}], costPriority: 1 };
    const { result } = await asked(t, on, { ...ASK, modelPreferences });
    assert.equal(result.content.text, 'so');
    assert.deepEqual(given, [['small']]);
  });
}

test('the chosen model is asked', async (t) => {
  const { seen, on } = frameworks.openai.make('so');
  await asked(t, on({ choose: () => 'small' }), ASK);
  assert.equal(seen[0].model, 'small');
});

test('a model of LangChain that is made already is asked where its length is ignored', async (t) => {
  const model = new Seeing([], ['so']);
  await refused(t, langchain.sampling(model), ASK, 'has no maxTokens');
  const { result } = await asked(t, langchain.sampling(model, { ignore: ['maxTokens'] }), ASK);
  assert.equal(result.content.text, 'so');
});

const broken = [
  ['its maxTokens is missing', { messages: [] }],
  ['no objects', { messages: ['hello'], maxTokens: 7 }],
  ['"video"', { messages: [{ role: 'user', content: { type: 'video' } }], maxTokens: 7 }],
  ['before its result', { messages: [{ role: 'user', content: RESULT }], maxTokens: 7 }],
  ['"tool_use"', { messages: [{ role: 'user', content: USE }], maxTokens: 7 }],
  [
    'other content',
    {
      messages: [
        { role: 'assistant', content: USE },
        { role: 'user', content: [RESULT, text('and')] },
      ],
      maxTokens: 7,
    },
  ],
];
for (const [why, params] of broken) {
  test(`a request that cannot be read is refused with a reason: ${why}`, (t) =>
    refused(t, frameworks.openai.make('never').on(), params, why));
}

test('a failed result is marked', async (t) => {
  const messages = [...TALK.messages.slice(0, 2), { role: 'user', content: { ...RESULT, isError: true } }];
  const lastOf = async (name) => {
    const { seen, on } = frameworks[name].make('done');
    await asked(t, on(), { ...TALK, messages });
    return JSON.stringify(seen[0]);
  };
  assert.match(await lastOf('openai'), /"Error: 3"/);
  assert.match(await lastOf('openai-agents'), /"Error: 3"/);
  assert.match(await lastOf('anthropic'), /"is_error":true/);
  assert.match(await lastOf('ai-sdk'), /"type":"error-text","value":"3"/);
});
