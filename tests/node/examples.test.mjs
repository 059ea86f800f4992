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
  const get = async (path, options) => {
    const response = await fetch(`${url}${path}`, options);
    assert.equal(response.headers.get('content-type'), 'application/json');
    return [response.status, await response.json()];
  };
  assert.deepEqual(await get('/health'), [200, { demo: 'connected' }]);
  assert.ok((await get('/tools'))[1].includes('mcp_demo_add'));
  const call = (name, body) => get(`/tools/${name}`, { method: 'POST', body });
  const sum = { text: '{"sum":42}', structured: { sum: 42 }, isError: false };
  assert.deepEqual(await call('mcp_demo_add', '{"a": 2, "b": 40}'), [200, sum]);
  const hint = 'did you mean "mcp_demo_add"?';
  const unknown = { code: 'TOOL_REJECTED', message: 'There is no tool "mcp_demo_ad"', hint };
  assert.deepEqual(await call('mcp_demo_ad', '{}'), [404, unknown]);
  for (const body of ['[1]', 'null', '{']) {
    const [status, { code }] = await call('mcp_demo_add', body);
    assert.deepEqual([status, code], [400, 'INVALID_ARGUMENTS'], body);
  }
  assert.equal((await get('/tools/mcp_demo_add'))[0], 405);
  assert.equal((await get('/nothing'))[0], 404);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
