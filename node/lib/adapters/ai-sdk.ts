// Owns the tools of the AI SDK. The SDK is a parameter, because `import` and `require` each load their own copy.
import type { PrepareStepFunction, ToolSet } from 'ai';
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

/** Spread it into `generateText`, `streamText` or `ToolLoopAgent`. */
export interface LiveTools {
  /** One object for the whole run; `prepareStep` brings it up to date. */
  tools: ToolSet;
  prepareStep: PrepareStepFunction<ToolSet>;
}

export interface AiSdk {
  /** The manager's tools as they are now. */
  tools(manager: Manager, options?: ToolOptions): ToolSet;
  /** The manager's tools, which follow its list from step to step, and beside them `own` ones. */
  liveTools(manager: Manager, options?: ToolOptions & { own?: ToolSet }): LiveTools;
}

export function adapt({
  dynamicTool,
  jsonSchema,
}: Pick<typeof import('ai'), 'dynamicTool' | 'jsonSchema'>): AiSdk {
  const toolOf = (tool: Tool, { needsApproval = false }: ToolOptions) =>
    dynamicTool({
      description: tool.description,
      inputSchema: jsonSchema(tool.objectSchema),
      needsApproval: needsApproval && tool.requiresApproval,
      metadata: { server: tool.server, tool: tool.rawName },
      execute: async (input, { abortSignal }) =>
        recordOf(await tool.execute(input as never, signalOptions(abortSignal))),
      toModelOutput: ({ output }) => modelOutputOf(tool, output as ToolRecord),
    });

  const tools: AiSdk['tools'] = (manager, options = {}) =>
    Object.fromEntries(manager.getTools().map((tool) => [tool.name, toolOf(tool, options)]));

  const liveTools: AiSdk['liveTools'] = (manager, { own = {}, ...options } = {}) => {
    const made = perTool((tool) => toolOf(tool, options));
    const live: ToolSet = {};
    const prepareStep = () => {
      // Emptied first to keep the manager's order: providers cache prompts by it.
      for (const name of Object.keys(live)) delete live[name];
      for (const tool of manager.getTools()) live[tool.name] = made(tool);
      Object.assign(live, own);
      return {};
    };
    prepareStep();
    return { tools: live, prepareStep };
  };

  return { tools, liveTools };
}

function modelOutputOf(tool: Tool, record: ToolRecord) {
  const { text, isError } = record;
  const images = imagesOfRecord(tool, record);
  if (images.length === 0) return { type: isError ? 'error-text' : 'text', value: text } as const;
  const files = images.map(({ data, mimeType }) => ({
    type: 'file' as const,
    data: { type: 'data' as const, data },
    mediaType: mimeType,
  }));
  return { type: 'content' as const, value: [{ type: 'text' as const, text }, ...files] };
}
