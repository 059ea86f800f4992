// A model of the AI SDK that asks a script; the SDK's own mock.
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { chunksOf, say } from './parts.mjs';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const imageOf = ({ data, mediaType }) => ({ data: data.data, mimeType: mediaType });

async function answer(script, request) {
  const { parts, reason } = await say(script, request, imageOf);
  return { parts, finish: { finishReason: { unified: reason, raw: reason }, usage } };
}

export const model = (script) =>
  new MockLanguageModelV4({
    doGenerate: async (request) => {
      const { parts, finish } = await answer(script, request);
      return { content: parts, ...finish, warnings: [] };
    },
    doStream: async (request) => {
      const { parts, finish } = await answer(script, request);
      return { stream: simulateReadableStream({ chunks: chunksOf(parts, finish) }) };
    },
  });
