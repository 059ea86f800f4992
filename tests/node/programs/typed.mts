// Compiled only: what a strict TypeScript program may write, and what it may not.
import {
  type ConnectReport,
  Manager,
  type McpoolError,
  type McpoolEvent,
  Pool,
  type ReloadReport,
  RestartFailedError,
  type ServerStatus,
  type Tool,
  type ToolResult,
  ToolTimeoutError,
} from 'mcpool';

export async function program(signal: AbortSignal): Promise<string[]> {
  await using manager = new Manager(
    { mcpServers: { time: { command: 'uvx', args: ['mcp-server-time'], toolTimeout: 1000 } } },
    {
      naming: (server, tool) => `${server}-${tool}`,
      connectConcurrency: 4,
      gateMs: 100,
      pendingWithoutCache: 'skip',
      restartWaitMs: 0,
      retry: 'safe',
      cacheDir: false,
      pool: new Pool({ keepAlive: 'always', clock: 'manual' }),
    },
  );
  const report: ConnectReport = await manager.connectAll();
  const failures: [string, McpoolError][] = Object.entries(report.failed);
  const tools: Tool[] = manager.getTools();
  const result: ToolResult = await manager.callTool(
    'time',
    'now',
    { zone: 'UTC' },
    {
      timeoutMs: 5000,
      maxTotalTimeoutMs: 60_000,
      retry: 'never',
      signal,
      onProgress: ({ progress, total }) => progress / (total ?? 1),
      meta: { a: 1 },
    },
  );
  await manager.call('mcp_time_now');
  const status: ServerStatus[] = manager.status();
  const reloaded: ReloadReport = await manager.reload({ mcpServers: {} });
  await using followed = Manager.fromFile(new URL('file:///mcp.json'), { watch: true });
  await using child: Manager = followed.child();
  await child.reload();
  manager.on(
    'status',
    (event) => event.reason ?? event.state.length + event.attempt + (event.nextRetryMs ?? 0),
  );
  manager.on('config_changed', (event) => event.added.concat(event.removed, event.restarted, event.updated));
  manager.on('tools_changed', (event) => event.toolCount.toFixed());
  for await (const event of manager.events()) {
    const seen: McpoolEvent = event;
    if (seen.type === 'log' && seen.origin === 'mcpool') return [seen.level];
    break;
  }
  const late: string = new ToolTimeoutError('late', { executed: 'unknown' }).code;
  const down = new RestartFailedError('down', { restart: { attempt: 2, nextRetryMs: 1000 } });
  return [
    late,
    down.restart?.lastError?.message ?? '',
    ...reloaded.connect.connected,
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
  // @ts-expect-error only a file can be watched
  new Manager({ mcpServers: {} }, { watch: true });
  // @ts-expect-error no such clock
  new Pool({ clock: 'sun' });
  // @ts-expect-error no such way to retry
  void manager.callTool('a', 'b', {}, { retry: 'always' });
  // @ts-expect-error arguments are an object
  void manager.callTool('a', 'b', 'text');
  // @ts-expect-error no such event
  manager.on('nothing', () => {});
  // @ts-expect-error other events have no state
  manager.on('log', (event) => event.state);
}
