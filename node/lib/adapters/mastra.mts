// Mastra's adapter for `import`.
import { adapt, type Mastra } from './mastra.js';
import { missing } from './missing.js';

export type { LiveOptions, LiveTools, MastraTools, PrepareStep, ToolOptions, ToolRecord } from './mastra.js';

const adapter: Mastra = adapt(await import('@mastra/core/tools').catch(missing('mastra', '@mastra/core')));
export const tools: Mastra['tools'] = adapter.tools;
export const liveTools: Mastra['liveTools'] = adapter.liveTools;
