// A config that changes: only the difference is applied, on request or as the file changes.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ConfigInvalidError, ConfigIoError, ConnectFailedError, Manager, Pool } from 'mcpool';
import { alive, directory, journal, manage, run, server, until } from './support.mjs';

const named = (manager, name) => manager.status().find((status) => status.name === name);
const names = (manager) => manager.status().map(({ name }) => name);
const text = (mcpServers) => JSON.stringify({ mcpServers });

/** What happens from now on, as it comes. */
function record(manager) {
  const seen = [];
  for (const type of ['status', 'log', 'config_changed']) manager.on(type, (event) => seen.push(event));
  return seen;
}

/** A manager on a file that holds these servers. */
function open(t, mcpServers, options) {
  const file = join(directory(t), 'mcp.json');
  writeFileSync(file, text(mcpServers));
  const manager = Manager.fromFile(file, { pool: new Pool(), cacheDir: false, ...options });
  t.after(() => manager.close());
  return { file, manager };
}

test('a reload applies the difference and leaves calls on the other servers alone', async (t) => {
  const path = join(directory(t), 'journal');
  const kept = server('--journal', path);
  const manager = manage(t, { kept, gone: server(), changed: server(), tuned: server() });
  await manager.connectAll();
  const seen = record(manager);
  const before = Object.fromEntries(manager.status().map(({ name, pid }) => [name, pid]));
  const abort = new AbortController();
  const call = manager.callTool('kept', 'sleep', { ms: 60_000 }, { signal: abort.signal });
  await until(() => journal(path).some(({ tool }) => tool === 'sleep'), 'the call');

  const report = await manager.reload({
    mcpServers: {
      kept,
      changed: server('--instructions', 'new'),
      tuned: { ...server(), toolTimeout: 5 },
      fresh: server(),
      broken: { ...server('--exit-at', 'start'), restart: 'never' },
    },
  });
  const { connect, ...changes } = report;
  assert.deepEqual(changes, {
    added: ['fresh', 'broken'],
    removed: ['gone'],
    restarted: ['changed'],
    updated: ['tuned'],
    unchanged: ['kept'],
  });
  assert.deepEqual(connect.connected, ['changed', 'fresh']);
  assert.ok(connect.failed.broken instanceof ConnectFailedError);
  assert.deepEqual(names(manager), ['kept', 'changed', 'tuned', 'fresh', 'broken']);
  assert.equal(named(manager, 'kept').calls.inFlight, 1);
  for (const name of ['kept', 'tuned']) assert.equal(named(manager, name).pid, before[name]);
  assert.equal(named(manager, 'changed').instructions, 'new');
  for (const name of ['gone', 'changed']) await until(() => !alive(before[name]), `the end of ${name}`);
  await assert.rejects(manager.callTool('tuned', 'sleep', { ms: 60_000 }), { code: 'TOOL_TIMEOUT' });

  const changed = await until(() => seen.find(({ type }) => type === 'config_changed'), 'the event');
  const { added, removed, restarted, updated } = changes;
  const { seq, timeMs, ...told } = changed;
  assert.deepEqual(told, { type: 'config_changed', server: '', added, removed, restarted, updated });
  abort.abort();
  await assert.rejects(call, { name: 'AbortError' });
});

test('a result is shown as at the time of its call, whatever a reload changed since', async (t) => {
  const limited = (maxResultChars) => ({ mcpServers: { a: { ...server(), maxResultChars } } });
  const manager = manage(t, limited(20).mcpServers);
  await manager.connectAll();
  const { name } = manager.getTools().find(({ rawName }) => rawName === 'echo');
  const text = 'x'.repeat(30);
  const [short, shortByName] = await Promise.all([
    manager.callTool('a', 'echo', { text }),
    manager.call(name, { text }),
  ]);
  assert.deepEqual((await manager.reload(limited(50))).updated, ['a']);
  const long = await manager.callTool('a', 'echo', { text });
  await manager.reload({ mcpServers: {} });
  for (const result of [short, shortByName])
    assert.match(result.forModel(), /\nx{20}\n… \(output truncated at 20/);
  assert.match(long.forModel(), /^<mcp_tool_output server="a" tool="echo" .*\nx{30}\n</);
});

test('a config that is none changes nothing', async (t) => {
  const manager = manage(t, { a: server() });
  await manager.connectAll();
  const [{ pid }] = manager.status();
  const cycle = {};
  cycle.mcpServers = cycle;
  for (const config of [null, 7, '{', cycle])
    await assert.rejects(manager.reload(config), ConfigInvalidError);
  await assert.rejects(manager.reload(), ConfigInvalidError);
  assert.equal(manager.status()[0].pid, pid);
});

test('a file is read again on request; one that cannot be read is an error', async (t) => {
  const { file, manager } = open(t, { a: server() });
  await manager.connectAll();
  writeFileSync(file, text({ b: server() }));
  const { removed, added } = await manager.reload();
  assert.deepEqual([removed, added], [['a'], ['b']]);
  writeFileSync(file, '{');
  await assert.rejects(manager.reload(), ConfigInvalidError);
  assert.deepEqual(names(manager), ['b']);
  assert.throws(() => Manager.fromFile(`${file}.none`), ConfigIoError);
  assert.throws(() => Manager.fromFile(pathToFileURL(file)), ConfigInvalidError);
});

const ways = {
  'another file is renamed onto it'(file, words) {
    writeFileSync(`${file}.new`, words);
    renameSync(`${file}.new`, file);
  },
  'it is written in place': writeFileSync,
};

for (const [how, put] of Object.entries(ways)) {
  test(`a watched file is followed when ${how}`, async (t) => {
    const { file, manager } = open(t, { a: server() }, { watch: true });
    await manager.connectAll();
    const [{ pid }] = manager.status();
    for (const [round, name] of ['b', 'c'].entries()) {
      put(file, text({ a: server(), [name]: server() }));
      await until(() => named(manager, name)?.state === 'connected', `server ${name} in round ${round}`);
      assert.deepEqual(names(manager), ['a', name]);
    }
    assert.equal(named(manager, 'a').pid, pid);
  });
}

test('a watched file that turns bad is told, and what worked goes on working', async (t) => {
  const { file, manager } = open(t, { a: server() }, { watch: true });
  await manager.connectAll();
  const seen = record(manager);
  writeFileSync(file, '{"mcpServers": {');
  const log = await until(() => seen.find(({ type }) => type === 'log'), 'the warning');
  assert.deepEqual([log.origin, log.level, log.server], ['mcpool', 'warning', '']);
  assert.equal((await manager.callTool('a', 'echo', { text: 'on' })).text, 'on');
  writeFileSync(file, text({ a: server(), b: server() }));
  await until(() => named(manager, 'b')?.state === 'connected', 'the new server');
});

test('a closed manager follows its file no longer', async (t) => {
  const { file, manager } = open(t, { a: server() }, { watch: true });
  const witness = Manager.fromFile(file, { watch: true, pool: new Pool() });
  t.after(() => witness.close());
  await manager.close();
  writeFileSync(file, text({ a: server(), b: server() }));
  await until(() => names(witness).length === 2, 'the other manager’s reload');
  assert.deepEqual(names(manager), ['a']);
});

test('watching keeps no process alive', async (t) => {
  const { said, pids } = await run(t, 'ends.mjs', 'watching');
  assert.equal(said, 'watching done');
  for (const pid of pids) await until(() => !alive(pid), `the end of ${pid}`);
});
