// A manager of a worker asks in the worker; another worker ends while it is asked.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Manager } from 'mcpool';

if (isMainThread) {
  const [, , project, home] = process.argv.slice(2);
  const self = new URL(import.meta.url);
  const worker = (silent) => new Worker(self, { workerData: { project, home, silent } });
  const dying = worker(true);
  await new Promise((resolve) => dying.once('message', resolve));
  await dying.terminate();
  worker(false).on('message', (said) => console.log(said));
} else {
  const { project, home, silent } = workerData;
  const hostEnv = { env: { PATH: process.env.PATH }, home };
  const trust = () => {
    if (!silent) return true;
    parentPort.postMessage('asked');
    return new Promise(() => {});
  };
  const manager = await Manager.discover({ cwd: project, hostEnv, cacheDir: false, trust });
  const { connected } = await manager.connectAll();
  await manager.close();
  parentPort.postMessage(`connected ${connected}`);
}
