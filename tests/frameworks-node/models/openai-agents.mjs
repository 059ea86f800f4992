// A model of the OpenAI Agents SDK that asks a script.
import { Usage } from '@openai/agents';
import { imageOf } from '../support.mjs';

function resultOf({ output }) {
  const items = Array.isArray(output) ? output : [output];
  const text = items.find(({ type }) => type === 'text' || type === 'input_text')?.text ?? output;
  const images = items.filter(({ type }) => type === 'image' || type === 'input_image');
  return { text, images: images.map(({ image }) => imageOf(image)) };
}

export const model = (script) => ({
  async getResponse({ input, tools }) {
    const items = typeof input === 'string' ? [] : input;
    const asked = items.findLastIndex(({ type }) => type === 'function_call');
    const results = items.slice(asked + 1).filter(({ type }) => type === 'function_call_result');
    const schemas = tools.map(({ parameters }) => parameters);
    const said = await script({
      tools: tools.map(({ name }) => name),
      schemas,
      results: results.map(resultOf),
    });
    const message = (text) => ({
      ...{ type: 'message', role: 'assistant', status: 'completed' },
      content: [{ type: 'output_text', text }],
    });
    const output =
      typeof said === 'string'
        ? [message(said)]
        : said.map(({ name, args }, index) => ({
            ...{ type: 'function_call', name, callId: `call-${items.length}-${index}` },
            arguments: typeof args === 'string' ? args : JSON.stringify(args),
          }));
    return { usage: new Usage(), output };
  },
});
