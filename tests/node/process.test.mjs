// Threads and the end of the process: nothing hangs, nothing is left behind, whatever was forgotten.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { alive, directory, fixture, program, run, started, until } from './support.mjs';

for (const how of ['connected', 'calling', 'listening', 'unused', 'thrown', 'exit', 'wake-thread']) {
  test(`a process ends by itself and leaves no server: ${how}`, async (t) => {
    const { said, pids } = await run(t, 'forgets.mjs', how);
    assert.equal(said, `${how} done`);
    assert.equal(pids.length, how === 'unused' ? 0 : 1);
    for (const pid of pids) await until(() => !alive(pid), `the end of ${pid}`);
  });
}

test('worker threads have managers of their own and end cleanly in the middle of calls', async (t) => {
  const path = join(directory(t), 'journal');
  const ends = Array.from({ length: 4 }, async (_, index) => {
    const workerData = { fixture, path };
    const worker = new Worker(program('works.mjs'), { workerData });
    const [said] = await new Promise((resolve, reject) => {
      worker.once('message', (...message) => resolve(message));
      worker.once('error', reject);
    });
    assert.equal(said, 'hello');
    if (index % 2) {
      worker.postMessage('end');
      assert.equal(await new Promise((resolve) => worker.once('exit', resolve)), 0);
    } else {
      await worker.terminate();
    }
  });
  await Promise.all(ends);
  const pids = started(path);
  assert.equal(pids.length, 4);
  for (const pid of pids) await until(() => !alive(pid), `the end of ${pid}`);
});

test('a process without descriptors is told so by its first verbs, and the next ones work', async () => {
  const command = `ulimit -n 100; exec "$0" "$@"`;
  const words = ['-c', command, process.execPath, program('starves.mjs').pathname, fixture];
  const { stdout } = await promisify(execFile)('sh', words);
  const short = 'LIMIT_EXCEEDED';
  assert.deepEqual(JSON.parse(stdout), [short, short, 'fine', 'fine', 'fine', 'fine', 'fine']);
});

test('a package that is loaded twice works in both copies', async (t) => {
  const { said } = await run(t, 'loads-twice.mjs');
  assert.deepEqual(JSON.parse(said), { refused: 'ConfigInvalidError', text: 'hello', servers: 0 });
});
