// The TypeScript programs of examples/ compile strictly, run, and end their servers.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { directory, root } from './support.mjs';

const run = promisify(execFile);
/** What each program prints, among other lines. */
const PRINTED = {
  agent_loop: ["ready: [ 'demo' ]", 'failed', 'answer: It is 42.'],
  sub_agents: ['Hello, Grace!', 'restarts: 0 calls: 3'],
  tour: [
    'found: mcp_demo_add',
    'again: Hello, Grace!',
    'error: TOOL_REJECTED did you mean "add"?',
    'reconnecting',
  ],
};
const PROGRAMS = [...Object.keys(PRINTED), 'http_server'];
const compiled = (name) => join(root, 'target/examples', `${name}.mjs`);
const environment = (t) => ({ PATH: process.env.PATH, HOME: directory(t) });

before(() =>
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'examples')]),
);

test('every TypeScript program is run, and there are as many as for Python', () => {
  const names = readdirSync(join(root, 'examples'));
  const programs = names.filter((name) => /\.[cm]?[jt]s$/.test(name));
  assert.deepEqual(programs.sort(), PROGRAMS.map((name) => `${name}.mts`).sort());
  // The picture server belongs to the notebook.
  const python = names.filter((name) => /\.(py|ipynb)$/.test(name) && name !== 'picture_server.py');
  assert.ok(programs.length >= python.length, `${programs} ${python}`);
});

for (const [name, lines] of Object.entries(PRINTED)) {
  test(`${name} runs, also with the tools in the cache`, async (t) => {
    const env = environment(t);
    for (const _ of ['first', 'again']) {
      const { stdout } = await run(process.execPath, [compiled(name)], { cwd: root, env });
      for (const line of lines) assert.ok(stdout.includes(line), `${line} is missing in ${stdout}`);
    }
  });
}

test('the HTTP server serves tools and ends', async (t) => {
  const stdio = ['ignore', 'pipe', 'inherit'];
  const child = spawn(process.execPath, [compiled('http_server')], { cwd: root, env: environment(t), stdio });
  t.after(() => child.kill('SIGKILL'));
  const [url] = await once(createInterface(child.stdout), 'line');
  const get = async (path, options) => (await fetch(`${url}${path}`, options)).json();
  assert.deepEqual(await get('/health'), [{ name: 'demo', state: 'connected' }]);
  assert.ok((await get('/tools')).includes('mcp_demo_add'));
  const call = (name, body) => get(`/tools/${name}`, { method: 'POST', body: JSON.stringify(body) });
  assert.deepEqual((await call('mcp_demo_add', { a: 2, b: 40 })).structured, { sum: 42 });
  assert.equal((await call('mcp_demo_dance', {})).code, 'TOOL_REJECTED');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
