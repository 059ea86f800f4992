// LangChain's adapter for `import`.
import { adapt, type LangChain } from './langchain.js';
import { missing } from './missing.js';

export type { ModelOrMaker, ModelSettings, SamplingOptions, ToolOptions, ToolRecord } from './langchain.js';

const [{ tool }, messages] = await Promise.all([
  import('@langchain/core/tools'),
  import('@langchain/core/messages'),
]).catch(missing('langchain', '@langchain/core'));
const agents = await import('langchain').then(
  (langchain) => () => langchain,
  (cause) => () => missing('langchain', 'langchain')(cause),
);
const adapter: LangChain = adapt({ tool, messages, agents });
export const tools: LangChain['tools'] = adapter.tools;
export const liveTools: LangChain['liveTools'] = adapter.liveTools;
export const interruptOn: LangChain['interruptOn'] = adapter.interruptOn;
export const sampling: LangChain['sampling'] = adapter.sampling;
