// A model of Mastra that asks a script; Mastra's own mock.
import { MastraLanguageModelV2Mock } from '@mastra/core/test-utils/llm-mock';
import { chunksOf, say } from './parts.mjs';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

const imageOf = ({ data, mediaType }) => ({ data, mimeType: mediaType });

async function answer(script, request) {
  const { parts, reason } = await say(script, request, imageOf);
  return { parts, finish: { finishReason: reason, usage } };
}

export const model = (script) =>
  new MastraLanguageModelV2Mock({
    // For this provider Mastra would rewrite schemas most.
    ...{ provider: 'openai.chat', modelId: 'gpt-4o' },
    doGenerate: async (request) => {
      const { parts, finish } = await answer(script, request);
      return { content: parts, ...finish, warnings: [] };
    },
    doStream: async (request) => {
      const { parts, finish } = await answer(script, request);
      return { stream: ReadableStream.from(chunksOf(parts, finish)) };
    },
  });
