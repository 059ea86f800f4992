// What servers are told about their client, for the process and for a pool.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigInvalidError, Pool, setClientInfo } from 'mcpool';
import { directory, manage, server } from './support.mjs';

const agent = { name: 'my-agent', version: '1.2' };

/** Connects, and returns what the server was told. */
async function seenClient(t, pool) {
  const path = join(directory(t), 'journal');
  const manager = manage(t, { a: server('--journal', path) }, { pool });
  assert.deepEqual((await manager.connectAll()).connected, ['a']);
  await manager.close();
  const lines = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return lines.findLast(({ method }) => method === 'initialize').client;
}

test('that of the process is told until it is set back, and that of a pool wins', async (t) => {
  t.after(() => setClientInfo(null));
  setClientInfo({ ...agent, title: 'My agent' });
  assert.deepEqual(await seenClient(t, new Pool()), { ...agent, title: 'My agent' });
  const clientInfo = { name: 'other', version: '2', title: undefined };
  assert.deepEqual(await seenClient(t, new Pool({ clientInfo })), { name: 'other', version: '2' });
  setClientInfo(null);
  assert.equal((await seenClient(t, new Pool())).name, 'mcpool');
});

test('what cannot be told is refused by its name', () => {
  for (const [info, named] of [
    [{ version: '1' }, '"name"'],
    [{ name: 'a' }, '"version"'],
    [{ name: 'a\n', version: '1' }, '"name"'],
    [{ name: 'a', version: 1 }, '"version"'],
    [{ name: 'a', version: '1', title: 'x'.repeat(201) }, '"title"'],
    [{ name: 'a', version: '1', titel: 'x' }, '"titel"'],
    ['my-agent', 'an object'],
    [undefined, 'an object'],
    [() => {}, 'function'],
  ]) {
    const refused = (error) => error instanceof ConfigInvalidError && error.message.includes(named);
    assert.throws(() => setClientInfo(info), refused, String(named));
  }
  const refused = { name: 'ConfigInvalidError', message: /clientInfo.*"version"/ };
  assert.throws(() => new Pool({ clientInfo: { name: 'a' } }), refused);
});
