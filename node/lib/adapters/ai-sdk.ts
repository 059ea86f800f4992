// Owns the tools of the AI SDK. The SDK is a parameter, because `import` and `require` each load their own copy.
import type { LanguageModel, PrepareStepFunction, ToolSet } from 'ai';
import type { Image, Manager, OnSampling, Tool } from 'mcpool';
import { messagesOf, replyOf } from './ai-sdk-sampling.js';
import { rememberApproval, type ToolOptions, waitsForApproval } from './approval.js';
import { type Prompt, type Reply, type SamplingOptions, samplingCallback } from './sampling.js';
import { argumentsOf, imagesOfRecord, perTool, recordOf, signalOptions, type ToolRecord } from './shared.js';

export type { ToolOptions } from './approval.js';
export type { SamplingOptions } from './sampling.js';
export type { ToolRecord } from './shared.js';

/** Spread it into `generateText`, `streamText` or `ToolLoopAgent`. */
export interface LiveTools {
  /** One object for the whole run, which is up to date whenever its names are listed. */
  tools: ToolSet;
  prepareStep: PrepareStepFunction<ToolSet>;
}

export interface LiveOptions extends ToolOptions {
  /** Tools of your own beside the manager's; they win. */
  own?: ToolSet | undefined;
  /** What you would do in `prepareStep` of the run. */
  prepareStep?: PrepareStepFunction<ToolSet> | undefined;
}

export interface AiSdk {
  /** The manager's tools as they are now. */
  tools(manager: Manager, options?: ToolOptions): ToolSet;
  /** The manager's tools, which follow its list from step to step, and beside them `own` ones. */
  liveTools(manager: Manager, options?: LiveOptions): LiveTools;
  /**
   * For `onSampling` of a manager: servers get their messages from `generateText` with this model. What cannot be asked of the model is refused, with
   * a warning; `ignore` names what is left out instead.
   */
  sampling(model: LanguageModel, options?: SamplingOptions<LanguageModel>): OnSampling;
}

type Sdk = Pick<typeof import('ai'), 'dynamicTool' | 'generateText' | 'jsonSchema'>;

export function adapt(sdk: Sdk): AiSdk {
  const { dynamicTool, generateText, jsonSchema } = sdk;
  // Version 7 has files, of which images are one kind; version 6 has images, and does not know the files.
  const imagePart = 'isStepCount' in sdk ? filePart : imageDataPart;
  const toolOf = (tool: Tool) =>
    dynamicTool({
      description: tool.description,
      inputSchema: jsonSchema(tool.objectSchema),
      needsApproval: () => waitsForApproval(tool),
      metadata: { server: tool.server, tool: tool.rawName },
      execute: async (input, { abortSignal }) =>
        recordOf(await tool.execute(argumentsOf(input), signalOptions(abortSignal))),
      toModelOutput: ({ output }) => modelOutputOf(tool, output as ToolRecord, imagePart),
    });

  const tools: AiSdk['tools'] = (manager, options = {}) => {
    rememberApproval(manager, options);
    return Object.fromEntries(manager.getTools().map((tool) => [tool.name, toolOf(tool)]));
  };

  const liveTools: AiSdk['liveTools'] = (manager, options = {}) => {
    rememberApproval(manager, options, 'own', 'prepareStep');
    const { own = {}, prepareStep } = options;
    const made = perTool(toolOf);
    const update = (live: ToolSet) => {
      // Emptied first to keep the manager's order: providers cache prompts by it.
      for (const name of Object.keys(live)) delete live[name];
      const tools = Object.fromEntries(manager.getTools().map((tool) => [tool.name, made(tool)]));
      // As properties even if a tool is named like the prototype.
      return Object.defineProperties(live, Object.getOwnPropertyDescriptors({ ...tools, ...own }));
    };
    // The SDK lists the names once a step, also where another `prepareStep` has taken the place of this one.
    const ownKeys = (live: ToolSet) => Reflect.ownKeys(update(live));
    return {
      tools: new Proxy(update({}), { ownKeys }),
      prepareStep: async (step) => (await prepareStep?.(step)) ?? {},
    };
  };

  const ask = async (prompt: Prompt, model: LanguageModel): Promise<Reply> => {
    const { system, maxTokens, temperature, stop, tools: offered, toolChoice } = prompt;
    const tools: ToolSet = Object.fromEntries(
      // Without `execute`, the run ends with the call.
      offered.map(({ name, description, schema }) => [
        name,
        { description, inputSchema: jsonSchema(schema) },
      ]),
    );
    const answer = await generateText({
      model,
      messages: messagesOf(prompt.messages, imagePart),
      ...(system && { system }),
      ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop.length > 0 && { stopSequences: stop }),
      ...(offered.length > 0 && { tools, toolChoice }),
    });
    const { text, files, toolCalls: calls, finishReason, response } = answer;
    return replyOf({ text, files, calls, finishReason, model: response.modelId });
  };

  const sampling: AiSdk['sampling'] = (model, options) => samplingCallback(ask, model, options);

  return { tools, liveTools, sampling };
}

type ImagePart =
  | { type: 'file'; data: { type: 'data'; data: string }; mediaType: string }
  | { type: 'image-data'; data: string; mediaType: string };

const filePart = ({ data, mimeType }: Image): ImagePart => ({
  type: 'file',
  data: { type: 'data', data },
  mediaType: mimeType,
});

const imageDataPart = ({ data, mimeType }: Image): ImagePart => ({
  type: 'image-data',
  data,
  mediaType: mimeType,
});

function modelOutputOf(tool: Tool, record: ToolRecord, imagePart: (image: Image) => ImagePart) {
  const { text, isError } = record;
  const images = imagesOfRecord(tool, record);
  if (images.length === 0) return { type: isError ? 'error-text' : 'text', value: text } as const;
  return { type: 'content' as const, value: [{ type: 'text' as const, text }, ...images.map(imagePart)] };
}
