// A call is made for an identity: from its options, the manager's, or a callback in the caller's async context.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import { test } from 'node:test';
import { AuthFailedError, ConfigInvalidError, InvalidArgumentsError, Manager } from 'mcpool';
import { directory, journal, manage, server } from './support.mjs';
import { Web } from './web.mjs';

async function asking(test, onIdentity) {
  const path = join(directory(test), 'journal');
  const manager = manage(test, { a: server('--journal', path) }, { onIdentity, cacheDir: false });
  await manager.connectAll();
  const calls = () => journal(path).filter((line) => line.method === 'tools/call').length;
  return { manager, calls };
}

for (const later of [false, true]) {
  test(`the callback sees the async context of the caller${later ? ', also later' : ''}`, async (t) => {
    const user = new AsyncLocalStorage();
    const asked = [];
    const identify = (question) => {
      asked.push(question);
      return { identity: user.getStore() };
    };
    const { manager } = await asking(
      t,
      later ? (question) => new Promise((go) => setImmediate(() => go(identify(question)))) : identify,
    );
    const call = (text) => user.run(text, () => manager.callTool('a', 'echo', { text }));
    const answers = await Promise.all(['ann', 'bob', 'eve'].map(call));
    assert.deepEqual(
      answers.map(({ text }) => text),
      ['ann', 'bob', 'eve'],
    );
    assert.deepEqual(manager.status()[0].identities, {
      ann: 'connected',
      bob: 'connected',
      eve: 'connected',
    });
    assert.deepEqual(asked, Array(3).fill({ server: 'a', tool: 'echo' }));
  });
}

test('an answer that is no caller fails the call', async (t) => {
  const answers = [true, 'ann', 7, ['ann'], { identity: 1 }, { headers: { x: 1 } }, { user: 'ann' }];
  const { manager, calls } = await asking(t, () => answers.pop());
  while (answers.length > 0) {
    await assert.rejects(manager.callTool('a', 'echo', { text: 'hi' }), (error) => {
      assert.ok(error instanceof AuthFailedError);
      assert.deepEqual([error.executed, error.server], ['no', 'a']);
      return true;
    });
  }
  assert.equal(calls(), 0);
});

test('an error of the callback fails the call, and its text is for the log only', async (t) => {
  const { manager, calls } = await asking(t, () => {
    throw new Error('Bearer s3cret of nobody');
  });
  await assert.rejects(manager.callTool('a', 'echo', { text: 'hi' }), (error) => {
    assert.ok(error instanceof AuthFailedError);
    assert.doesNotMatch(JSON.stringify(error) + error.message + error.hint, /s3cret/);
    return true;
  });
  assert.equal(calls(), 0);
});

test('what JSON would leave out of an answer fails the call', async (t) => {
  const identity = 'ann';
  class User {
    get identity() {
      return identity;
    }
  }
  const answers = [
    new Map([['identity', identity]]),
    new User(),
    { identity, headers: new Map([['X-A', '1']]) },
    { identity, headers: { 'X-A': undefined } },
    { identity, headers: { 'X-A': () => 1 } },
  ];
  const { manager, calls } = await asking(t, () => answers.pop());
  while (answers.length > 0) {
    await assert.rejects(manager.callTool('a', 'echo', { text: 'hi' }), AuthFailedError);
  }
  assert.equal(calls(), 0);
});

test('headers may be those of fetch', async (t) => {
  const web = await Web.start([]);
  t.after(() => web.end());
  const manager = manage(t, { a: { url: web.url } }, { cacheDir: false });
  await manager.connectAll();
  const options = { headers: new Headers({ 'X-Team': 'red' }) };
  assert.match((await manager.callTool('a', 'headers', {}, options)).text, /"x-team":"red"/);
  for (const headers of [new Map([['X-A', '1']]), { 'X-A': undefined }]) {
    await assert.rejects(manager.callTool('a', 'headers', {}, { headers }), InvalidArgumentsError);
  }
});

test('a call without an answer can be aborted', async (t) => {
  const { manager, calls } = await asking(t, () => new Promise(() => {}));
  const signal = AbortSignal.timeout(50);
  await assert.rejects(manager.callTool('a', 'echo', { text: 'hi' }, { signal }), { name: /Abort|Timeout/ });
  assert.equal(calls(), 0);
});

test('an option that cannot be used is refused by name', async (t) => {
  const { manager } = await asking(t);
  for (const wrong of [{ identity: 1 }, { identity: '' }, { headers: ['a'] }, { headers: { 'X-A': 1 } }]) {
    const name = new RegExp(Object.keys(wrong)[0]);
    await assert.rejects(manager.callTool('a', 'echo', { text: 'hi' }, wrong), (error) => {
      assert.ok(error instanceof InvalidArgumentsError);
      assert.match(error.message, name);
      return true;
    });
    assert.throws(
      () => new Manager({ mcpServers: {} }, wrong),
      (error) => error instanceof ConfigInvalidError && name.test(error.message),
    );
  }
});

test('an identity keeps its name in the status', async (t) => {
  const { manager } = await asking(t);
  await manager.callTool('a', 'echo', { text: 'hi' }, { identity: 'tenant_one' });
  assert.deepEqual(manager.status()[0].identities, { tenant_one: 'connected' });
});
