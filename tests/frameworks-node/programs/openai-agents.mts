// Compiled only: what a program may write with the OpenAI Agents SDK, and what it may not.
import { Agent, type FunctionTool, type MCPServer, type Model, run } from '@openai/agents';
import { Manager } from 'mcpool';
import { sampling, server, tools } from 'mcpool/adapters/openai-agents';

export async function program(): Promise<string | undefined> {
  await using manager = new Manager({ mcpServers: {} });
  const pool: MCPServer = server(manager, { name: 'pool', customDataExtractor: () => ({}) });
  const list: FunctionTool[] = tools(manager, { needsApproval: true });
  const agent = new Agent({ name: 'agent', instructions: 'go', mcpServers: [pool], tools: list });
  return (await run(agent, 'go')).finalOutput;
}

// @ts-expect-error: a manager is needed
server();
// @ts-expect-error: nobody would ask
server(new Manager({ mcpServers: {} }), { needsApproval: true });
// @ts-expect-error: a name is a text
server(new Manager({ mcpServers: {} }), { name: 7 });

export const sampled = (model: Model): Manager =>
  new Manager({ mcpServers: {} }, { onSampling: sampling(model) });
