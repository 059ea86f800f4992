// Sub-agents: each has a manager of its own, and all of them share the connections of their parent.
import { Manager } from 'mcpool';

const CONFIG = { mcpServers: { demo: { command: 'npx', args: ['--no', 'mcpool', 'demo-server'] } } };

/** Works with a child of the manager. Closing the child leaves the connection to the others. */
async function subAgent(parent: Manager, name: string): Promise<string> {
  const manager = parent.child();
  try {
    await manager.connectAll(); // returns at once: the server is connected already
    return (await manager.callTool('demo', 'greet', { name })).text;
  } finally {
    await manager.close();
  }
}

const manager = new Manager(CONFIG);
await manager.connectAll();
await manager.waitFor('demo'); // connectAll does not wait for it if its tools are in the cache
console.log(await Promise.all(['Ada', 'Grace', 'Edsger'].map((name) => subAgent(manager, name))));
for (const { state, restarts, calls } of manager.status()) {
  console.log('state:', state, 'restarts:', restarts, 'calls:', calls.ok);
}
await manager.close();
