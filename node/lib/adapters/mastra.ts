// Owns the tools of Mastra. Mastra is a parameter, because `import` and `require` each load their own copy.
import type { ToolAction } from '@mastra/core/tools';
import type { Manager, Tool } from 'mcpool';
import {
  imagesOfRecord,
  perTool,
  recordOf,
  signalOptions,
  type ToolOptions,
  type ToolRecord,
} from './shared.js';

export type { ToolOptions, ToolRecord } from './shared.js';

/** Tools by name, as an agent takes them. */
export type MastraTools = Record<string, ToolAction<unknown, ToolRecord>>;

export interface LiveTools {
  prepareStep(step: { tools?: Record<string, unknown> }): { tools: Record<string, unknown> };
}

export interface Mastra {
  /** The manager's tools as they are now; `tools: () => tools(manager)` asks anew for each run. */
  tools(manager: Manager, options?: ToolOptions): MastraTools;
  /** Spread it into the options of `generate` or `stream`: the manager's tools follow its list from step to step. */
  liveTools(manager: Manager, options?: ToolOptions): LiveTools;
}

export function adapt({ createTool }: Pick<typeof import('@mastra/core/tools'), 'createTool'>): Mastra {
  const toolOf = (tool: Tool, { needsApproval = false }: ToolOptions) =>
    createTool({
      id: tool.name,
      description: tool.description,
      inputSchema: unchecked(tool.objectSchema),
      requireApproval: needsApproval && tool.requiresApproval,
      execute: async (input, context) =>
        recordOf(await tool.execute(input as never, signalOptions(context?.abortSignal))),
      toModelOutput: (output) => modelOutputOf(tool, output as ToolRecord),
    }) as unknown as ToolAction<unknown, ToolRecord>;

  const tools = (manager: Manager, options: ToolOptions = {}): MastraTools =>
    Object.fromEntries(manager.getTools().map((tool) => [tool.name, toolOf(tool, options)]));

  const liveTools: Mastra['liveTools'] = (manager, options = {}) => {
    const made = perTool((tool) => toolOf(tool, options));
    const ours = new Set<string>();
    const prepareStep: LiveTools['prepareStep'] = (step) => {
      const now = manager.getTools();
      for (const { name } of now) ours.add(name);
      // Tools of ours that are gone must not stay among the others.
      const others = Object.entries(step.tools ?? {}).filter(([name]) => !ours.has(name));
      return { tools: Object.fromEntries([...others, ...now.map((tool) => [tool.name, made(tool)])]) };
    };
    return { prepareStep };
  };

  return { tools, liveTools };
}

/** A schema that is shown to the model unchanged and accepts everything: the server validates. */
function unchecked(schema: Tool['objectSchema']) {
  const shown = () => schema;
  const validate = (value: unknown) => ({ value });
  return {
    '~standard': { version: 1, vendor: 'mcpool', validate, jsonSchema: { input: shown, output: shown } },
  } as const;
}

function modelOutputOf(tool: Tool, record: ToolRecord) {
  const { text, isError } = record;
  const images = imagesOfRecord(tool, record);
  if (images.length === 0) return { type: isError ? 'error-text' : 'text', value: text };
  const media = images.map(({ data, mimeType }) => ({ type: 'media', data, mediaType: mimeType }));
  return { type: 'content', value: [{ type: 'text', text }, ...media] };
}
