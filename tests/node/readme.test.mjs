// Executes the JavaScript of README.md and of docs/: every block that begins with `// run`.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { directory, root } from './support.mjs';

const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
const blocks = ['README.md', ...docs.map((name) => join('docs', name))].flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const found = [...text.matchAll(/^```js\n(\/\/ run\n[\s\S]*?)^```$/gm)];
  return found.map(([, code], index) => [`block ${index + 1} of ${page}`, code]);
});
assert.ok(blocks.length > 0, 'there is no runnable JavaScript');

for (const [name, code] of blocks) {
  test(`JavaScript ${name} runs`, async (t) => {
    // What the machine's user has, and what was remembered before, is nobody's business here.
    const { PATH } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
      cwd: root,
      env: { PATH, HOME: directory(t) },
    });
    assert.match(stdout, /demo/);
  });
}
