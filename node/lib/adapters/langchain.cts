// LangChain's adapter for `require`.
import { adapt, type LangChain } from './langchain.js';
import { missing, required } from './missing.js';

export type { ModelOrMaker, ModelSettings, SamplingOptions, ToolOptions, ToolRecord } from './langchain.js';

const core = missing('langchain', '@langchain/core');
const { tool } = required(() => require('@langchain/core/tools'), core);
const messages = required(() => require('@langchain/core/messages'), core);
const agents = () => required(() => require('langchain'), missing('langchain', 'langchain'));
const adapter: LangChain = adapt({ tool, messages, agents });
export const tools: LangChain['tools'] = adapter.tools;
export const liveTools: LangChain['liveTools'] = adapter.liveTools;
export const interruptOn: LangChain['interruptOn'] = adapter.interruptOn;
export const sampling: LangChain['sampling'] = adapter.sampling;
