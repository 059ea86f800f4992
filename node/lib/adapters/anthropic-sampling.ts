// Owns a server's sampling request as a message of Anthropic.
import type Anthropic from '@anthropic-ai/sdk';
import type {
  ContentBlock,
  ContentBlockParam,
  MessageCreateParamsNonStreaming,
  MessageParam,
  Tool,
} from '@anthropic-ai/sdk/resources/messages';
import {
  assistantText,
  checkImage,
  inputOf,
  type Media,
  type Message,
  type Prompt,
  Refused,
  type Reply,
  refuse,
  type Text,
  type ToolUse,
} from './sampling.js';

/** The words of the protocol and of the API. */
const CHOICES = { auto: 'auto', required: 'any', none: 'none' } as const;

export async function ask(client: Anthropic, prompt: Prompt, model: string): Promise<Reply> {
  refuse(prompt, 'the Anthropic SDK', 'temperature');
  const { system, maxTokens, stop, tools, toolChoice } = prompt;
  if (maxTokens === undefined) throw new Refused('the Anthropic SDK needs maxTokens');
  const request: MessageCreateParamsNonStreaming = {
    model,
    max_tokens: maxTokens,
    messages: prompt.messages.map(messageOf),
    ...(system && { system }),
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema }): Tool => {
        return { name, description, input_schema: schema as Tool['input_schema'] };
      }),
      tool_choice: { type: CHOICES[toolChoice] ?? 'auto' },
    }),
  };
  const answer = await client.messages.create(request);
  return { blocks: answer.content.flatMap(answered), model: answer.model, reason: answer.stop_reason };
}

function messageOf(message: Message): MessageParam {
  const { isUser, blocks, uses, results } = message;
  const said = isUser ? blocks.map(blockOf) : [{ type: 'text' as const, text: assistantText(message) }];
  const told = results.map(({ id, content, isError }) => ({
    ...{ type: 'tool_result' as const, tool_use_id: id, content: content.map(blockOf) },
    ...(isError && { is_error: true }),
  }));
  const content: ContentBlockParam[] = [...(blocks.length > 0 ? said : []), ...uses, ...told];
  return { role: isUser ? 'user' : 'assistant', content };
}

type Shown = Text | { type: 'image'; source: { type: 'base64'; media_type: 'image/png'; data: string } };

function blockOf(block: Text | Media): Shown {
  if (block.type === 'text') return block;
  const { data, mimeType } = checkImage(block);
  return { type: 'image', source: { type: 'base64', media_type: mimeType as 'image/png', data } };
}

function answered(block: ContentBlock): (Text | ToolUse)[] {
  if (block.type === 'text') return [{ type: 'text', text: block.text }];
  if (block.type === 'tool_use') {
    return [{ type: 'tool_use', id: block.id, name: block.name, input: inputOf(block.input) }];
  }
  if (block.type === 'thinking' || block.type === 'redacted_thinking') return [];
  throw new Refused(`the model answered with content of type "${block.type}"`);
}
