// The OpenAI SDK: loops of chat completions and of responses, and its own `runTools`, before a `fetch` that asks the script.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import * as imported from 'mcpool/adapters/openai';
import { battery } from './battery.mjs';
import { chat, responses } from './models/openai.mjs';
import { world } from './support.mjs';

const { chatTools, responseTools, runChat, runnerTools, runResponse } = imported;

battery('openai chat', {
  run: async (manager, script, { signal }) => {
    const client = chat(script);
    const messages = [{ role: 'user', content: 'go' }];
    for (;;) {
      const body = { model: 'gpt', messages, tools: chatTools(manager) };
      const { choices } = await client.chat.completions.create(body, { signal });
      const [{ message }] = choices;
      if (!message.tool_calls?.length) return message.content;
      messages.push(message, ...(await runChat(manager, message, { signal })));
    }
  },
});

battery('openai runTools', {
  run: async (manager, script, { signal }) => {
    const messages = [{ role: 'user', content: 'go' }];
    const body = { model: 'gpt', messages, tools: runnerTools(manager) };
    return chat(script).chat.completions.runTools(body, { signal }).finalContent();
  },
});

battery('openai responses', {
  run: async (manager, script, { signal }) => {
    const client = responses(script);
    const input = [{ role: 'user', content: 'go' }];
    for (;;) {
      const body = { model: 'gpt', input, tools: responseTools(manager) };
      const response = await client.responses.create(body, { signal });
      const answers = await runResponse(manager, response, { signal });
      if (answers.length === 0) return response.output_text;
      input.push(...response.output, ...answers);
    }
  },
});

const asking = (name, json) => ({
  tool_calls: [{ type: 'function', id: 'call', function: { name, arguments: json } }],
});

test('a name that no tool has is answered', async (t) => {
  const { manager } = await world(t);
  const [message] = await runChat(manager, asking('mcp_a_ech', '{}'));
  assert.equal(message.tool_call_id, 'call');
  assert.match(message.content, /MCP error: .*mcp_a_ech/);
});

test('what asks for nothing is answered by nothing', async (t) => {
  const { manager } = await world(t);
  for (const none of [undefined, null, 'x', [], {}]) {
    assert.deepEqual(await runChat(manager, none), []);
    assert.deepEqual(await runResponse(manager, none), []);
    assert.deepEqual(await runChat(manager, { tool_calls: none }), []);
    assert.deepEqual(await runResponse(manager, { output: none }), []);
    assert.deepEqual(await runChat(manager, { tool_calls: [none] }), []);
    assert.deepEqual(await runResponse(manager, { output: [none] }), []);
  }
});

test('a call that names no tool is answered', async (t) => {
  const { manager } = await world(t);
  for (const named of [undefined, null, {}, { name: null }]) {
    const calls = [{ type: 'function', id: 'call', function: named }];
    const [message] = await runChat(manager, { tool_calls: calls });
    assert.equal(message.tool_call_id, 'call');
    assert.match(message.content, /MCP error: There is no tool ""/);
    const [item] = await runResponse(manager, {
      output: [{ type: 'function_call', call_id: 'c', ...named }],
    });
    assert.equal(item.call_id, 'c');
    assert.match(item.output, /MCP error: There is no tool ""/);
  }
});

test('a wrong option is told the program, not the model', async (t) => {
  const { manager } = await world(t);
  const refused = { code: 'INVALID_ARGUMENTS', hint: 'did you mean "timeoutMs", in milliseconds?' };
  await assert.rejects(runChat(manager, asking('mcp_a_echo', '{"text": "x"}'), { timeout: 5 }), refused);
});

test('require gives the same', () => {
  const required = createRequire(import.meta.url)('mcpool/adapters/openai');
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort());
});
