// A trust callback runs on the loop of its manager, and whatever goes wrong with it trusts nothing.
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ConfigInvalidError, Manager, McpoolError, trust, trusted, UntrustedError, untrust } from 'mcpool';
import { run, server, until } from './support.mjs';
import { UserHome } from './user-home.mjs';

async function made(test, home, options) {
  const manager = await Manager.discover({ ...home.options, ...options });
  test.after(() => manager.close());
  return manager;
}

function atHome(test, servers = { a: server() }) {
  const home = new UserHome(test);
  home.file = home.ofProject(servers);
  return home;
}

test('a callback decides, now or later', async (t) => {
  const home = atHome(t, { a: server(), b: server(), c: server() });
  const questions = [];
  const answers = { a: true, b: false, c: turn().then(() => true) };
  const trust = (question) => {
    questions.push(question);
    return answers[question.server];
  };
  const manager = await made(t, home, { trust });
  const report = await manager.connectAll();
  assert.deepEqual([report.connected, report.blocked], [['a', 'c'], ['b']]);
  assert.deepEqual(questions.map(({ server }) => server).sort(), ['a', 'b', 'c']);
  for (const { path, fingerprint, definition, ...rest } of questions) {
    assert.equal(path, realpathSync(home.file));
    assert.ok(fingerprint && definition.command);
    assert.deepEqual(Object.keys(rest), ['server', 'files', 'replaces', 'trusted']);
  }
  await assert.rejects(manager.connect('b'), UntrustedError);
});

for (const [name, trust] of [
  ['throws', () => assert.fail('no idea')],
  ['rejects', () => Promise.reject(new Error('no idea'))],
  ['gives something else', () => 'yes'],
  ['gives nothing', () => undefined],
]) {
  test(`a callback that ${name} trusts nothing`, async (t) => {
    const manager = await made(t, atHome(t), { trust });
    assert.deepEqual((await manager.connectAll()).blocked, ['a']);
  });
}

test('a callback answers for the first call, a child and a reload', async (t) => {
  const home = atHome(t);
  const asked = [];
  const trust = ({ server }) => asked.push(server) > 0;
  const manager = await made(t, home, { trust });
  const child = manager.child();
  t.after(() => child.close());
  await child.connect('a');
  home.ofProject({ a: server(), b: server() });
  assert.deepEqual((await manager.reload()).connect.connected, ['b']);
  assert.deepEqual(asked, ['a', 'b']);
});

test('who listens to events is asked while no verb is under way', async (t) => {
  const home = atHome(t, {});
  const asked = [];
  const trust = ({ server }) => asked.push(server) > 0;
  const manager = await made(t, home, { trust, watch: true });
  await manager.connectAll();
  const states = [];
  manager.on('status', ({ state }) => states.push(state));
  home.ofProject({ b: server() });
  await until(() => states.includes('connected'), 'the connection');
  assert.deepEqual(asked, ['b']);
});

test('a question keeps no process alive once nobody waits', async (t) => {
  const home = atHome(t);
  const { said } = await run(t, 'asks.mjs', home.project, home.home);
  assert.equal(said, 'asked');
});

test('a worker answers for its own managers', async (t) => {
  const home = atHome(t);
  const { said } = await run(t, 'asks-in-a-worker.mjs', home.project, home.home);
  assert.equal(said, 'connected a');
});

test('trust is stored and taken back', async (t) => {
  const home = atHome(t);
  const { hostEnv } = home;
  assert.deepEqual(await trust(home.file, { servers: [], hostEnv }), []);
  const given = await trust(home.file, { hostEnv });
  assert.deepEqual(
    given.map(({ server, path }) => [server, path]),
    [['a', realpathSync(home.file)]],
  );
  assert.deepEqual(await trusted({ hostEnv }), given);
  const manager = await made(t, home, {});
  assert.deepEqual((await manager.connectAll()).connected, ['a']);
  assert.deepEqual(await untrust(home.file, { servers: ['a'], hostEnv }), given);
  assert.deepEqual(await trusted({ hostEnv }), []);
});

test('trust of what is no config is an error', async (t) => {
  const { file, hostEnv } = atHome(t);
  await assert.rejects(trust(`${file}.gone`, { hostEnv }), McpoolError);
  await assert.rejects(trust(file, { servers: 'a', hostEnv }), ConfigInvalidError);
});

test('options of trust are refused by name, with the name that was meant', async () => {
  for (const [options, said] of [
    [{ server: ['a'] }, 'did you mean "servers"?'],
    [{ host_env: {} }, 'did you mean "hostEnv"?'],
    [{ servers: 'a' }, '"servers" of trust must be a list of texts'],
  ]) {
    const error = await trust('.mcp.json', options).catch((error) => error);
    assert.equal(error.code, 'CONFIG_INVALID');
    assert.ok(`${error.message}; ${error.hint}`.includes(said), `${error.message}; ${error.hint}`);
  }
});
