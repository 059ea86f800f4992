// A model of the AI SDK that asks a script; the SDK's own mock.
import * as sdk from 'ai/test';
import { chunksOf, say } from './parts.mjs';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const imageOf = ({ type, data, mediaType }) => ({
  data: type === 'file' ? data.data : data,
  mimeType: mediaType,
});

/** Of version 7, or of version 6. */
const MockLanguageModel = sdk.MockLanguageModelV4 ?? sdk.MockLanguageModelV3;

async function answer(script, request) {
  const { parts, reason } = await say(script, request, imageOf);
  return { parts, finish: { finishReason: { unified: reason, raw: reason }, usage } };
}

export const model = (script) =>
  new MockLanguageModel({
    doGenerate: async (request) => {
      const { parts, finish } = await answer(script, request);
      return { content: parts, ...finish, warnings: [] };
    },
    doStream: async (request) => {
      const { parts, finish } = await answer(script, request);
      return { stream: sdk.simulateReadableStream({ chunks: chunksOf(parts, finish) }) };
    },
  });
