// The Node program of examples/ serves, and ends its server when it is told to end.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { directory, root } from './support.mjs';

test('there is one Node program', () => {
  const programs = readdirSync(join(root, 'examples')).filter((name) => /\.[cm]?js$/.test(name));
  assert.deepEqual(programs, ['http_server.mjs']);
});

test('the HTTP server serves tools and ends', async (t) => {
  const env = { PATH: process.env.PATH, HOME: directory(t) };
  const stdio = ['ignore', 'pipe', 'inherit'];
  const child = spawn(process.execPath, ['examples/http_server.mjs'], { cwd: root, env, stdio });
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
