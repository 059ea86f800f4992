// Connections belong to the process: managers share them, in every thread, and each is closed with its last manager.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import {
  ClosedError,
  ConfigConflictError,
  ConfigInvalidError,
  InvalidArgumentsError,
  Manager,
  Pool,
} from 'mcpool';
import { alive, directory, fixture, manage, program, server, started, until } from './support.mjs';

const status = (manager) => manager.status()[0];
const echo = async (manager, text) =>
  assert.equal((await manager.callTool('a', 'echo', { text })).text, text);

async function connected(t, definition, options) {
  const manager = manage(t, { a: definition }, options);
  const report = await manager.connectAll();
  assert.deepEqual(report.connected, ['a'], String(report.failed.a));
  return manager;
}

test('managers share one process, and the last one ends it', async (t) => {
  const pool = new Pool();
  const path = join(directory(t), 'journal');
  const one = await connected(t, server('--journal', path), { pool });
  const two = await connected(t, server('--journal', path), { pool });
  const { pid } = status(one);
  assert.equal(status(two).pid, pid);
  assert.deepEqual([status(one).refs, status(two).refs], [2, 2]);
  await Promise.all([echo(one, 'from one'), echo(two, 'from two')]);
  await one.close();
  assert.equal(status(two).refs, 1);
  await echo(two, 'still here');
  await two.close();
  await until(() => !alive(pid), 'the end of the server');
  assert.deepEqual(started(path), [pid]);
});

test('without a pool of its own a manager is on the one of the process', async (t) => {
  const definition = server('--name', 'everybody’s');
  const managers = [1, 2].map(() => new Manager({ mcpServers: { everybodys: definition } }));
  for (const manager of managers) t.after(() => manager.close());
  for (const manager of managers) await manager.connectAll();
  const apart = manage(t, { everybodys: definition });
  await apart.connectAll();
  assert.deepEqual(
    managers.map((manager) => status(manager).refs),
    [2, 2],
  );
  assert.equal(status(apart).refs, 1);
  assert.notEqual(status(apart).pid, status(managers[0]).pid);
});

test('another definition of a name that is held is a conflict, and the fields are named', async (t) => {
  const pool = new Pool();
  const first = await connected(t, server(), { pool });
  const other = { ...server('--instructions', 'other'), timeout: 1234 };
  const second = manage(t, { a: other }, { pool });
  const { failed } = await second.connectAll();
  assert.ok(failed.a instanceof ConfigConflictError);
  assert.match(failed.a.message, /args.*timeout/);
  assert.equal(status(second).error.code, 'CONFIG_CONFLICT');
  await echo(first, 'undisturbed');
  await first.close();
  assert.deepEqual((await second.connectAll()).connected, ['a']);
  assert.equal(status(second).instructions, 'other');
});

for (const [setting, sharedWithChild] of [
  [{ shared: false }, true],
  [{ isolate: 'session' }, false],
]) {
  test(`each manager has a process of its own with ${JSON.stringify(setting)}`, async (t) => {
    const pool = new Pool();
    const one = await connected(t, { ...server(), ...setting }, { pool });
    const two = await connected(t, { ...server(), ...setting }, { pool });
    const child = one.child();
    t.after(() => child.close());
    await child.connectAll();
    assert.notEqual(status(one).pid, status(two).pid);
    assert.equal(status(child).pid === status(one).pid, sharedWithChild);
    const { pid } = status(two);
    await two.close();
    await until(() => !alive(pid), 'the end of the second server');
    await echo(one, 'undisturbed');
  });
}

test('what is kept alive outlives its managers until its time is up', async (t) => {
  const pool = new Pool({ keepAliveMs: 60_000, clock: 'manual' });
  const first = await connected(t, server(), { pool });
  const { pid } = status(first);
  await first.close();
  pool.advanceMs(59_999);
  const second = await connected(t, server(), { pool });
  assert.equal(status(second).pid, pid);
  // The first farewell's time passes while the second manager holds on.
  pool.advanceMs(60_000);
  await echo(second, 'still here');
  assert.equal(status(second).pid, pid);
  await second.close();
  assert.ok(alive(pid));
  pool.advanceMs(60_000);
  await until(() => !alive(pid), 'the end of the server');
});

test('a server may say itself how long it is kept', async (t) => {
  const pool = new Pool({ keepAliveMs: 'always', clock: 'manual' });
  const managers = [
    await connected(t, { ...server(), keepAlive: 0 }, { pool }),
    await connected(t, { ...server(), keepAlive: 10 }, { pool: new Pool() }),
  ];
  const pids = managers.map((manager) => status(manager).pid);
  for (const manager of managers) await manager.close();
  for (const pid of pids) await until(() => !alive(pid), 'the end of a server');
});

test('a pool says what is wrong with its options', () => {
  for (const options of [
    { clock: 'sun' },
    { keepAliveMs: 'long' },
    { keepAliveMs: -1 },
    { colour: 'blue' },
  ]) {
    assert.throws(() => new Pool(options), ConfigInvalidError, Object.keys(options)[0]);
  }
  for (const ms of [
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e23,
    'soon',
    '5',
    [5],
    5n,
    Symbol('x'),
    undefined,
  ]) {
    assert.throws(
      () => new Pool({ clock: 'manual' }).advanceMs(ms),
      (error) => error instanceof InvalidArgumentsError && error.message.startsWith('advanceMs takes'),
      String(ms),
    );
  }
});

test('a child has the servers, names and connections of its parent, and a life of its own', async (t) => {
  const naming = (server, tool) => `${tool}-of-${server}`;
  const parent = await connected(t, server(), { pool: new Pool(), naming });
  const child = parent.child();
  t.after(() => child.close());
  assert.equal(status(child).state, 'idle');
  await child.connectAll();
  assert.equal(status(child).pid, status(parent).pid);
  assert.equal(status(parent).refs, 2);
  assert.equal((await child.call('echo-of-a', { text: 'x' })).text, 'x');
  await parent.close();
  assert.equal((await child.call('echo-of-a', { text: 'y' })).text, 'y');
  assert.equal(status(child).refs, 1);
  assert.throws(() => parent.child(), ClosedError);
});

test('the main thread and its workers share one process', async (t) => {
  const path = join(directory(t), 'journal');
  const definition = server('--journal', path);
  const manager = new Manager({ mcpServers: { threads: definition } });
  t.after(() => manager.close());
  await manager.connectAll();
  const workers = [1, 2].map(() => new Worker(program('shares.mjs'), { workerData: { fixture, path } }));
  const ask = async (worker, word) => {
    worker.postMessage(word);
    const [answer] = await once(worker, 'message');
    return answer;
  };
  await Promise.all(workers.map((worker) => ask(worker, 'connect')));
  const { pid, refs } = status(manager);
  assert.equal(refs, 3);
  for (const worker of workers) assert.deepEqual(await ask(worker, 'status'), { pid, refs: 3 });

  const lane = async (_, index) => {
    const text = `main ${index}`;
    assert.equal((await manager.callTool('threads', 'echo', { text })).text, text);
  };
  const theirs = workers.map((worker) => ask(worker, 'call'));
  await Promise.all(Array.from({ length: 300 }, lane));
  assert.deepEqual(await Promise.all(theirs), [300, 300]);

  await ask(workers[0], 'close');
  await workers[1].terminate();
  await until(() => status(manager).refs === 1, 'the workers’ farewell');
  await manager.callTool('threads', 'echo', { text: 'alone' });
  assert.deepEqual(started(path), [pid]);
});
