// Owns the tools of the Anthropic SDK. The SDK is a parameter, because `import` and `require` each load their own copy.
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type { BetaToolRunner } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type {
  ContentBlock,
  Tool as ToolParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { CallOptions, Manager, Tool, ToolOutput } from 'mcpool';
import { executeNamed, perTool, signalOptions } from './shared.js';

/** An answer, or its content. */
export type Asking = { content: readonly ContentBlock[] } | readonly ContentBlock[];

/** The tools for one run of the tool runner. */
export interface RunnerTools extends Array<BetaRunnableTool> {
  /**
   * Tells the runner what is new, different or gone, for its next request; call it between two turns. The runner says it
   * in the conversation, which needs the beta that its `addTools` names.
   */
  refresh(runner: Pick<BetaToolRunner<boolean>, 'addTools' | 'removeTools'>): void;
}

export interface AnthropicSdk {
  /** The manager's tools as they are now, for `tools` of a request. */
  tools(manager: Manager): ToolParam[];
  /** Calls what an answer asks for, all at once; gives the content of the next user message. */
  run(manager: Manager, message: Asking, options?: CallOptions): Promise<ToolResultBlockParam[]>;
  /** The manager's tools as they are now, for `client.beta.messages.toolRunner`. */
  runnerTools(manager: Manager): RunnerTools;
}

export function adapt({ ToolError }: typeof import('@anthropic-ai/sdk/lib/tools/ToolError')): AnthropicSdk {
  const runnable = perTool<BetaRunnableTool>((tool) => ({
    ...paramOf(tool),
    parse: (input) => input,
    run: async (input, context) => {
      const output = await tool.execute(input, signalOptions(context?.signal));
      const content = contentOf(output);
      // The runner's way to mark a result as an error.
      if (output.isError) throw new ToolError(content);
      return content;
    },
  }));

  function runnerTools(manager: Manager): RunnerTools {
    let known = manager.getTools();
    const refresh: RunnerTools['refresh'] = (runner) => {
      const now = manager.getTools();
      const before = new Map(known.map(({ name, fingerprint }) => [name, fingerprint]));
      const names = new Set(now.map(({ name }) => name));
      const gone = known.map(({ name }) => name).filter((name) => !names.has(name));
      const changed = now.filter(({ name, fingerprint }) => before.get(name) !== fingerprint);
      if (gone.length > 0) runner.removeTools(...gone);
      if (changed.length > 0) runner.addTools(...changed.map(runnable));
      known = now;
    };
    return Object.defineProperty(known.map(runnable), 'refresh', { value: refresh }) as RunnerTools;
  }

  return { tools, run, runnerTools };
}

const tools = (manager: Manager): ToolParam[] => manager.getTools().map(paramOf);

const paramOf = (tool: Tool) => ({
  ...{ name: tool.name, description: tool.description },
  input_schema: tool.objectSchema,
});

async function run(
  manager: Manager,
  message: Asking,
  options: CallOptions = {},
): Promise<ToolResultBlockParam[]> {
  const content: readonly ContentBlock[] = 'content' in message ? message.content : message;
  const asked = content.filter((block) => block.type === 'tool_use');
  return Promise.all(
    asked.map(async ({ id, name, input }): Promise<ToolResultBlockParam> => {
      const output = await executeNamed(manager, name, input as never, options);
      return {
        ...{ type: 'tool_result', tool_use_id: id, content: contentOf(output) },
        ...(output.isError && { is_error: true }),
      };
    }),
  );
}

function contentOf(output: ToolOutput) {
  const images = output.modelImages.map(({ data, mimeType }) => ({
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: mimeType as 'image/png', data },
  }));
  return [{ type: 'text' as const, text: output.text }, ...images];
}
