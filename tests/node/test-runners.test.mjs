// Runners of tests load the package into a realm of their own: its errors must keep their classes and codes there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { place } from '../frameworks-node/place.mjs';
import { fixture, root } from './support.mjs';

const home = join(root, 'tests/test-runners');

before(() => {
  if (!existsSync(join(home, 'node_modules'))) throw new Error('run "make tests/test-runners/node_modules"');
  place(join(home, 'node_modules'));
});

async function run(...command) {
  const env = { ...process.env, MCPOOL_FIXTURE: fixture, NODE_TEST_CONTEXT: undefined, CI: '1' };
  try {
    return await promisify(execFile)(process.execPath, command, { cwd: home, env, timeout: 120_000 });
  } catch (error) {
    return assert.fail(`${error.stdout}\n${error.stderr}`);
  }
}

test('errors keep their class and code under Jest', async () => {
  const { stderr } = await run('node_modules/jest/bin/jest.js', '--testMatch', '**/jest.test.cjs');
  assert.match(stderr, /2 passed/);
});

test('errors keep their class and code under Vitest with vmThreads', async () => {
  const vitest = 'node_modules/vitest/vitest.mjs';
  const { stdout } = await run(vitest, 'run', '--pool', 'vmThreads', 'vitest.test.mjs');
  assert.match(stdout, /1 passed/);
});
