// Compiled only: what a program may write with LangChain, and what it may not.
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { DynamicStructuredTool } from '@langchain/core/tools';
import { createAgent, humanInTheLoopMiddleware } from 'langchain';
import { Manager } from 'mcpool';
import { interruptOn, liveTools, sampling, type ToolRecord, tools } from 'mcpool/adapters/langchain';

export async function program(model: BaseChatModel): Promise<unknown> {
  await using manager = new Manager({ mcpServers: {} });
  const list: DynamicStructuredTool[] = tools(manager);
  model.bindTools?.(list);
  const asks = humanInTheLoopMiddleware({ interruptOn: interruptOn(manager) });
  const agent = createAgent({
    model,
    tools: list,
    middleware: [asks, liveTools(manager, { needsApproval: true })],
  });
  const state = await agent.invoke({ messages: [{ role: 'user', content: 'go' }] });
  return state.messages.at(-1)?.content;
}

export const wordOf = ({ text, isError }: ToolRecord): string => (isError ? `failed: ${text}` : text);

// @ts-expect-error: a manager is needed
liveTools();
// @ts-expect-error: nobody would ask
tools(new Manager({ mcpServers: {} }), { needsApproval: true });
// @ts-expect-error: it is a list, no set
tools(new Manager({ mcpServers: {} })) satisfies Record<string, DynamicStructuredTool>;

export const sampled = (make: (maxTokens?: number) => BaseChatModel): Manager =>
  new Manager({ mcpServers: {} }, { onSampling: sampling(({ maxTokens }) => make(maxTokens)) });
