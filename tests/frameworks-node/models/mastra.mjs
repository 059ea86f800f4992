// A model of Mastra that asks a script; Mastra's own mock.
import { MastraLanguageModelV2Mock } from '@mastra/core/test-utils/llm-mock';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

const resultOf = ({ type, value }) => ({
  text: type === 'content' ? value[0].text : typeof value === 'string' ? value : JSON.stringify(value),
  isError: type === 'error-text',
  images:
    type === 'content' ? value.slice(1).map(({ data, mediaType }) => ({ data, mimeType: mediaType })) : [],
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
  if (typeof said === 'string') return { parts: [{ type: 'text', text: said }], finishReason: 'stop' };
  const parts = said.map(({ name, args }, index) => ({
    ...{ type: 'tool-call', toolCallId: `call-${prompt.length}-${index}`, toolName: name },
    input: JSON.stringify(args),
  }));
  return { parts, finishReason: 'tool-calls' };
}

export const model = (script) =>
  new MastraLanguageModelV2Mock({
    doGenerate: async (request) => {
      const { parts, finishReason } = await say(script, request);
      return { content: parts, finishReason, usage, warnings: [] };
    },
    doStream: async (request) => {
      const { parts, finishReason } = await say(script, request);
      const text = (part) => [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: part.text },
        { type: 'text-end', id: '1' },
      ];
      const chunks = [
        { type: 'stream-start', warnings: [] },
        ...parts.flatMap((part) => (part.type === 'text' ? text(part) : [part])),
        { type: 'finish', finishReason, usage },
      ];
      return { stream: ReadableStream.from(chunks) };
    },
  });
