// Clients of OpenAI before a `fetch` that asks a script, for chat completions and for responses.
import OpenAI from 'openai';
import { imageOf } from '../support.mjs';
import { fetchOf } from './fetch.mjs';

const clientOf = (script, see, answer) =>
  new OpenAI({ apiKey: 'none', maxRetries: 0, fetch: fetchOf(script, see, answer) });

/** With `raw`, arguments are given as the script has them instead of as JSON. */
export const chat = (script, { raw = false } = {}) =>
  clientOf(
    script,
    ({ messages, tools = [] }) => {
      const asked = messages.findLastIndex(({ role }) => role === 'assistant');
      const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
      return {
        tools: tools.map(({ function: { name } }) => name),
        schemas: tools.map(({ function: { parameters } }) => parameters),
        results: results.map(({ content }) => ({ text: content, images: [] })),
      };
    },
    (said, { messages, model }) => {
      const calls = () =>
        said.map(({ name, args }, index) => ({
          ...{ id: `call-${messages.length}-${index}`, type: 'function' },
          function: { name, arguments: raw ? args : JSON.stringify(args) },
        }));
      const message =
        typeof said === 'string'
          ? // Some providers send an empty list with a text.
            { role: 'assistant', content: said, refusal: null, tool_calls: [] }
          : { role: 'assistant', content: null, refusal: null, tool_calls: calls() };
      const finish_reason = typeof said === 'string' ? 'stop' : 'tool_calls';
      const choices = [{ index: 0, message, finish_reason, logprobs: null }];
      return { id: 'chat', object: 'chat.completion', created: 1, model, choices };
    },
  );

function shown({ output }) {
  if (typeof output === 'string') return { text: output, images: [] };
  const [{ text }, ...images] = output;
  return { text, images: images.map(({ image_url }) => imageOf(image_url)) };
}

export const responses = (script) =>
  clientOf(
    script,
    ({ input, tools = [] }) => {
      const asked = input.findLastIndex(({ type }) => type === 'function_call');
      const results = input.slice(asked + 1).filter(({ type }) => type === 'function_call_output');
      const schemas = tools.map(({ parameters }) => parameters);
      return { tools: tools.map(({ name }) => name), schemas, results: results.map(shown) };
    },
    (said, { input, model }) => {
      const content = (text) => [{ type: 'output_text', text, annotations: [] }];
      const output =
        typeof said === 'string'
          ? [{ type: 'message', id: 'm', role: 'assistant', status: 'completed', content: content(said) }]
          : said.map(({ name, args }, index) => ({
              ...{ type: 'function_call', id: `fc${index}`, call_id: `call-${input.length}-${index}`, name },
              arguments: JSON.stringify(args),
            }));
      return { id: 'resp', object: 'response', created_at: 1, model, status: 'completed', output };
    },
  );
