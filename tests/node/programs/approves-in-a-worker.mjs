// Calls of a worker are approved in the worker; another worker ends while it is asked.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Manager } from 'mcpool';

if (isMainThread) {
  const [fixture] = process.argv.slice(2);
  const self = new URL(import.meta.url);
  const worker = (silent) => new Worker(self, { workerData: { fixture, silent } });
  const dying = worker(true);
  await new Promise((resolve) => dying.once('message', resolve));
  await dying.terminate();
  worker(false).on('message', (said) => console.log(said));
} else {
  const { fixture, silent } = workerData;
  const onApproval = () => {
    if (!silent) return true;
    parentPort.postMessage('asked');
    return new Promise(() => {});
  };
  const mcpServers = { a: { command: fixture, args: ['stdio'], isolate: 'session' } };
  const manager = new Manager({ mcpServers }, { cacheDir: false, onApproval });
  await manager.connectAll();
  const { text } = await manager.callTool('a', 'count');
  await manager.close();
  parentPort.postMessage(text);
}
