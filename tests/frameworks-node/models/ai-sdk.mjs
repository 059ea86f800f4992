// A model of the AI SDK that asks a script; the SDK's own mock.
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const resultOf = ({ type, value }) => ({
  text: type === 'content' ? value[0].text : value,
  isError: type === 'error-text',
  images:
    type === 'content'
      ? value.slice(1).map(({ data, mediaType }) => ({ data: data.data, mimeType: mediaType }))
      : [],
});

/** What the model sees, and the parts that it answers with. */
async function say(script, { prompt, tools = [] }) {
  const last = prompt.at(-1);
  const results = last.role === 'tool' ? last.content.map(({ output }) => resultOf(output)) : [];
  const said = await script({
    ...{
      tools: tools.map(({ name }) => name),
      schemas: tools.map(({ inputSchema }) => inputSchema),
      results,
    },
  });
  if (typeof said === 'string') return { parts: [{ type: 'text', text: said }], reason: 'stop' };
  const parts = said.map(({ name, args }, index) => ({
    ...{ type: 'tool-call', toolCallId: `call-${prompt.length}-${index}`, toolName: name },
    input: JSON.stringify(args),
  }));
  return { parts, reason: 'tool-calls' };
}

export const model = (script) =>
  new MockLanguageModelV4({
    doGenerate: async (request) => {
      const { parts, reason } = await say(script, request);
      return { content: parts, finishReason: { unified: reason, raw: reason }, usage, warnings: [] };
    },
    doStream: async (request) => {
      const { parts, reason } = await say(script, request);
      const text = (part) => [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: part.text },
        { type: 'text-end', id: '1' },
      ];
      const chunks = [
        { type: 'stream-start', warnings: [] },
        ...parts.flatMap((part) => (part.type === 'text' ? text(part) : [part])),
        { type: 'finish', finishReason: { unified: reason, raw: reason }, usage },
      ];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
