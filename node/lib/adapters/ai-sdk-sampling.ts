// Owns a server's sampling request in the shapes of the AI SDK, which Mastra takes, too.
import type { ModelMessage } from 'ai';
import {
  assistantText,
  inputOf,
  type Media,
  type Message,
  Refused,
  type Reply,
  resultText,
  type Text,
  type ToolUse,
} from './sampling.js';

/** How a version writes an image in the result of a tool. */
export type ImagePart = (image: Media) => unknown;

export const messagesOf = (messages: Message[], imagePart: ImagePart): ModelMessage[] =>
  messages.map((message) => messageOf(message, imagePart)) as ModelMessage[];

function messageOf(message: Message, imagePart: ImagePart): unknown {
  const { isUser, blocks, uses, results } = message;
  if (results.length > 0) {
    const content = results.map((result) => {
      const { id, name, content, isError } = result;
      const hasMedia = !isError && content.some(({ type }) => type !== 'text');
      const value = content.map((block) => (block.type === 'text' ? block : imagePart(imageOnly(block))));
      const text = {
        type: isError ? 'error-text' : 'text',
        value: resultText({ ...result, isError: false }),
      };
      const output = hasMedia ? { type: 'content', value } : text;
      return { type: 'tool-result', toolCallId: id, toolName: name, output };
    });
    return { role: 'tool', content };
  }
  if (isUser) return { role: 'user', content: blocks.map(partOf) };
  const said = blocks.length > 0 ? [{ type: 'text', text: assistantText(message) }] : [];
  const calls = uses.map(({ id, name, input }) => ({
    ...{ type: 'tool-call', toolCallId: id, toolName: name, input },
  }));
  return { role: 'assistant', content: [...said, ...calls] };
}

function partOf(block: Text | Media): unknown {
  if (block.type === 'text') return block;
  return { type: 'file', data: block.data, mediaType: block.mimeType };
}

function imageOnly(media: Media): Media {
  if (media.type === 'image') return media;
  throw new Refused(`the model takes no ${media.type} in results of tools`);
}

/** What both have of an answer. */
export interface Generated {
  text: string;
  files: readonly { base64: string; mediaType: string }[];
  calls: readonly { toolCallId: string; toolName: string; input: unknown; invalid?: boolean | undefined }[];
  finishReason: string | undefined;
  model: string;
}

export function replyOf({ text, files, calls, finishReason, model }: Generated): Reply {
  const media = files.map(({ base64, mediaType }): Media => {
    const type = mediaType.split('/')[0];
    if (type !== 'image' && type !== 'audio') throw new Refused(`the model answered with ${mediaType}`);
    return { type, data: base64, mimeType: mediaType };
  });
  const uses = calls.map(({ toolCallId, toolName, input, invalid }): ToolUse => {
    if (invalid) throw new Refused('the model’s call of a tool cannot be read');
    return { type: 'tool_use', id: toolCallId, name: toolName, input: inputOf(input) };
  });
  return { blocks: [{ type: 'text', text }, ...media, ...uses], model, reason: finishReason };
}
