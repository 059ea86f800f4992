// A tour: what is known of a server, a crash and the recovery, a call that is cancelled, and the events of all that.
import { Manager, McpoolError } from 'mcpool';

const manager = new Manager({
  mcpServers: { demo: { command: 'npx', args: ['--no', 'mcpool', 'demo-server'] } },
});
const seen: string[] = [];
manager.on('status', (event) => seen.push(event.state));

await manager.connectAll();
await manager.waitFor('demo');
const [before] = manager.status();
console.log('server:', before?.serverName, before?.protocolVersion, 'tools:', before?.toolCount);
console.log('found:', manager.searchTools('add two numbers', 1)[0]?.name);

// A call that nobody wants any more rejects with the reason of its signal.
const signal = AbortSignal.abort(new Error('no longer wanted'));
const cancelled = await manager.callTool('demo', 'roll', {}, { signal }).catch((error: Error) => error);
console.log('cancelled:', cancelled instanceof Error);

// The server dies. A call that comes then waits for the restart.
const events = manager.events();
if (before?.pid) process.kill(before.pid, 'SIGKILL');
for await (const event of events) {
  if (event.type === 'status' && event.state === 'reconnecting') break;
}
console.log('again:', (await manager.callTool('demo', 'greet', { name: 'Grace' })).text);

// An error has a code, a message and a hint.
const unknown = await manager.callTool('demo', 'ad').catch((error: unknown) => error);
if (unknown instanceof McpoolError) console.log('error:', unknown.code, unknown.hint);

await manager.close();
console.log('states:', [...new Set(seen)].join(' '));
