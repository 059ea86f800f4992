// Mastra's adapter for `require`.
import { adapt, type Mastra } from './mastra.js';
import { missing, required } from './missing.js';

export type { LiveOptions, LiveTools, MastraTools, PrepareStep, ToolOptions, ToolRecord } from './mastra.js';

const adapter: Mastra = adapt(
  required(() => require('@mastra/core/tools'), missing('mastra', '@mastra/core')),
);
export const tools: Mastra['tools'] = adapter.tools;
export const liveTools: Mastra['liveTools'] = adapter.liveTools;
