// A client of Anthropic before a `fetch` that asks a script.
import Anthropic from '@anthropic-ai/sdk';
import { fetchOf } from './fetch.mjs';

function resultOf({ content, is_error = false }) {
  // What the runner says itself is a text.
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return {
    text: blocks.find(({ type }) => type === 'text').text,
    isError: is_error,
    images: blocks
      .filter(({ type }) => type === 'image')
      .map(({ source }) => ({ data: source.data, mimeType: source.media_type })),
  };
}

/** What the model sees. A request of the runner goes on from the one before, so the tools are remembered. */
function seeing() {
  const offered = new Map();
  return ({ messages, tools }) => {
    if (tools) offered.clear();
    for (const tool of tools ?? []) offered.set(tool.name, tool);
    for (const { type, tool } of messages.flatMap(({ role, content }) =>
      role === 'system' ? content : [],
    )) {
      if (type === 'tool_addition') offered.set(tool.definition.name, tool.definition);
      if (type === 'tool_removal') offered.delete(tool.name);
    }
    const { content } = messages.findLast(({ role }) => role === 'user');
    const results = Array.isArray(content) ? content.filter(({ type }) => type === 'tool_result') : [];
    const schemas = [...offered.values()].map(({ input_schema }) => input_schema);
    return { tools: [...offered.keys()], schemas, results: results.map(resultOf) };
  };
}

function answer(said, { messages, model }) {
  const content =
    typeof said === 'string'
      ? [{ type: 'text', text: said }]
      : said.map(({ name, args }, index) => ({
          ...{ type: 'tool_use', id: `call-${messages.length}-${index}`, name, input: args },
        }));
  const stop_reason = typeof said === 'string' ? 'end_turn' : 'tool_use';
  const usage = { input_tokens: 1, output_tokens: 1 };
  return {
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  };
}

export const clientOf = (script) =>
  new Anthropic({ apiKey: 'none', maxRetries: 0, fetch: fetchOf(script, seeing(), answer) });
