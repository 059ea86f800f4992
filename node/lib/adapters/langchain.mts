// LangChain's adapter for `import`.
import { adapt, type LangChain } from './langchain.js';
import { missing } from './missing.js';

export type { ToolRecord } from './langchain.js';

const [{ tool }, { ToolMessage }] = await Promise.all([
  import('@langchain/core/tools'),
  import('@langchain/core/messages'),
]).catch(missing('langchain', '@langchain/core'));
const createMiddleware = await import('langchain').then(
  (langchain) => langchain.createMiddleware,
  // Only live tools need it, so it is not required for the other functions.
  (cause) => () => missing('langchain', 'langchain')(cause),
);
const adapter: LangChain = adapt({ tool, ToolMessage, createMiddleware });
export const tools: LangChain['tools'] = adapter.tools;
export const liveTools: LangChain['liveTools'] = adapter.liveTools;
export const interruptOn: LangChain['interruptOn'] = adapter.interruptOn;
