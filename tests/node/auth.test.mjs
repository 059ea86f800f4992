// The callback that signs in: plain or async, and when it fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthRequiredError, Pool } from 'mcpool';
import { get } from './person.mjs';
import { directory, manage } from './support.mjs';
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
  await assert.rejects(manager.authorize('a', { device: 'yes' }), TypeError);
  await assert.rejects(manager.completeAuth('nonsense'), { code: 'INVALID_ARGUMENTS' });
});
