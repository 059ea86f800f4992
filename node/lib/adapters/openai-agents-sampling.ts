// Owns a server's sampling request as a request to a model of the OpenAI Agents SDK.
import type { AgentInputItem, AgentOutputItem, Model, SerializedTool } from '@openai/agents';
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
  refuse,
  resultText,
  type Text,
  type ToolUse,
} from './sampling.js';
import { dataUrl } from './shared.js';

export async function ask(prompt: Prompt, model: Model): Promise<Reply> {
  refuse(prompt, 'the OpenAI Agents SDK', 'stopSequences');
  const { system, maxTokens, temperature, tools, toolChoice } = prompt;
  const { output } = await model.getResponse({
    ...(system && { systemInstructions: system }),
    input: prompt.messages.flatMap(itemsOf),
    modelSettings: {
      ...(maxTokens !== undefined && { maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(tools.length > 0 && { toolChoice }),
    },
    tools: tools.map(
      ({ name, description, schema }) =>
        ({ type: 'function', name, description, parameters: schema, strict: false }) as SerializedTool,
    ),
    ...{ outputType: 'text', handoffs: [], tracing: false },
  });
  const named = (model as { model?: unknown }).model;
  return { blocks: output.flatMap(answered), model: typeof named === 'string' ? named : 'unknown' };
}

function itemsOf(message: Message): AgentInputItem[] {
  const { isUser, blocks, uses, results } = message;
  if (isUser && results.length === 0) return [{ role: 'user', content: blocks.map(partOf) }];
  const status = 'completed' as const;
  const text = { type: 'output_text' as const, text: assistantText(message) };
  return [
    ...(blocks.length > 0 ? [{ role: 'assistant' as const, status, content: [text] }] : []),
    ...uses.map(({ id, name, input }) => ({
      ...{ type: 'function_call' as const, callId: id, name, status, arguments: JSON.stringify(input) },
    })),
    ...results.map((result) => ({
      ...{ type: 'function_call_result' as const, callId: result.id, name: result.name, status },
      output: outputOf(result),
    })),
  ];
}

function outputOf(result: Message['results'][number]) {
  if (result.isError || result.content.every(({ type }) => type === 'text')) return resultText(result);
  return result.content.map((block) => {
    if (block.type === 'audio') throw new Refused('the model takes no audio in results of tools');
    return block.type === 'text' ? textPart(block) : imagePart(block);
  });
}

const textPart = ({ text }: Text) => ({ type: 'input_text' as const, text });
const imagePart = (image: Media) => ({ type: 'input_image' as const, image: dataUrl(checkImage(image)) });

function partOf(block: Text | Media) {
  if (block.type === 'text') return textPart(block);
  if (block.type === 'image') return imagePart(block);
  return { type: 'audio' as const, audio: block.data, format: audioFormat(block) };
}

function answered(item: AgentOutputItem): (Text | ToolUse)[] {
  if (item.type === 'function_call') {
    return [{ type: 'tool_use', id: item.callId, name: item.name, input: inputOf(item.arguments) }];
  }
  if (item.type === 'reasoning') return [];
  if (item.type !== 'message' && item.type !== undefined) {
    throw new Refused(`the model answered with content of type "${item.type}"`);
  }
  return (item.content as { type: string; text?: string; refusal?: string }[]).map((part): Text => {
    if (part.type !== 'output_text' && part.type !== 'refusal') {
      throw new Refused(`the model answered with content of type "${part.type}"`);
    }
    return { type: 'text', text: part.text ?? part.refusal ?? '' };
  });
}
