// The Anthropic SDK's adapter for `require`.
import { type AnthropicSdk, adapt } from './anthropic.js';
import { missing, required } from './missing.js';

export type { Asking, RunnerTools, SamplingOptions, ToolResult } from './anthropic.js';

const absent: (cause: unknown) => never = missing('anthropic', '@anthropic-ai/sdk');
const adapter: AnthropicSdk = adapt(required(() => require('@anthropic-ai/sdk/lib/tools/ToolError'), absent));
export const tools: AnthropicSdk['tools'] = adapter.tools;
export const run: AnthropicSdk['run'] = adapter.run;
export const runnerTools: AnthropicSdk['runnerTools'] = adapter.runnerTools;
export const sampling: AnthropicSdk['sampling'] = adapter.sampling;
