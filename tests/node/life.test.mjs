// A server's life as its manager tells it, and the end of what nobody uses any more.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  ConnectFailedError,
  ConnectionLostError,
  Pool,
  RestartFailedError,
  RestartInProgressError,
} from 'mcpool';
import { alive, directory, journal, manage, run, server, started, until } from './support.mjs';

test('a server that is killed while idle comes back, and the next call works', async (t) => {
  const manager = manage(t, { a: server() });
  await manager.connectAll();
  const [{ pid }] = manager.status();
  const seen = [];
  manager.on('status', (event) => seen.push(event));
  process.kill(pid, 'SIGKILL');
  await until(() => seen.at(-1)?.state === 'connected', 'the restart');
  const [lost] = seen;
  assert.deepEqual([lost.state, lost.reason, lost.attempt], ['reconnecting', 'transport-exit', 1]);
  assert.equal(lost.nextRetryMs, 0);
  assert.ok(lost.error instanceof ConnectionLostError);
  assert.deepEqual(new Set(seen.slice(0, -1).map(({ state }) => state)), new Set(['reconnecting']));
  assert.equal((await manager.callTool('a', 'echo', { text: 'again' })).text, 'again');
  const [status] = manager.status();
  assert.notEqual(status.pid, pid);
  assert.deepEqual([status.state, status.restarts], ['connected', 1]);
});

test('a call to a server that is down tells where the restart stands', async (t) => {
  const pool = new Pool({ clock: 'manual' });
  const path = join(directory(t), 'journal');
  const definition = server('--journal', path, '--exit-at', 'initialize:7');
  const manager = manage(t, { a: definition }, { pool, restartWaitMs: 0 });
  await manager.connectAll();
  const [{ reason, error }] = await until(
    () => manager.status()[0].nextRetryMs === 1000 && manager.status(),
    'the second attempt’s end',
  );
  assert.equal(reason, 'startup');
  assert.ok(error instanceof ConnectFailedError);
  await assert.rejects(manager.callTool('a', 'echo', { text: '' }), (error) => {
    assert.ok(error instanceof RestartFailedError);
    assert.deepEqual([error.code, error.executed, error.retryable], ['mcp_restart_failed', 'no', true]);
    const { lastError, ...restart } = error.restart;
    assert.deepEqual(restart, { attempt: 2, nextRetryMs: 1000 });
    assert.ok(lastError instanceof ConnectFailedError);
    assert.match(lastError.message, /code 7/);
    return true;
  });
  pool.advanceMs(1000);
  await until(() => manager.status()[0].nextRetryMs === 2000, 'the third attempt’s end');
  assert.equal(started(path).length, 3);
});

test('a call during an attempt says so, when it may not wait', async (t) => {
  // Ends the first time, and is silent ever after.
  const script = 'test -e "$0" && exec sleep 1000; touch "$0"; exit 7';
  const definition = { command: '/bin/sh', args: ['-c', script, join(directory(t), 'seen')] };
  const manager = manage(t, { a: definition }, { restartWaitMs: 0 });
  await manager.connectAll();
  await until(() => manager.status()[0].attempt === 2, 'the second attempt');
  await assert.rejects(manager.callTool('a', 'echo', { text: '' }), (error) => {
    assert.ok(error instanceof RestartInProgressError);
    assert.equal(error.restart.attempt, 2);
    assert.equal(error.restart.nextRetryMs, undefined);
    assert.match(error.restart.lastError.message, /code 7/);
    return true;
  });
});

test('a lost call is sent again only where that was asked for and does no harm', async (t) => {
  const times = async (tool, options) => {
    const path = join(directory(t), 'journal');
    const manager = manage(t, { a: server('--hint-tools', '--exit-at', 'tools/call', '--journal', path) });
    await manager.connectAll();
    await assert.rejects(manager.callTool('a', tool, {}, options), ConnectionLostError);
    return journal(path).filter(({ method }) => method === 'tools/call').length;
  };
  assert.equal(await times('read_only_count'), 1);
  assert.equal(await times('count', { retry: 'safe' }), 1);
  assert.equal(await times('read_only_count', { retry: 'safe' }), 2);
});

test('the wall of a call stands, whatever progress there is', async (t) => {
  const manager = manage(t, { a: server() });
  await manager.connectAll();
  let told = 0;
  const options = { timeoutMs: 10_000, maxTotalTimeoutMs: 1500, onProgress: () => told++ };
  const call = manager.callTool('a', 'progress', { steps: 1000, ms: 10 }, options);
  await assert.rejects(call, { code: 'TOOL_TIMEOUT' });
  assert.ok(told > 0);
});

test('tools of a server that is late are deferred when the cache knows them', async (t) => {
  const definition = server();
  const cacheDir = directory(t);
  const first = manage(t, { a: definition }, { cacheDir });
  await first.connectAll();
  assert.equal(first.getTools()[0].state, 'live');
  const pool = new Pool();
  const second = manage(t, { a: { ...definition, lazy: true } }, { cacheDir, pool });
  const report = await until(async () => {
    const report = await second.connectAll();
    if (report.deferred.length > 0) return report;
    await second.disconnectAll();
  }, 'the cache');
  assert.deepEqual(report.deferred, ['a']);
  assert.equal(second.getTools()[0].state, 'deferred');
  assert.equal((await second.callTool('a', 'echo', { text: 'woken' })).text, 'woken');
  assert.equal(second.getTools()[0].state, 'live');
});

test('a reader that is too slow loses the oldest events and is told how many', async (t) => {
  const manager = manage(t, { a: server() });
  await manager.connectAll();
  const stream = manager.events();
  const last = manager.events();
  const log = () => manager.callTool('a', 'log', { level: 'info', text: 'x'.repeat(60_000) });
  const count = 800;
  await Promise.all(Array.from({ length: count }, log));
  assert.equal(stream.lost, 0);
  const { value } = await stream.next();
  assert.ok(stream.lost > 0 && stream.lost < count);
  assert.deepEqual([value.type, value.count], ['lost', stream.lost]);
  const { value: same } = await last.next();
  assert.equal(last.lost, stream.lost);
  assert.equal(same.seq, value.seq);
  await manager.close();
  let read = 0;
  for await (const _ of stream) read++;
  assert.ok(read + stream.lost >= count);
});

for (const callers of [1, 32]) {
  test(`an eager reader and a listener get every call event: ${callers} at once`, async (t) => {
    const manager = manage(t, { a: server() }, { callEvents: true });
    await manager.connectAll();
    const calls = 8000;
    const told = [];
    const heard = [];
    let missed = 0;
    manager.on('call', (event) => heard.push(event.phase));
    manager.on('lost', (event) => {
      missed += event.count;
    });
    const stream = manager.events();
    const reading = (async () => {
      for await (const event of stream) told.push(event);
    })();
    let left = calls;
    const call = async () => {
      while (left-- > 0) await manager.callTool('a', 'echo', { text: 'x' });
    };
    await Promise.all(Array.from({ length: callers }, call));
    await until(() => heard.length + missed === 2 * calls, 'every event');
    await manager.close();
    await reading;
    const phases = told.filter(({ type }) => type === 'call').map(({ phase }) => phase);
    assert.equal(phases.length + stream.lost, 2 * calls);
    assert.deepEqual([stream.lost, missed], [0, 0]);
    assert.equal(phases.filter((phase) => phase === 'finished').length, calls);
  });
}

test('a listener that is too slow is told how much it missed', async (t) => {
  const manager = manage(t, { a: server() });
  await manager.connectAll();
  const count = 800;
  let heard = 0;
  let missed = 0;
  manager.on('log', () => {
    // Nothing else runs here until every call has its answer.
    const deadline = Date.now() + 60_000;
    while (manager.status()[0].calls.ok < count) assert.ok(Date.now() < deadline);
    heard++;
  });
  manager.on('lost', (event) => {
    missed += event.count;
  });
  const log = () => manager.callTool('a', 'log', { level: 'info', text: 'x'.repeat(60_000) });
  await Promise.all(Array.from({ length: count }, log));
  await until(() => heard + missed === count, 'every message');
  assert.ok(missed > 0);
});

for (const how of ['plain', 'pooled', 'named', 'child', 'watching']) {
  test(`a manager that nobody holds any more ends its server: ${how}`, async (t) => {
    const { said } = await run(t, 'drops.mjs', how);
    assert.equal(said, 'gone');
  });
}

for (const how of ['waiting', 'attempting', 'kept']) {
  test(`a process ends by itself and leaves nothing: ${how}`, async (t) => {
    const { said, pids } = await run(t, 'ends.mjs', how);
    assert.equal(said, `${how} done`);
    assert.ok(pids.length > 0);
    for (const pid of pids) await until(() => !alive(pid), `the end of ${pid}`);
  });
}
