// Mastra's adapter for `import`.
import { adapt, type Mastra } from './mastra.js';
import { missing } from './missing.js';

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
  createTool: (await import('@mastra/core/tools').catch(missing('mastra', '@mastra/core'))).createTool,
  agents: () => import('@mastra/core/agent'),
});
export const tools: Mastra['tools'] = adapter.tools;
export const liveTools: Mastra['liveTools'] = adapter.liveTools;
export const sampling: Mastra['sampling'] = adapter.sampling;
