// Owns a server's sampling request as a call of a chat model of LangChain.
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { AIMessageChunk, BaseMessage } from '@langchain/core/messages';
import {
  assistantText,
  type Media,
  type Message,
  type Prompt,
  Refused,
  type Reply,
  refuse,
  type Text,
  type ToolUse,
} from './sampling.js';

/** What is set when a model is made, because LangChain's models do not take it with a request. */
export interface ModelSettings {
  /** How long the message may be. Undefined if that is ignored. */
  maxTokens: number | undefined;
  temperature: number | undefined;
  /** The names of models that the server would like. */
  hints: string[];
}

/** A model, or a function that makes one for a request. */
export type ModelOrMaker = BaseChatModel | ((settings: ModelSettings) => BaseChatModel);

export type Messages = Pick<
  typeof import('@langchain/core/messages'),
  'AIMessage' | 'HumanMessage' | 'SystemMessage' | 'ToolMessage'
>;

export async function ask(messages: Messages, prompt: Prompt, given: ModelOrMaker): Promise<Reply> {
  const { maxTokens, temperature, hints, stop } = prompt;
  if (typeof given !== 'function') {
    const way = 'a model of LangChain that is made already, unlike a function that makes one,';
    refuse(prompt, way, 'maxTokens', 'temperature');
  }
  const model = typeof given === 'function' ? given({ maxTokens, temperature, hints }) : given;
  const talk: BaseMessage[] = prompt.messages.flatMap((message) => messagesOf(messages, message));
  if (prompt.system) talk.unshift(new messages.SystemMessage(prompt.system));
  const answer = await withTools(model, prompt).invoke(talk, stop.length > 0 ? { stop } : {});
  return replyOf(answer as AIMessageChunk, model);
}

function withTools(model: BaseChatModel, { tools, toolChoice }: Prompt): Pick<BaseChatModel, 'invoke'> {
  // Not all models know the choice "none"; without tools there is none.
  if (tools.length === 0 || toolChoice === 'none') return model;
  if (!model.bindTools) throw new Refused(`${model._llmType()} takes no tools`);
  const offered = tools.map(({ name, description, schema }) => ({
    ...{ type: 'function', function: { name, description, parameters: schema } },
  }));
  return model.bindTools(offered, toolChoice === 'required' ? { tool_choice: 'any' } : {}) as never;
}

function messagesOf(made: Messages, message: Message): BaseMessage[] {
  const { isUser, blocks, uses, results } = message;
  if (results.length > 0) {
    return results.map(
      ({ id, name, content, isError }) =>
        new made.ToolMessage({
          ...{ tool_call_id: id, name, content: content.map(blockOf) },
          status: isError ? 'error' : 'success',
        }),
    );
  }
  if (isUser) return [new made.HumanMessage({ content: blocks.map(blockOf) })];
  const tool_calls = uses.map(({ id, name, input }) => ({ id, name, args: input }));
  return [new made.AIMessage({ content: assistantText(message), tool_calls })];
}

const blockOf = (block: Text | Media) => ({ ...block });

function replyOf(answer: AIMessageChunk, model: BaseChatModel): Reply {
  if (answer.invalid_tool_calls?.length) throw new Refused('the model’s call of a tool cannot be read');
  const blocks = answer.contentBlocks.flatMap((block): (Text | Media)[] => {
    if (block.type === 'text') return [{ type: 'text', text: String(block.text) }];
    if (block.type === 'tool_call' || block.type === 'reasoning') return [];
    const { type, data, mimeType } = block as { type: string; data?: unknown; mimeType?: string };
    if ((type !== 'image' && type !== 'audio') || typeof data !== 'string') {
      throw new Refused(`the model answered with content of type "${type}"`);
    }
    return [{ type, data, mimeType: mimeType ?? '' }];
  });
  const uses = (answer.tool_calls ?? []).map(
    ({ id, name, args }): ToolUse => ({ type: 'tool_use', id: id ?? name, name, input: args }),
  );
  const said = answer.response_metadata as Record<string, string | undefined>;
  const { model_name, model: named, finish_reason, stop_reason } = said;
  return {
    blocks: [...blocks, ...uses],
    model: model_name ?? named ?? model._llmType(),
    reason: finish_reason ?? stop_reason,
  };
}
