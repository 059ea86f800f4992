// A worker thread that does what it is told with a server that other threads use too.
import { parentPort, workerData } from 'node:worker_threads';
import { Manager } from 'mcpool';

const { fixture, path } = workerData;
const args = ['stdio', '--journal', path];
const manager = new Manager({ mcpServers: { threads: { command: fixture, args } } });
const doings = {
  connect: async () => (await manager.connectAll()).connected,
  status() {
    const [{ pid, refs }] = manager.status();
    return { pid, refs };
  },
  async call() {
    const lane = async (_, index) => {
      const { text } = await manager.callTool('threads', 'echo', { text: `${index}` });
      return text === `${index}`;
    };
    const right = await Promise.all(Array.from({ length: 300 }, lane));
    return right.filter(Boolean).length;
  },
  async close() {
    await manager.close();
    parentPort.unref();
  },
};
parentPort.on('message', async (word) => parentPort.postMessage(await doings[word]()));
