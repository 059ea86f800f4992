// Search gives the lists that it gives in every language, over the tools of real servers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connected, manage, root, server } from './support.mjs';

const file = (name) => join(root, 'tests/search', name);
const read = (name) => JSON.parse(readFileSync(file(name), 'utf8'));

test('the lists of all languages are the same', async (t) => {
  const names = Object.keys(read('tools.json'));
  const listing = (name) => [name, server('--name', name, '--tools-from', file('tools.json'))];
  const manager = manage(t, Object.fromEntries(names.map(listing)), { naming: 'raw', cacheDir: false });
  for (const name of names) await manager.connect(name);
  for (const [query, found] of Object.entries(read('found.json'))) {
    assert.deepEqual(
      manager.searchTools(query).map(({ name }) => name),
      found,
    );
  }
});

test('a search gives the tools of the list', async (t) => {
  const manager = await connected(t);
  const found = manager.searchTools('add numbers', 1);
  assert.deepEqual(
    found.map(({ rawName }) => rawName),
    ['add'],
  );
  assert.ok(manager.getTools().includes(found[0]));
  assert.deepEqual(manager.searchTools('add numbers', -1), []);
  assert.deepEqual(manager.searchTools('add numbers', Number.NaN), []);
  assert.ok(manager.searchTools('add numbers', Number.POSITIVE_INFINITY).length > 0);
  assert.equal(manager.searchTools('number '.repeat(150_000))[0].rawName, 'add');
});
