// Executes the JavaScript of README.md and of docs/: every block that begins with `// run`, the services of
// docs/servers.md, and the files of docs/bundlers.md.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
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

/** The blocks of a page that begin with such a comment, by the words that it captures. */
const blocksOf = (page, comment) => {
  const text = readFileSync(join(root, 'docs', page), 'utf8');
  const pattern = new RegExp(`^\`\`\`[jt]s\\n// ${comment}\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return Object.fromEntries([...text.matchAll(pattern)].map(([, name, code]) => [name, code]));
};

/** A directory in which packages are found as if they were installed there. */
function project(t, packages, files) {
  const place = directory(t);
  mkdirSync(join(place, 'node_modules'));
  for (const [name, path] of Object.entries(packages)) symlinkSync(path, join(place, 'node_modules', name));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(place, name)), { recursive: true });
    writeFileSync(join(place, name), text);
  }
  return place;
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

const services = blocksOf('servers.md', 'with (\\w+)');
assert.deepEqual(Object.keys(services), ['express', 'cluster']);
for (const name of Object.keys(services)) {
  test(`the service with ${name} of docs/servers.md serves and ends`, async (t) => {
    const packages = { mcpool: root, express: join(root, 'tests/servers/node_modules/express') };
    const files = { 'server.mjs': services.express, 'main.mjs': services[name] };
    const place = project(t, packages, files);
    const url = `http://127.0.0.1:${await freePort()}`;
    // `npx --no` looks where it is started.
    const env = { PATH: process.env.PATH, HOME: place, PORT: url.split(':').at(-1) };
    const child = spawn(process.execPath, [join(place, 'main.mjs')], { cwd: root, env, stdio: 'inherit' });
    t.after(() => child.kill('SIGKILL'));
    const answer = async () => {
      for (;;) {
        const response = await fetch(url).catch(() => sleep(50));
        if (response) return response.text();
        assert.equal(child.exitCode, null);
      }
    };
    for (const _ of ['first', 'again']) assert.equal(await answer(), 'Hello, Ada!');
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });
}

test('the files for Next.js of docs/bundlers.md work', async (t) => {
  const files = blocksOf('bundlers.md', '([\\w./]+\\.(?:ts|mjs))');
  const route = 'app/api/add/route.ts';
  assert.deepEqual(Object.keys(files), ['webpack.config.mjs', 'next.config.mjs', 'lib/manager.ts', route]);
  const types = join(root, 'node_modules/@types');
  const place = project(t, { mcpool: root, '@types': types }, files);
  const run = promisify(execFile);
  for (const name of ['webpack.config.mjs', 'next.config.mjs']) {
    assert.match(JSON.stringify((await import(join(place, name))).default), /mcpool/);
  }
  const how = ['--strict', '--module', 'commonjs', '--moduleResolution', 'bundler', '--target', 'es2022'];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, ...how, '--types', 'node', '--ignoreConfig', route], { cwd: place });
  const program = `require('${place}/app/api/add/route.js').GET().then((r) => r.text()).then(console.log)`;
  const env = { PATH: process.env.PATH, HOME: place };
  const { stdout } = await run(process.execPath, ['-e', program], { cwd: root, env });
  assert.equal(stdout, '{"sum":42}\n');
});
