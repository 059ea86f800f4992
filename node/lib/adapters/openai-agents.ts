// Owns the tools of the OpenAI Agents SDK, and the manager as one of its MCP servers. The SDK is a parameter, because `import`
// and `require` each load their own copy.
import type {
  CallToolResult,
  CallToolResultContent,
  FunctionTool,
  MCPCallToolOptions,
  MCPServer,
  Model,
} from '@openai/agents';
import type { Manager, OnSampling, Tool, ToolOutput } from 'mcpool';
import {
  type NoApproval,
  refuseApproval,
  rememberApproval,
  type ToolOptions,
  waitsForApproval,
} from './approval.js';
import { ask } from './openai-agents-sampling.js';
import { type SamplingOptions, samplingCallback } from './sampling.js';
import { argumentsOf, executeNamed, signalOptions } from './shared.js';

export type { ToolOptions } from './approval.js';
export type { SamplingOptions } from './sampling.js';

type Settings = Omit<
  MCPServer,
  'cacheToolsList' | 'connect' | 'close' | 'listTools' | 'callTool' | 'callToolResult'
>;

/** The settings that the SDK reads from a server. */
export type ServerOptions = Partial<Omit<Settings, 'invalidateToolsCache'>> & NoApproval;

export interface OpenAiAgents {
  /**
   * The manager as one server for `mcpServers` of an agent, whose tools are listed anew for each turn. The SDK cannot ask a
   * person about a server's tools: once `tools` was asked for approval, the server does not call those that require it.
   */
  server(manager: Manager, options?: ServerOptions): MCPServer;
  /** The manager's tools as they are now, for `tools` of an agent; unlike a server's they can wait for approval. */
  tools(manager: Manager, options?: ToolOptions): FunctionTool[];
  /**
   * For `onSampling` of a manager: servers get their messages from a model of an agent. What cannot be asked of the model is refused, with
   * a warning; `ignore` names what is left out instead.
   */
  sampling(model: Model, options?: SamplingOptions<Model>): OnSampling;
}

export function adapt({ tool: make }: Pick<typeof import('@openai/agents'), 'tool'>): OpenAiAgents {
  /** The SDK's own answers. With a function of ours, it would ask about every call whose arguments it cannot read. */
  const policy = (needsApproval: boolean): FunctionTool['needsApproval'] => {
    const parameters = {
      type: 'object' as const,
      properties: {},
      required: [],
      additionalProperties: true as const,
    };
    const given = { name: 'mcpool', description: '', strict: false as const, execute: () => '' };
    return make({ ...given, parameters, needsApproval }).needsApproval as never;
  };
  const [always, never] = [policy(true), policy(false)];

  function tools(manager: Manager, options: ToolOptions = {}): FunctionTool[] {
    rememberApproval(manager, options);
    const toolOf = (tool: Tool): FunctionTool => ({
      type: 'function',
      name: tool.name,
      description: tool.description,
      parameters: tool.objectSchema as FunctionTool['parameters'],
      strict: false,
      get needsApproval() {
        return waitsForApproval(tool) ? always : never;
      },
      isEnabled: async () => true,
      invoke: async (_context, input, details) => {
        const output = await tool.execute(argumentsOf(input), signalOptions(details?.signal));
        const images = output.modelImages;
        if (images.length === 0) return output.text;
        const shown = images.map(({ data, mimeType }) => ({
          type: 'image',
          image: { data, mediaType: mimeType },
        }));
        return [{ type: 'text', text: output.text }, ...shown];
      },
    });
    return manager.getTools().map(toolOf);
  }

  const sampling: OpenAiAgents['sampling'] = (model, options) => samplingCallback(ask, model, options);

  return { server, tools, sampling };
}

function server(manager: Manager, options: ServerOptions = {}): MCPServer {
  refuseApproval(options, 'A server of the OpenAI Agents SDK', 'tools(manager, { needsApproval: true })');
  const call = async (
    name: string,
    args: Record<string, unknown> | null,
    meta?: unknown,
    given?: MCPCallToolOptions,
  ): Promise<CallToolResult> => {
    const told = meta ? { meta: meta as Record<string, unknown> } : {};
    const options = { ...told, ...signalOptions(given?.signal) };
    return resultOf(await executeNamed(manager, name, args, options));
  };
  return {
    name: 'mcpool',
    ...options,
    cacheToolsList: false,
    async connect() {
      await manager.connectAll();
    },
    /** Does not close the manager: its owner does. */
    async close() {},
    async invalidateToolsCache() {},
    async listTools() {
      const listed = (tool: Tool) => ({
        ...{ name: tool.name, description: tool.description },
        inputSchema: tool.objectSchema,
      });
      // The SDK's type requires more than the protocol; the SDK fills in what is missing.
      return manager.getTools().map(listed) as never;
    },
    async callTool(...asked) {
      const { content, structuredContent, isError } = await call(...asked);
      // The SDK reads the rest from properties of the list, which an iteration over the blocks does not see.
      const hidden = (value: unknown) => ({ value, enumerable: false, configurable: true });
      const rest = { structuredContent: hidden(structuredContent), isError: hidden(isError) };
      return Object.defineProperties(content, rest) as CallToolResultContent;
    },
    callToolResult: call,
  };
}

/** The text for the model and the images. */
function resultOf(output: ToolOutput): CallToolResult {
  const images = output.modelImages.map((image) => ({ type: 'image', ...image }));
  return {
    content: [{ type: 'text', text: output.text }, ...images],
    isError: output.isError,
    ...(output.structured !== undefined && {
      structuredContent: output.structured as Record<string, unknown>,
    }),
  };
}
