// Owns the tools of Mastra. Mastra is a parameter, because `import` and `require` each load their own copy.
import type { AgentConfig, AgentExecutionOptions } from '@mastra/core/agent';
import type { ToolAction } from '@mastra/core/tools';
import type { Manager, OnSampling, Tool } from 'mcpool';
import { messagesOf, replyOf } from './ai-sdk-sampling.js';
import { rememberApproval, type ToolOptions, waitsForApproval } from './approval.js';
import { withoutReserved } from './reserved.js';
import { type Media, type Prompt, type Reply, type SamplingOptions, samplingCallback } from './sampling.js';
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
export type { SamplingOptions } from './sampling.js';
export type { ToolRecord } from './shared.js';

/** The arguments that Mastra takes out of every call. */
const RESERVED = ['_background', 'resumeData', 'suspendedToolCallId', 'suspendedToolRunId'];

/** Tools by name, as an agent takes them. */
export type MastraTools = Record<string, ToolAction<unknown, ToolRecord>>;

/** What `prepareStep` of a run takes and gives. */
export type PrepareStep = NonNullable<AgentExecutionOptions['prepareStep']>;

/** A model as an agent takes it. */
export type MastraModel = AgentConfig['model'];

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
  /**
   * For `onSampling` of a manager: servers get their messages from this model. What cannot be asked of the model is refused, with
   * a warning; `ignore` names what is left out instead.
   */
  sampling(model: MastraModel, options?: SamplingOptions<MastraModel>): OnSampling;
}

/** What of Mastra is used. */
export interface Framework extends Pick<typeof import('@mastra/core/tools'), 'createTool'> {
  /** Loaded by the first request of a server. */
  agents(): Promise<Pick<typeof import('@mastra/core/agent'), 'Agent'>>;
}

export function adapt({ createTool, agents }: Framework): Mastra {
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

  const ask = async (prompt: Prompt, model: MastraModel): Promise<Reply> => {
    const { system = '', maxTokens, temperature, stop, tools: offered, toolChoice } = prompt;
    const { Agent } = await agents();
    const tools = offered.map(({ name, description, schema }) => {
      // Without `execute`, the run ends with the call.
      const inputSchema = unchecked(schema as Tool['objectSchema']);
      return [name, createTool({ id: name, description, inputSchema, strict: false })] as const;
    });
    const given = { id: 'mcpool-sampling', name: 'mcpool', instructions: system, model };
    const agent = new Agent({ ...given, tools: Object.fromEntries(tools) });
    const answer = await agent.generate(messagesOf(prompt.messages, mediaPart) as never, {
      maxSteps: 1,
      modelSettings: {
        ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
        ...(temperature !== undefined && { temperature }),
        ...(stop.length > 0 && { stopSequences: stop }),
      },
      ...(tools.length > 0 && { toolChoice }),
    });
    const files = answer.files.map(({ payload }) => ({
      ...{ base64: String(payload.data), mediaType: payload.mimeType },
    }));
    const calls = answer.toolCalls.map(({ payload: { toolCallId, toolName, args } }) => ({
      ...{ toolCallId, toolName, input: args },
    }));
    const named = answer.response.modelId ?? 'unknown';
    return replyOf({ text: answer.text, files, calls, finishReason: answer.finishReason, model: named });
  };

  const sampling: Mastra['sampling'] = (model, options) => samplingCallback(ask, model, options);

  return { tools, liveTools, sampling };
}

const mediaPart = ({ data, mimeType }: Media) => ({ type: 'media', data, mediaType: mimeType });

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
  const media = images.map((image) => mediaPart({ type: 'image', ...image }));
  return { type: 'content', value: [{ type: 'text', text }, ...media] };
}
