// The types: of the adapters' sources against the frameworks, and of programs against the adapters as they ship.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../..');

/** Checks the files that `include` names, as the package's own sources are checked, where the frameworks are found. */
function check(t, from, include, options = {}) {
  // Beside `node_modules`, or the frameworks would not be found.
  const place = mkdtempSync(join(here, 'made-'));
  t.after(() => rmSync(place, { recursive: true }));
  cpSync(from, place, { recursive: true });
  const config = {
    extends: '../../../tsconfig.json',
    compilerOptions: {
      noEmit: true,
      rootDir: '.',
      typeRoots: [join(root, 'node_modules/@types')],
      ...options,
    },
    ...{ include, exclude: [] },
  };
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(config));
  const { stdout, status } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', place], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout);
}

const sources = join(root, 'node/lib/adapters');

test('the adapters for require fit their frameworks', (t) => {
  check(t, sources, ['*.ts', '*.cts']);
});

test('the adapters for import fit their frameworks', (t) => {
  check(t, sources, ['*.ts', '*.mts'], { module: 'esnext', moduleResolution: 'bundler' });
});

// Stricter than `strict` the frameworks do not fit themselves.
const strict = { exactOptionalPropertyTypes: false };

test('strict programs of ES modules get the frameworks’ own types', (t) => {
  check(t, join(here, 'programs'), ['*.mts'], strict);
});

test('strict programs of CommonJS get the frameworks’ own types', (t) => {
  check(t, join(here, 'programs'), ['*.cts'], strict);
});
