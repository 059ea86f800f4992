// The callback that signs in: plain or async, and when it fails.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AuthRequiredError, Pool } from 'mcpool';
import { get } from './person.mjs';
import { directory, manage, until } from './support.mjs';
import { Web } from './web.mjs';

async function atServer(t, options = {}) {
  const web = await Web.start(['--oauth'], 'http');
  t.after(() => web.end());
  const hostEnv = { env: {}, home: directory(t) };
  return manage(t, { a: { url: web.url } }, { pool: new Pool(), cacheDir: false, hostEnv, ...options });
}

const redirected = async ({ url }) => (await get(url, { redirect: 'manual' })).location;

test('the callback may return a text or a URL', async (t) => {
  for (const onAuth of [redirected, async (prompt) => new URL(await redirected(prompt))]) {
    const manager = await atServer(t, { onAuth });
    assert.deepEqual((await manager.connectAll()).connected, ['a']);
    assert.equal((await manager.callTool('a', 'echo', { text: 'hi' })).text, 'hi');
  }
});

for (const [name, onAuth] of Object.entries({
  throws: () => {
    throw new Error('no browser');
  },
  'gives a number': () => 7,
  'gives nothing': () => {},
})) {
  test(`a callback that ${name} leaves the sign-in open`, async (t) => {
    const manager = await atServer(t, { onAuth });
    const { a: error } = (await manager.connectAll()).failed;
    assert.ok(error instanceof AuthRequiredError);
    assert.equal(manager.status()[0].state, 'needs_auth');
    await get(error.authUrl);
    await manager.waitFor('a', { timeoutMs: 30_000 });
    assert.equal(manager.status()[0].state, 'connected');
  });
}

test('authorize, completeAuth and forgetAuth', async (t) => {
  const manager = await atServer(t);
  const { a: error } = (await manager.connectAll()).failed;
  await manager.completeAuth(new URL(await redirected({ url: error.authUrl })));
  await manager.authorize('a');
  await manager.forgetAuth('a');
  await assert.rejects(manager.connect('a'), AuthRequiredError);
  for (const [options, said] of [
    [{ device: 'yes' }, /"device" of authorize must be true or false/],
    [{ frsh: true }, /no option "frsh" of authorize/],
  ]) {
    await assert.rejects(manager.authorize('a', options), { code: 'CONFIG_INVALID', message: said });
  }
  await assert.rejects(manager.completeAuth('nonsense'), { code: 'INVALID_ARGUMENTS' });
});

test('the callback is asked while nobody waits for the manager', async (t) => {
  const manager = await atServer(t, { onAuth: redirected, gateMs: 0, pendingWithoutCache: 'skip' });
  await manager.connectAll();
  await until(() => manager.status()[0].state === 'connected', 'the sign-in');
});

test('a refresh is saved although its call was given up', async (t) => {
  const saved = [];
  const loginStore = async ({ op, value }) => {
    if (op === 'save') saved.push(value);
    return op === 'load' ? saved.at(-1) : undefined;
  };
  const home = directory(t);
  const [held, journal] = [join(home, 'held'), join(home, 'journal.jsonl')];
  const knobs = ['--oauth', '--oauth-rotate', '--oauth-expire-at-call', '1', '--oauth-hold', `token=${held}`];
  const web = await Web.start([...knobs, '--journal', journal], 'http');
  t.after(() => web.end());
  const options = { pool: new Pool(), cacheDir: false, hostEnv: { env: {}, home }, loginStore };
  const manager = manage(t, { a: { url: web.url } }, { ...options, onAuth: redirected });
  assert.deepEqual((await manager.connectAll()).connected, ['a']);
  const signedIn = saved.at(-1);
  writeFileSync(held, 'hold');
  const given = new AbortController();
  const call = manager.callTool('a', 'echo', { text: 'hi' }, { signal: given.signal });
  const count = (text) => readFileSync(journal, 'utf8').split(text).length - 1;
  await until(() => count('"grant":"refresh_token"') === 1, 'the refresh');
  given.abort();
  await assert.rejects(call);
  writeFileSync(held, '');
  await until(() => saved.at(-1) !== signedIn, 'the save');
  await manager.close();
  const after = manage(t, { a: { url: web.url } }, options);
  assert.deepEqual((await after.connectAll()).connected, ['a']);
  assert.equal(count('family_revoked'), 0);
});
