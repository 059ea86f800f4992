// Owns the manager as an MCP server of the OpenAI Agents SDK. Needs nothing of the SDK but its types.
import type {
  CallToolResult,
  CallToolResultContent,
  FunctionTool,
  MCPCallToolOptions,
  MCPServer,
} from '@openai/agents';
import type { Manager, Tool, ToolOutput } from 'mcpool';
import { argumentsOf, executeNamed, signalOptions, type ToolOptions } from './shared.js';

export type { ToolOptions } from './shared.js';

type Settings = Omit<
  MCPServer,
  'cacheToolsList' | 'connect' | 'close' | 'listTools' | 'callTool' | 'callToolResult'
>;

/** The settings that the SDK reads from a server. */
export type ServerOptions = Partial<Omit<Settings, 'invalidateToolsCache'>>;

/** The manager as one server for `mcpServers` of an agent, whose tools are listed anew for each turn. */
export function server(manager: Manager, options: ServerOptions = {}): MCPServer {
  const call = async (
    name: string,
    args: Record<string, unknown> | null,
    meta?: unknown,
    given?: MCPCallToolOptions,
  ) => {
    const told = meta ? { meta: meta as Record<string, unknown> } : {};
    return executeNamed(manager, name, args ?? {}, { ...told, ...signalOptions(given?.signal) });
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
      const { content, structuredContent, isError } = resultOf(await call(...asked));
      // The SDK reads the rest from properties of the list, which an iteration over the blocks does not see.
      const hidden = (value: unknown) => ({ value, enumerable: false, configurable: true });
      const rest = { structuredContent: hidden(structuredContent), isError: hidden(isError) };
      return Object.defineProperties(content, rest) as CallToolResultContent;
    },
    async callToolResult(...asked) {
      return resultOf(await call(...asked));
    },
  };
}

/** The manager's tools as they are now, for `tools` of an agent; unlike a server's they can wait for approval. */
export function tools(manager: Manager, { needsApproval = false }: ToolOptions = {}): FunctionTool[] {
  const toolOf = (tool: Tool): FunctionTool => ({
    type: 'function',
    name: tool.name,
    description: tool.description,
    parameters: tool.objectSchema as FunctionTool['parameters'],
    strict: false,
    needsApproval: async () => needsApproval && tool.requiresApproval,
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
