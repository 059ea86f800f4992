// What the models of the AI SDK and of Mastra, who share their shapes, are asked and answer.

/** What the model sees, and the parts that it answers with. `imageOf` reads an image of a result. */
export async function say(script, { prompt, tools = [] }, imageOf) {
  const resultOf = ({ type, value }) => ({
    text: type === 'content' ? value[0].text : typeof value === 'string' ? value : JSON.stringify(value),
    isError: type === 'error-text',
    images: type === 'content' ? value.slice(1).map(imageOf) : [],
  });
  const last = prompt.at(-1);
  const said = await script({
    tools: tools.map(({ name }) => name),
    schemas: tools.map(({ inputSchema }) => inputSchema),
    results: last.role === 'tool' ? last.content.map(({ output }) => resultOf(output)) : [],
  });
  if (typeof said === 'string') return { parts: [{ type: 'text', text: said }], reason: 'stop' };
  const parts = said.map(({ name, args }, index) => ({
    ...{ type: 'tool-call', toolCallId: `call-${prompt.length}-${index}`, toolName: name },
    input: typeof args === 'string' ? args : JSON.stringify(args),
  }));
  return { parts, reason: 'tool-calls' };
}

/** The parts as they are streamed. */
export const chunksOf = (parts, finish) => [
  { type: 'stream-start', warnings: [] },
  ...parts.flatMap((part) => (part.type === 'text' ? textChunks(part.text) : [part])),
  { type: 'finish', ...finish },
];

const textChunks = (delta) => [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta },
  { type: 'text-end', id: '1' },
];
