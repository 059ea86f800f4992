// Framework × case: which outcome of `cases.mjs` each loop has. Every cell is filled, and every cell is a test. What a
// framework cannot do stands here as its outcome, and in docs/adapters.md.

/** The outcomes of a framework that has no limits. */
const best = {
  structured: 'text',
  image: 'shown',
  error: 'marked',
  'error with image': 'marked',
  'unknown tool': 'answered',
  'bad arguments': 'answered',
  'free-form arguments': 'kept',
  'kill between turns': 'goes on',
  'kill within a call': 'marked',
  'list change': 'next turn',
  refused: 'marked',
  cancelled: 'ends the run',
  'two agents': 'apart',
  'long result': 'cut',
};

/** The framework has no mark for a failure: it is in the text. */
const unmarked = {
  error: 'text',
  'error with image': 'text',
  'kill within a call': 'text',
  refused: 'text',
};
/** The framework answers for tools that it does not know. */
const answersItself = { 'unknown tool': 'told' };
/** The framework takes the list once for a run. */
const once = { 'list change': 'next run' };
/** The framework's results are text only. */
const textOnly = { image: 'named' };

export const table = {
  'ai-sdk generateText': { ...best, ...answersItself },
  'ai-sdk streamText': { ...best, ...answersItself },
  'ai-sdk ToolLoopAgent': { ...best, ...answersItself },
  'langchain liveTools': best,
  'langchain tools': { ...best, ...answersItself, ...once },
  'openai-agents server': { ...best, ...unmarked, 'unknown tool': 'ends the run' },
  'openai-agents tools': { ...best, ...unmarked, 'unknown tool': 'ends the run', ...once },
  'mastra liveTools': { ...best, ...answersItself },
  'mastra stream': { ...best, ...answersItself },
  'mastra tools': { ...best, ...answersItself, ...once },
  'anthropic messages': best,
  'anthropic toolRunner': { ...best, ...answersItself, ...once },
  'openai chat': { ...best, ...unmarked, ...textOnly },
  'openai runTools': { ...best, ...unmarked, ...textOnly, ...answersItself, ...once },
  'openai responses': { ...best, ...unmarked },
};
