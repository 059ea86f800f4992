// Threads and the end of the process: nothing hangs, nothing is left behind, whatever was forgotten.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { alive, directory, fixture, journal, until } from './support.mjs';

const program = (name) => new URL(`programs/${name}`, import.meta.url);

/** Runs a program with a fixture; gives its last line, and the fixtures' processes. */
async function run(t, name, ...words) {
  const path = join(directory(t), 'journal');
  const given = [program(name).pathname, fixture, path, ...words];
  const { stdout } = await promisify(execFile)(process.execPath, given, { timeout: 30_000 });
  const pids = journal(path)
    .filter(({ event }) => event === 'start')
    .map(({ pid }) => pid);
  return { said: stdout.trim().split('\n').at(-1), pids };
}

for (const how of ['connected', 'calling', 'listening', 'unused', 'thrown', 'exit', 'wake-thread']) {
  test(`a process ends by itself and leaves no server: ${how}`, async (t) => {
    const { said, pids } = await run(t, 'forgets.mjs', how);
    assert.equal(said, `${how} done`);
    assert.equal(pids.length, how === 'unused' ? 0 : 1);
    for (const pid of pids) await until(() => !alive(pid), `the end of ${pid}`);
  });
}

test('a manager that nobody holds any more is closed', async (t) => {
  const { said } = await run(t, 'drops.mjs');
  assert.equal(said, 'gone');
});

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
  const pids = journal(path).flatMap(({ event, pid }) => (event === 'start' ? [pid] : []));
  assert.equal(pids.length, 4);
  for (const pid of pids) await until(() => !alive(pid), `the end of ${pid}`);
});
