// Executes the JavaScript of README.md: every block that begins with `// run`.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { root } from './support.mjs';

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const blocks = [...readme.matchAll(/^```js\n(\/\/ run\n[\s\S]*?)^```$/gm)].map((found) => found[1]);
assert.ok(blocks.length > 0, 'README.md has no runnable JavaScript');

for (const [index, code] of blocks.entries()) {
  test(`JavaScript block ${index + 1} of the README runs`, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
      cwd: root,
    });
    assert.match(stdout, /demo/);
  });
}
