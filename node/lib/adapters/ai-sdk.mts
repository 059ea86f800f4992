// The AI SDK's adapter for `import`.
import { type AiSdk, adapt } from './ai-sdk.js';
import { missing } from './missing.js';

export type { LiveOptions, LiveTools, SamplingOptions, ToolOptions, ToolRecord } from './ai-sdk.js';

const adapter: AiSdk = adapt(await import('ai').catch(missing('ai-sdk', 'ai')));
export const tools: AiSdk['tools'] = adapter.tools;
export const liveTools: AiSdk['liveTools'] = adapter.liveTools;
export const sampling: AiSdk['sampling'] = adapter.sampling;
