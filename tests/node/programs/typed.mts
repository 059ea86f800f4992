// Compiled only: what a strict TypeScript program may write, and what it may not.
import {
  type Config,
  type ConnectReport,
  config,
  type Discovery,
  discover,
  type Edited,
  type ErrorCode,
  extra,
  Manager,
  McpoolError,
  type McpoolEvent,
  Pool,
  type ReloadReport,
  RestartFailedError,
  type Secret,
  type ServerConfig,
  type ServerStatus,
  type Tool,
  type ToolResult,
  ToolTimeoutError,
  type Trusted,
  type TrustQuestion,
  trust,
  trusted,
  untrust,
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
      pool: new Pool({ keepAliveMs: 'always', clock: 'manual' }),
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

export async function finds(): Promise<unknown[]> {
  const ask = async (question: TrustQuestion) => question.server.length + question.path.length > 2;
  await using manager = await Manager.discover({
    cwd: new URL('file:///project'),
    exclude: ['test-*'],
    native: ['exa'],
    mcpRemote: 'use',
    hostEnv: { env: { X: '1' }, home: '/home/me', platform: 'macos' },
    bareEnvNames: true,
    trust: ask,
    watch: true,
  });
  const found: Discovery | undefined = manager.discovery;
  const looked: Discovery = await discover({ providers: ['cursor'], projectConfig: false });
  const keys: Secret[] = looked.native.exa ?? [];
  const definition: ServerConfig = {
    command: 'x',
    requestTimeout: 1,
    auth: { type: 'bearer', tokenEnv: 'T' },
  };
  const edited: Edited = await config.add('a', definition, { scope: 'project' });
  await config.update('a', { args: null, tools: { x: { enabled: false } } }, { file: edited.path });
  const rows: Trusted[] = [...(await trust('.mcp.json', { servers: ['a'] })), ...(await trusted())];
  await untrust('.mcp.json');
  return [found?.servers.a?.shadows, keys[0]?.expose(), rows, config.schema()];
}

export function forms(): Manager[] {
  const [local, words] = [{ command: 'x' }, { command: ['x'], environment: { A: '1' } }];
  return [
    new Manager({ servers: { a: local }, inputs: [] }),
    new Manager({ mcp_servers: { a: local } }),
    new Manager({ context_servers: { a: local } }),
    new Manager({ mcp: { a: words } }),
    new Manager({ mcpServers: [{ name: 'a', ...local }] }),
  ];
}

interface ZoneArguments {
  zone: string;
  days: readonly number[];
}

/** Values of interfaces, readonly lists and undefined, as programs have them. */
export async function accepted(manager: Manager, given: ZoneArguments, hosts: readonly string[]) {
  const maybe: string | undefined = process.env.MAYBE;
  const args = ['mcp-server-time', '--fast'] as const;
  const time: ServerConfig = {
    command: 'uvx',
    args,
    cwd: maybe,
    env: { TOKEN: maybe, ...process.env },
    timeout: undefined,
    enabledTools: hosts,
    auth: undefined,
    [extra]: { icon: 'clock.png' },
  };
  const names: Config = { mcpServers: { time }, disabledServers: hosts, [extra]: { theme: 'dark' } };
  await using made = new Manager(names, { enabledTools: hosts, identity: undefined });
  await made.callTool('time', 'now', given, { meta: given, signal: undefined });
  await made.connectAll({ signal: AbortSignal.timeout(1000) });
  await made.waitFor('time', { timeoutMs: 5, signal: undefined });
  await trust('.mcp.json', { servers: hosts });
  await discover({ exclude: hosts, hostEnv: { env: process.env } });
  made.once('status', ({ state }) => state).off('status', () => {});
  await using events = made.events();
  await events.next();
  new ToolTimeoutError('late', { hint: undefined, cause: maybe });
  const thrown: unknown = await manager.call('x').catch((error: unknown) => error);
  if (ToolTimeoutError.isInstance(thrown)) return `${thrown.executed}`;
  const code: ErrorCode | undefined = McpoolError.isInstance(thrown) ? thrown.code : undefined;
  switch (code) {
    case 'CLOSED':
      return 'closed';
    // @ts-expect-error no such code
    case 'CLOSE':
      return '';
    default:
      return undefined;
  }
}

export function mistakes(manager: Manager, result: ToolResult, tool: Tool): void {
  // @ts-expect-error a misspelt field of a definition
  new Manager({ mcpServers: { a: { comand: 'x' } } });
  // @ts-expect-error a misspelt field of a config
  new Manager({ mcpServers: {}, disabledServer: [] });
  // @ts-expect-error a misspelt field of a change
  void config.update('a', { arg: null });
  // @ts-expect-error a misspelt field of a block
  result.content[0]?.txt;
  // @ts-expect-error a misspelt hint
  tool.annotations?.readOnlyHnt;
  // @ts-expect-error a misspelt option of a call
  void manager.call('a', {}, { timeout: 5 });
  // @ts-expect-error a misspelt option of connecting
  void manager.connectAll({ signl: AbortSignal.abort() });
  // @ts-expect-error arguments are no list
  void manager.call('a', [1]);
  // @ts-expect-error no such policy
  new Manager({ mcpServers: {} }, { trust: 'some' });
  // @ts-expect-error a callback answers yes or no
  new Manager({ mcpServers: {} }, { trust: () => 'yes' });
  // @ts-expect-error no such platform
  void discover({ hostEnv: { platform: 'beos' } });
  // @ts-expect-error a definition is an object
  void config.add('a', 'npx');
  // @ts-expect-error a config has servers
  new Manager({ server: {} });
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
