// Workers that are terminated let go of the servers that they share with the main thread. Runs on every runtime.
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Manager } from 'mcpool';

const require = createRequire(import.meta.url);
const cli = require.resolve('mcpool/package.json').replace('package.json', 'node/bin/mcpool.js');
const manage = (command) => new Manager({ mcpServers: { demo: { command, args: [cli, 'demo-server'] } } });

if (isMainThread) {
  const command = process.argv[2];
  const manager = manage(command);
  await manager.connectAll();
  const holders = () => manager.status()[0].refs;
  for (const task of ['idle', 'calling', 'listening']) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { command, task } });
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    if (holders() !== 2) throw new Error(`${holders()} holders while the worker is ${task}`);
    await worker.terminate();
    for (const end = Date.now() + 20_000; holders() !== 1; await sleep(5))
      if (Date.now() > end) throw new Error(`${holders()} holders after the worker that was ${task}`);
  }
  await manager.callTool('demo', 'add', { a: 1, b: 2 });
  await manager.close();
  console.log('done');
  // Some runtimes keep a process alive for workers that have gone.
  process.exit(0);
} else {
  const { command, task } = workerData;
  const manager = manage(command);
  await manager.connectAll();
  if (task === 'calling') setInterval(() => manager.callTool('demo', 'add', { a: 1, b: 2 }), 1);
  if (task === 'listening') manager.on('status', () => {});
  parentPort.postMessage('up');
  setInterval(() => manager.status(), 1000);
}
