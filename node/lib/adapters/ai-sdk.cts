// The AI SDK's adapter for `require`.
import { type AiSdk, adapt } from './ai-sdk.js';
import { missing, required } from './missing.js';

export type { LiveOptions, LiveTools, SamplingOptions, ToolOptions, ToolRecord } from './ai-sdk.js';

const adapter: AiSdk = adapt(required(() => require('ai'), missing('ai-sdk', 'ai')));
export const tools: AiSdk['tools'] = adapter.tools;
export const liveTools: AiSdk['liveTools'] = adapter.liveTools;
export const sampling: AiSdk['sampling'] = adapter.sampling;
