// A worker thread: calls, tells what it heard, and keeps calling until it is ended.
import { parentPort, workerData } from 'node:worker_threads';
import { Manager, Pool } from 'mcpool';

const { fixture, path } = workerData;
const mcpServers = { a: { command: fixture, args: ['stdio', '--journal', path] } };
const manager = new Manager({ mcpServers }, { pool: new Pool() });
await manager.connectAll();
const { text } = await manager.callTool('a', 'echo', { text: 'hello' });
let going = true;
parentPort.once('message', () => {
  going = false;
});
parentPort.postMessage(text);
const lane = async () => {
  while (going) await manager.callTool('a', 'echo', { text });
};
await Promise.all(Array.from({ length: 8 }, lane));
