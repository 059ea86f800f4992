// Finding the servers that the user has, without standing in anybody's way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ClosedError, ConfigInvalidError, discover, Manager, Secret } from 'mcpool';
import { server } from './support.mjs';
import { UserHome } from './user-home.mjs';

test('what is found is typed', async (t) => {
  const home = new UserHome(t);
  home.user({ a: server(), bad: { type: 'pigeon' } });
  home.ofProject({ a: { url: 'http://localhost:1/' } });
  const found = await discover(home.where);
  assert.equal(found.servers.a.source.provider, 'cursor');
  assert.deepEqual(
    found.servers.a.shadows.map(({ level }) => level),
    ['project'],
  );
  assert.equal(found.servers.a.enabled, true);
  assert.equal(found.servers.a.direct, undefined);
  assert.ok(found.servers.bad.error instanceof ConfigInvalidError);
  assert.equal(found.files.length, 2);
  assert.deepEqual([found.errors, found.native, found.leftOut], [[], {}, []]);
});

test('a manager is made of what was found', async (t) => {
  const home = new UserHome(t);
  home.user({ a: server() });
  const manager = await Manager.discover(home.options);
  assert.ok(manager instanceof Manager);
  assert.deepEqual((await manager.connectAll()).connected, ['a']);
  assert.deepEqual(Object.keys(manager.discovery.servers), ['a']);
  await manager[Symbol.asyncDispose]();
  await assert.rejects(manager.connectAll(), ClosedError);
});

test('a manager that was made otherwise has no discovery', () => {
  assert.equal(new Manager({ mcpServers: {} }).discovery, undefined);
});

test('discovery does not block the loop', async (t) => {
  const home = new UserHome(t);
  const bulk = Array.from({ length: 1500 }, (_, at) => [
    `s${at}`,
    { command: 'x', args: ['y'.repeat(2000)] },
  ]);
  home.user(Object.fromEntries(bulk));
  let turns = 0;
  let ticking = true;
  const tick = () => {
    turns += 1;
    if (ticking) setImmediate(tick);
  };
  tick();
  const manager = await Manager.discover(home.options);
  ticking = false;
  // It went on turning while the files were read.
  assert.ok(turns > 10, `${turns}`);
  assert.equal(manager.status().length, 1500);
  await manager.close();
});

test('an option that means nothing is refused', async (t) => {
  const { where } = new UserHome(t);
  for (const option of [{ mcpRemote: 'maybe' }, { exclude: 'a*' }, { projectConfig: 'no' }]) {
    await assert.rejects(discover({ ...where, ...option }), ConfigInvalidError);
    await assert.rejects(Manager.discover({ ...where, ...option }), ConfigInvalidError);
  }
  await assert.rejects(discover({ ...where, hostEnv: { planet: 'x' } }), ConfigInvalidError);
  await assert.rejects(Manager.discover({ ...where, trust: 'me' }), ConfigInvalidError);
});

test('keys of native servers are secrets', async (t) => {
  const home = new UserHome(t);
  home.user({ exa: { url: 'https://mcp.exa.ai/mcp?exaApiKey=k-123' } });
  const found = await discover({ ...home.where, native: ['exa'] });
  const [key] = found.native.exa;
  assert.ok(key instanceof Secret);
  assert.equal(key.expose(), 'k-123');
  for (const shown of [`${key}`, String(key), inspect(found, { depth: 9 }), JSON.stringify(found)]) {
    assert.ok(!shown.includes('k-123'), shown);
    assert.ok(shown.includes('***'), shown);
  }
  assert.deepEqual(Object.keys(key), []);
});
