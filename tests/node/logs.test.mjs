// Log records go to stderr when MCPOOL_LOG asks for them, and nothing is printed otherwise.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { fixture } from './support.mjs';

const program = new URL('programs/logs.mjs', import.meta.url).pathname;

/** What a program prints that logs at this level. */
async function run(level) {
  const { MCPOOL_LOG: _, ...env } = process.env;
  if (level !== undefined) env.MCPOOL_LOG = level;
  const options = { env, timeout: 30_000 };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, fixture], options);
  assert.equal(stdout, '');
  return stderr.split('\n').slice(0, -1);
}

for (const level of [undefined, '']) {
  test(`nothing is printed by itself: ${level === undefined ? 'unset' : 'empty'}`, async () => {
    assert.deepEqual(await run(level), []);
  });
}

test('one line for each record is written when it is asked for', async () => {
  const lines = await run('debug');
  const heads = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (ERROR|WARN |INFO |DEBUG) /;
  for (const line of lines) assert.match(line, heads);
  assert.ok(lines.some((line) => line.endsWith('DEBUG a: from a')));
  assert.ok(lines.some((line) => line.endsWith('INFO  a: fixture: ***-said \\u{1b}[2J')));
  assert.ok(lines.some((line) => /ERROR ill: attempt 1 failed .*code 7/.test(line)));
  assert.ok(!lines.some((line) => line.includes('hunter2')));
});

test('only the level that is asked for is written', async () => {
  const lines = await run('ERROR');
  assert.equal(lines.length, 1);
  assert.match(lines[0], /ERROR ill: /);
});

test('a level that does not exist is told once', async () => {
  assert.deepEqual(await run('loud'), ['MCPOOL_LOG is "loud"; it may be error, warn, info, debug, trace']);
});
