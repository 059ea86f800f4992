// What the packages for npm say of themselves.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('a package with a binary names the repository, without which npm refuses provenance', (context) => {
  const copy = mkdtempSync(join(tmpdir(), 'mcpool-packages-'));
  context.after(() => rmSync(copy, { recursive: true }));
  for (const file of ['release/npm.mjs', 'node/platforms.json', 'LICENSE-APACHE', 'LICENSE-MIT'])
    cpSync(join(root, file), join(copy, file));
  const repository = { type: 'git', url: 'git+https://code.example/mcpool.git' };
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...manifest, repository }));
  mkdirSync(join(copy, 'dist'));
  for (const file of ['addon.node', 'dist/THIRD-PARTY-LICENSES.txt', 'dist/mcpool.cdx.json'])
    writeFileSync(join(copy, file), '');
  const target = 'x86_64-unknown-linux-gnu';
  execFileSync('node', ['release/npm.mjs', target, join(copy, 'addon.node')], { cwd: copy, stdio: 'pipe' });
  const packed = JSON.parse(readFileSync(join(copy, 'target/npm/linux-x64-gnu/package.json'), 'utf8'));
  assert.deepEqual(packed.repository, repository);
  assert.equal(packed.version, manifest.version);
});

test('the peers’ ranges begin at the oldest versions that are tested, and end after the newest', () => {
  const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
  const { peerDependencies } = read('package.json');
  const newest = read('tests/frameworks-node/package.json').dependencies;
  const lowest = read('tests/frameworks-node/lowest/package.json').dependencies;
  for (const [name, range] of Object.entries(peerDependencies)) {
    // Its tests are those of telemetry.
    if (name === '@opentelemetry/api') continue;
    const [, least, bound] = range.match(/^>=(\d+\.\d+\.\d+) <(\d+)$/);
    if (name in lowest) assert.equal(lowest[name], least, name);
    else assert.equal(newest[name], least, `${name} has a lower end that is not tested: add it to "lowest"`);
    assert.equal(Number(newest[name].split('.')[0]) + 1, Number(bound), name);
  }
});
