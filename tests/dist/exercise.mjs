// What a new user's first program does, with nothing but the installed package: connect, call, kill. Runs on every runtime.
import { createRequire } from 'node:module';
import { Manager, ToolResult } from 'mcpool';

const require = createRequire(import.meta.url);
if (require('mcpool').Manager !== Manager) throw new Error('import and require give different classes');

const command = process.argv[2];
const demo = {
  command,
  args: [require.resolve('mcpool/package.json').replace('package.json', 'node/bin/mcpool.js'), 'demo-server'],
};
const manager = new Manager({ mcpServers: { demo } });
const report = await manager.connectAll();
if (report.connected.join() !== 'demo') throw new Error(JSON.stringify(report));
if (!manager.getTools().some((tool) => tool.name === 'mcp_demo_add')) throw new Error('no tool');
const result = await manager.callTool('demo', 'add', { a: 2, b: 40 });
if (!(result instanceof ToolResult) || result.structured.sum !== 42) throw new Error(String(result));

const events = manager.events();
process.kill(manager.status()[0].pid, 'SIGKILL');
for await (const event of events) if (event.type === 'status' && event.state === 'reconnecting') break;
const again = await manager.callTool('demo', 'greet', { name: 'Ada' });
if (again.text !== 'Hello, Ada!') throw new Error(again.text);
await manager.close();
console.log('done');
