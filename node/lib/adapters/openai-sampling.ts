// Owns a server's sampling request as a chat completion of OpenAI.
import type OpenAI from 'openai';
import type {
  ChatCompletion,
  ChatCompletionContentPart,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import {
  assistantText,
  audioFormat,
  checkImage,
  inputOf,
  type Media,
  type Message,
  type Prompt,
  Refused,
  type Reply,
  resultText,
  type Text,
  type ToolUse,
} from './sampling.js';
import { dataUrl, entriesOf } from './shared.js';

export async function ask(client: OpenAI, prompt: Prompt, model: string): Promise<Reply> {
  const { system, maxTokens, temperature, stop, tools, toolChoice } = prompt;
  const request: ChatCompletionCreateParamsNonStreaming = {
    model,
    messages: [
      ...(system ? [{ role: 'system' as const, content: system }] : []),
      ...prompt.messages.flatMap(messagesOf),
    ],
    ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stop.length > 0 && { stop }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema }) => ({
        type: 'function' as const,
        function: { name, description, parameters: schema },
      })),
      tool_choice: toolChoice,
    }),
  };
  return replyOf(await client.chat.completions.create(request));
}

function messagesOf(message: Message): ChatCompletionMessageParam[] {
  if (message.results.length > 0) {
    return message.results.map((result) => ({
      ...{ role: 'tool', tool_call_id: result.id, content: resultText(result) },
    }));
  }
  if (message.isUser) return [{ role: 'user', content: message.blocks.map(partOf) }];
  const tool_calls = message.uses.map(({ id, name, input }) => ({
    ...{ id, type: 'function' as const, function: { name, arguments: JSON.stringify(input) } },
  }));
  const said = { role: 'assistant' as const, content: assistantText(message) || null };
  return [{ ...said, ...(tool_calls.length > 0 && { tool_calls }) }];
}

function partOf(block: Text | Media): ChatCompletionContentPart {
  if (block.type === 'text') return block;
  if (block.type === 'image') return { type: 'image_url', image_url: { url: dataUrl(checkImage(block)) } };
  return { type: 'input_audio', input_audio: { data: block.data, format: audioFormat(block) } };
}

function replyOf({ choices, model }: ChatCompletion): Reply {
  const [choice] = entriesOf(choices);
  if (!choice) throw new Refused('the model gave no answer');
  const { content, refusal, tool_calls } = choice.message;
  const uses = entriesOf(tool_calls).map((call): ToolUse => {
    if (call.type !== 'function') throw new Refused('the model called something that is no function');
    const { name, arguments: json } = call.function;
    return { type: 'tool_use', id: call.id, name, input: inputOf(json) };
  });
  const blocks = [{ type: 'text' as const, text: content || refusal || '' }, ...uses];
  return { blocks, model, reason: refusal ? 'refusal' : choice.finish_reason };
}
