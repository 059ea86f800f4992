// A secret of a definition is nowhere but with its server: not in errors, logs, events, status, files and prints. What a
// tool answers is the server's own and is not looked at.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { MarkerWorld } from './marker-world.mjs';
import { program } from './support.mjs';

/** As written, and in base64. */
const markers = ['swordfish', 'c3dvcmRmaXNo'];

test('no secret is in anything that is said', async (t) => {
  const world = await MarkerWorld.start(t);
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [program('tells.mjs').pathname, world.home],
    {
      env: { ...world.environment, MCPOOL_LOG: 'trace', MCPOOL_CACHE_DIR: join(world.home, 'cache') },
      maxBuffer: 1 << 26,
      timeout: 120_000,
    },
  );
  assert.deepEqual(world.missing(), []);
  const written = world.written();
  assert.ok(written.some(([path]) => path.includes('cache')));
  const said = [
    ...stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    ['log', stderr],
    ...written,
  ];
  const all = said.map(([, text]) => text).join('\n');
  for (const sign of ['exited with code 3', 'stderr:', '401', '500', 'redirects', 'not a message', '***']) {
    assert.ok(all.includes(sign), `nothing was said of ${sign}`);
  }
  const leaks = [];
  for (const [place, text] of said) {
    for (const at of markers.map((marker) => text.indexOf(marker)).filter((at) => at >= 0)) {
      leaks.push(`${place}: …${text.slice(Math.max(0, at - 80), at + 60)}`);
    }
  }
  assert.deepEqual(leaks, []);
});
