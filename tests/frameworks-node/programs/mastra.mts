// Compiled only: what a program may write with Mastra, and what it may not.
import { Agent } from '@mastra/core/agent';
import { Manager } from 'mcpool';
import {
  liveTools,
  type MastraModel,
  type PrepareStep,
  sampling,
  type ToolRecord,
  tools,
} from 'mcpool/adapters/mastra';

const manager = new Manager({ mcpServers: {} });

export async function program(): Promise<string> {
  const given = { id: 'agent', name: 'agent', instructions: 'go', model: 'openai/gpt-5' } as const;
  const agent = new Agent({ ...given, tools: () => tools(manager, { needsApproval: true }) });
  const other = new Agent({ ...given, tools: tools(manager) });
  await other.generate('go', { ...liveTools(manager) });
  const prepareStep: PrepareStep = ({ stepNumber }) => ({
    toolChoice: stepNumber === 0 ? 'required' : 'auto',
  });
  await other.stream('go', { maxSteps: 5, ...liveTools(manager, { needsApproval: true, prepareStep }) });
  return (await agent.generate('go')).text;
}

export const wordOf = ({ text, server }: ToolRecord): string => `${server}: ${text}`;

// @ts-expect-error: a manager is needed
tools();
// @ts-expect-error: no such option
liveTools(manager, { approval: true });

export const sampled = (model: MastraModel): Manager =>
  new Manager({ mcpServers: {} }, { onSampling: sampling(model) });
