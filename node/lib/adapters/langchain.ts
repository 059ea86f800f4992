// Owns the tools of LangChain. LangChain is a parameter, because `import` and `require` each load their own copy.
import type { DynamicStructuredTool } from '@langchain/core/tools';
import type { AgentMiddleware } from 'langchain';
import type { Manager, Tool, ToolOutput } from 'mcpool';
import { perTool, recordOf, signalOptions } from './shared.js';

export type { ToolRecord } from './shared.js';

export interface LangChain {
  /** The manager's tools as they are now. A call's `ToolMessage` has the record of the call as its artifact. */
  tools(manager: Manager): DynamicStructuredTool[];
  /** For `middleware` of `createAgent`: gives the agent the manager's tools, which follow its list from turn to turn. */
  liveTools(manager: Manager): AgentMiddleware;
  /** The tools that require approval, for `interruptOn` of `humanInTheLoopMiddleware`. */
  interruptOn(manager: Manager): Record<string, boolean>;
}

/** What of LangChain is used. */
export interface Framework {
  tool: typeof import('@langchain/core/tools').tool;
  ToolMessage: typeof import('@langchain/core/messages').ToolMessage;
  createMiddleware: typeof import('langchain').createMiddleware;
}

export function adapt({ tool: make, ToolMessage, createMiddleware }: Framework): LangChain {
  const toolOf = (tool: Tool): DynamicStructuredTool => {
    const { name, description } = tool;
    return make(
      async (input, config) => {
        const output = await tool.execute(input as never, signalOptions(config?.signal));
        const { id } = (config as { toolCall?: { id?: string } }).toolCall ?? {};
        // Without a tool call there is no message to answer.
        if (id === undefined) return contentOf(output);
        return new ToolMessage({
          ...{ name, tool_call_id: id, content: contentOf(output), artifact: recordOf(output) },
          status: output.isError ? 'error' : 'success',
        });
      },
      { name, description, schema: tool.objectSchema },
    ) as DynamicStructuredTool;
  };

  const tools = (manager: Manager) => manager.getTools().map(toolOf);

  const liveTools = (manager: Manager): AgentMiddleware => {
    const made = perTool(toolOf);
    // A tool that was offered to a model stays callable after it is gone. Several runs may share this.
    const seen = new Map<string, DynamicStructuredTool>();
    const look = () => {
      const offered = new Map(manager.getTools().map((tool) => [tool.name, made(tool)]));
      for (const [name, tool] of offered) seen.set(name, tool);
      return offered;
    };
    return createMiddleware({
      name: 'mcpool',
      wrapModelCall: (request, handler) => {
        const offered = look();
        const others = request.tools.filter(({ name }) => !offered.has(name as string));
        return handler({ ...request, tools: [...others, ...offered.values()] });
      },
      wrapToolCall: (request, handler) => {
        const { name } = request.toolCall;
        // A run that continues from a saved state has seen no tools yet.
        if (!request.tool && !seen.has(name)) look();
        return handler({ ...request, tool: request.tool ?? seen.get(name) });
      },
    });
  };

  const interruptOn = (manager: Manager) =>
    Object.fromEntries(manager.getTools().map((tool) => [tool.name, tool.requiresApproval]));

  return { tools, liveTools, interruptOn };
}

function contentOf(output: ToolOutput) {
  const images = output.modelImages;
  if (images.length === 0) return output.text;
  return [
    { type: 'text' as const, text: output.text },
    ...images.map((image) => ({ type: 'image' as const, ...image })),
  ];
}
