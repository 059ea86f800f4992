// Owns the tools of the Anthropic SDK. The SDK is a parameter, because `import` and `require` each load their own copy.
import type Anthropic from '@anthropic-ai/sdk';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type { BetaToolRunner } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type { BetaContentBlock } from '@anthropic-ai/sdk/resources/beta/messages';
import type { ContentBlock, Tool as ToolParam } from '@anthropic-ai/sdk/resources/messages';
import type { CallOptions, Manager, OnSampling, Tool, ToolOutput } from 'mcpool';
import { ask } from './anthropic-sampling.js';
import { type NoApproval, refuseApproval } from './approval.js';
import { type SamplingOptions, samplingCallback } from './sampling.js';
import { entriesOf, executeNamed, executeUnasked, perTool, signalOptions } from './shared.js';

export type { SamplingOptions } from './sampling.js';

type Block = ContentBlock | BetaContentBlock;

/** An answer, also one of the beta's messages, or its content. */
export type Asking = { content: readonly Block[] } | readonly Block[];

/** The answer to one call, for a message of either kind. */
export interface ToolResult {
  type: 'tool_result';
  tool_use_id: string;
  is_error?: true;
  content: (Text | Image)[];
}

interface Text {
  type: 'text';
  text: string;
}

interface Image {
  type: 'image';
  source: {
    type: 'base64';
    media_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
    data: string;
  };
}

/** The tools for one run of the tool runner. */
export interface RunnerTools extends Array<BetaRunnableTool> {
  /**
   * Tells the runner what is new, different or gone, for its next request, now and after each of its calls; call it in
   * each turn. The runner says it in the conversation, which needs the beta that its `addTools` names.
   */
  refresh(runner: Runner): void;
}

type Runner = Pick<BetaToolRunner<boolean>, 'addTools' | 'removeTools'>;

export interface AnthropicSdk {
  /** The manager's tools as they are now, for `tools` of a request. */
  tools(manager: Manager, options?: NoApproval): ToolParam[];
  /** Calls what an answer asks for, all at once; gives the content of the next user message. */
  run(manager: Manager, message: Asking, options?: CallOptions): Promise<ToolResult[]>;
  /** The manager's tools as they are now, for `client.beta.messages.toolRunner`. */
  runnerTools(manager: Manager, options?: NoApproval): RunnerTools;
  /**
   * For `onSampling` of a manager: servers get their messages from a client's model. What cannot be asked of the model is refused, with
   * a warning; `ignore` names what is left out instead.
   */
  sampling(client: Anthropic, options: { model: string } & SamplingOptions<string>): OnSampling;
}

export function adapt({ ToolError }: typeof import('@anthropic-ai/sdk/lib/tools/ToolError')): AnthropicSdk {
  const runnable = (tool: Tool, onAnswer: () => void): BetaRunnableTool => ({
    ...paramOf(tool),
    parse: (input) => input,
    run: async (input, context) => {
      const output = await executeUnasked(tool, input, signalOptions(context?.signal));
      onAnswer();
      const content = contentOf(output);
      // The runner's way to mark a result as an error.
      if (output.isError) throw new ToolError(content);
      return content;
    },
  });

  function runnerTools(manager: Manager, options?: NoApproval): RunnerTools {
    refuseApproval(options, 'The tool runner of Anthropic');
    let known = manager.getTools();
    let told: Runner | undefined;
    const update = () => {
      if (!told) return;
      const now = manager.getTools();
      const before = new Map(known.map(({ name, fingerprint }) => [name, fingerprint]));
      const names = new Set(now.map(({ name }) => name));
      const gone = known.map(({ name }) => name).filter((name) => !names.has(name));
      const changed = now.filter(({ name, fingerprint }) => before.get(name) !== fingerprint);
      if (gone.length > 0) told.removeTools(...gone);
      if (changed.length > 0) told.addTools(...changed.map(made));
      known = now;
    };
    // The runner gives its turns away before it makes their calls, so what an answer has announced is told after the call.
    const made = perTool((tool) => runnable(tool, update));
    const refresh: RunnerTools['refresh'] = (runner) => {
      told = runner;
      update();
    };
    return Object.defineProperty(known.map(made), 'refresh', { value: refresh }) as RunnerTools;
  }

  return { tools, run, runnerTools, sampling };
}

const sampling: AnthropicSdk['sampling'] = (client, { model, ...options }) =>
  samplingCallback((prompt, name: string) => ask(client, prompt, name), model, options);

function tools(manager: Manager, options?: NoApproval): ToolParam[] {
  refuseApproval(options, 'tools() of Anthropic');
  return manager.getTools().map(paramOf);
}

const paramOf = (tool: Tool) => ({
  ...{ name: tool.name, description: tool.description },
  input_schema: tool.objectSchema,
});

async function run(manager: Manager, message: Asking, options: CallOptions = {}): Promise<ToolResult[]> {
  refuseApproval(options, 'run() of Anthropic');
  const content = Array.isArray(message) ? message : (message as { content: readonly Block[] })?.content;
  const asked = entriesOf<Block>(content).filter((block) => block.type === 'tool_use');
  return Promise.all(
    asked.map(async ({ id, name, input }): Promise<ToolResult> => {
      const output = await executeNamed(manager, name, input, options);
      return {
        ...{ type: 'tool_result', tool_use_id: id, content: contentOf(output) },
        ...(output.isError && { is_error: true }),
      };
    }),
  );
}

function contentOf(output: ToolOutput): (Text | Image)[] {
  const images = output.modelImages.map(({ data, mimeType }): Image => {
    const media_type = mimeType as Image['source']['media_type'];
    return { type: 'image', source: { type: 'base64', media_type, data } };
  });
  return [{ type: 'text', text: output.text }, ...images];
}
