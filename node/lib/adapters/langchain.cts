// LangChain's adapter for `require`.
import { adapt, type LangChain } from './langchain.js';
import { missing, required } from './missing.js';

export type { ToolRecord } from './langchain.js';

const core = missing('langchain', '@langchain/core');
const { tool } = required(() => require('@langchain/core/tools'), core);
const { ToolMessage } = required(() => require('@langchain/core/messages'), core);
// Only live tools need it, so it is not required for the other functions.
const createMiddleware: typeof import('langchain').createMiddleware = (config) => {
  const langchain = required(() => require('langchain'), missing('langchain', 'langchain'));
  return langchain.createMiddleware(config);
};
const adapter: LangChain = adapt({ tool, ToolMessage, createMiddleware });
export const tools: LangChain['tools'] = adapter.tools;
export const liveTools: LangChain['liveTools'] = adapter.liveTools;
export const interruptOn: LangChain['interruptOn'] = adapter.interruptOn;
