// Owns the tools of Mastra. Mastra is a parameter, because `import` and `require` each load their own copy.
import type { AgentExecutionOptions } from '@mastra/core/agent';
import type { ToolAction } from '@mastra/core/tools';
import type { Manager, Tool } from 'mcpool';
import { rememberApproval, type ToolOptions, waitsForApproval } from './approval.js';
import { withoutReserved } from './reserved.js';
import {
  argumentsOf,
  executeUnasked,
  imagesOfRecord,
  perTool,
  recordOf,
  signalOptions,
  type ToolRecord,
} from './shared.js';

export type { ToolOptions } from './approval.js';
export type { ToolRecord } from './shared.js';

/** The arguments that Mastra takes out of every call. */
const RESERVED = ['_background', 'resumeData', 'suspendedToolCallId', 'suspendedToolRunId'];

/** Tools by name, as an agent takes them. */
export type MastraTools = Record<string, ToolAction<unknown, ToolRecord>>;

/** What `prepareStep` of a run takes and gives. */
export type PrepareStep = NonNullable<AgentExecutionOptions['prepareStep']>;

export interface LiveTools {
  prepareStep: PrepareStep;
}

export interface LiveOptions extends ToolOptions {
  /** What you would do in `prepareStep` of the run; its step has the manager's tools. */
  prepareStep?: PrepareStep | undefined;
}

export interface Mastra {
  /** The manager's tools as they are now; `tools: () => tools(manager)` asks anew for each run. */
  tools(manager: Manager, options?: ToolOptions): MastraTools;
  /** Spread it into the options of `generate` or `stream`: the manager's tools follow its list from step to step. */
  liveTools(manager: Manager, options?: LiveOptions): LiveTools;
}

export function adapt({ createTool }: Pick<typeof import('@mastra/core/tools'), 'createTool'>): Mastra {
  const toolOf = (tool: Tool) => {
    const renamed = withoutReserved(tool, 'Mastra', RESERVED);
    const gather = renamed?.gather ?? argumentsOf;
    let isAskedFor = false;
    const made = createTool({
      id: tool.name,
      description: tool.description,
      inputSchema: unchecked(renamed?.schema ?? tool.objectSchema),
      // Otherwise Mastra closes schemas and makes all arguments required for some providers, whether they ask for it or not.
      strict: false,
      // A tool may need approval only since the run began.
      execute: async (input, context) => {
        const [args, options] = [gather(input), signalOptions(context?.abortSignal)];
        return recordOf(
          await (isAskedFor ? tool.execute(args, options) : executeUnasked(tool, args, options)),
        );
      },
      toModelOutput: (output) => modelOutputOf(tool, output as ToolRecord),
    });
    // Mastra reads it whenever a run starts or goes on. A function in its place would overrule `requireToolApproval` of a run.
    const get = () => {
      isAskedFor = waitsForApproval(tool);
      return isAskedFor;
    };
    const requireApproval = { get, enumerable: true };
    return Object.defineProperties(made, { requireApproval }) as unknown as ToolAction<unknown, ToolRecord>;
  };

  const tools = (manager: Manager, options: ToolOptions = {}): MastraTools => {
    rememberApproval(manager, options);
    return Object.fromEntries(manager.getTools().map((tool) => [tool.name, toolOf(tool)]));
  };

  const liveTools: Mastra['liveTools'] = (manager, options = {}) => {
    rememberApproval(manager, options, 'prepareStep');
    const { prepareStep } = options;
    const made = perTool(toolOf);
    const ours = new Set<string>();
    const live = (known: Record<string, unknown> = {}) => {
      const now = manager.getTools();
      for (const { name } of now) ours.add(name);
      // Tools of ours that are gone must not stay among the others.
      const others = Object.entries(known).filter(([name]) => !ours.has(name));
      return Object.fromEntries([...others, ...now.map((tool) => [tool.name, made(tool)])]);
    };
    return {
      prepareStep: async (step) => {
        const tools = live(step.tools);
        return { tools, ...(await prepareStep?.({ ...step, tools })) };
      },
    };
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
