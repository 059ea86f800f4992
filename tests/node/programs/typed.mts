// Compiled only: what a strict TypeScript program may write, and what it may not.
import {
  type ConnectReport,
  Manager,
  type McpoolError,
  type McpoolEvent,
  type ServerStatus,
  type Tool,
  type ToolResult,
  ToolTimeoutError,
} from 'mcpool';

export async function program(signal: AbortSignal): Promise<string[]> {
  await using manager = new Manager(
    { mcpServers: { time: { command: 'uvx', args: ['mcp-server-time'], toolTimeout: 1000 } } },
    { naming: (server, tool) => `${server}-${tool}`, connectConcurrency: 4 },
  );
  const report: ConnectReport = await manager.connectAll();
  const failures: [string, McpoolError][] = Object.entries(report.failed);
  const tools: Tool[] = manager.getTools();
  const result: ToolResult = await manager.callTool(
    'time',
    'now',
    { zone: 'UTC' },
    { timeoutMs: 5000, signal, onProgress: ({ progress, total }) => progress / (total ?? 1), meta: { a: 1 } },
  );
  await manager.call('mcp_time_now');
  const status: ServerStatus[] = manager.status();
  manager.on('status', (event) => event.state.length);
  manager.on('tools_changed', (event) => event.toolCount.toFixed());
  for await (const event of manager.events()) {
    const seen: McpoolEvent = event;
    if (seen.type === 'log') return [seen.level];
    break;
  }
  const late: string = new ToolTimeoutError('late', { executed: 'unknown' }).code;
  return [
    late,
    result.text,
    ...failures.map(([name]) => name),
    ...status.map(({ state }) => state),
    ...tools.map((tool) => tool.name),
  ];
}

export function mistakes(manager: Manager): void {
  // @ts-expect-error a config has servers
  new Manager({ servers: {} });
  // @ts-expect-error no such style
  new Manager({ mcpServers: {} }, { naming: 'camel' });
  // @ts-expect-error arguments are an object
  void manager.callTool('a', 'b', 'text');
  // @ts-expect-error no such event
  manager.on('nothing', () => {});
  // @ts-expect-error other events have no state
  manager.on('log', (event) => event.state);
}
