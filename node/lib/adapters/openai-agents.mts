// The OpenAI Agents SDK's adapter for `import`.
import { missing } from './missing.js';
import { adapt, type OpenAiAgents } from './openai-agents.js';

export type { SamplingOptions, ServerOptions, ToolOptions } from './openai-agents.js';

const adapter: OpenAiAgents = adapt(
  await import('@openai/agents').catch(missing('openai-agents', '@openai/agents')),
);
export const server: OpenAiAgents['server'] = adapter.server;
export const tools: OpenAiAgents['tools'] = adapter.tools;
export const sampling: OpenAiAgents['sampling'] = adapter.sampling;
