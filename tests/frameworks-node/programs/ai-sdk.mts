// Compiled only: what a program may write with the AI SDK, and what it may not.
import {
  generateText,
  type LanguageModel,
  type PrepareStepFunction,
  streamText,
  type Tool,
  ToolLoopAgent,
  type ToolSet,
} from 'ai';
import { Manager } from 'mcpool';
import { liveTools, sampling, type ToolRecord, tools } from 'mcpool/adapters/ai-sdk';

export async function program(model: LanguageModel): Promise<string> {
  await using manager = new Manager({ mcpServers: {} });
  const own: Tool = tools(manager, { needsApproval: true }).mcp_a_echo as Tool;
  const set: ToolSet = tools(manager);
  const agent = new ToolLoopAgent({ model, ...liveTools(manager, { own: { own } }) });
  await agent.generate({ prompt: 'go' });
  streamText({ model, prompt: 'go', tools: { ...set, own } });
  const prepareStep: PrepareStepFunction<ToolSet> = ({ stepNumber }) => ({
    toolChoice: stepNumber === 0 ? 'required' : 'auto',
  });
  const live = liveTools(manager, { needsApproval: true, own: { own }, prepareStep });
  streamText({ model, prompt: 'go', ...live });
  const result = await generateText({ model, prompt: 'go', ...liveTools(manager) });
  const record = result.toolResults[0]?.output as ToolRecord;
  const images: string[] = record.content.map(({ type }) => type);
  return record.text + images.join();
}

// @ts-expect-error: a manager is needed
tools();
// @ts-expect-error: no such option
tools(new Manager({ mcpServers: {} }), { approval: true });
// @ts-expect-error: it is a set, no list
tools(new Manager({ mcpServers: {} })) satisfies unknown[];

export const sampled = (model: LanguageModel, small: LanguageModel): Manager => {
  const choose = (hints: string[]) => (hints.includes('small') ? small : undefined);
  return new Manager({ mcpServers: {} }, { onSampling: sampling(model, { choose }) });
};
