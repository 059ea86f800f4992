// Mastra's adapter for `require`.
import { adapt, type Mastra } from './mastra.js';
import { missing, required } from './missing.js';

export type {
  LiveOptions,
  LiveTools,
  MastraModel,
  MastraTools,
  PrepareStep,
  SamplingOptions,
  ToolOptions,
  ToolRecord,
} from './mastra.js';

const adapter: Mastra = adapt({
  createTool: required(() => require('@mastra/core/tools'), missing('mastra', '@mastra/core')).createTool,
  agents: async () => require('@mastra/core/agent'),
});
export const tools: Mastra['tools'] = adapter.tools;
export const liveTools: Mastra['liveTools'] = adapter.liveTools;
export const sampling: Mastra['sampling'] = adapter.sampling;
