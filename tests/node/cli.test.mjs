// The command line as npm installs it: the same commands, exit codes and documents as from everywhere.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { alive, directory, root, server, started, until } from './support.mjs';

const command = join(root, 'node/bin/mcpool.js');

/** Starts the command for a user of the test's own. */
function start(home, args) {
  mkdirSync(join(home, 'project'), { recursive: true });
  const { PATH, MCPOOL_KEYCHAIN } = process.env;
  const env = { PATH, HOME: home, MCPOOL_CACHE_DIR: join(home, 'cache'), MCPOOL_KEYCHAIN };
  return spawn(process.execPath, [command, ...args], { cwd: join(home, 'project'), env, timeout: 30_000 });
}

/** Its exit code and its document. */
async function run(home, ...args) {
  const child = start(home, [...args, '--json']);
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr']) child[stream].on('data', (chunk) => (said[stream] += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(said.stderr, '');
  return [code, JSON.parse(said.stdout)];
}

test('every command answers with a document', async (t) => {
  const home = directory(t);
  const file = join(home, 'mcp.json');
  writeFileSync(
    file,
    JSON.stringify({ mcpServers: { s: server(), broken: { command: 'no-such-program' } } }),
  );
  const facts = async (expected, ...args) => {
    const [code, document] = await run(home, ...args);
    assert.equal(code, expected, `${args}: ${JSON.stringify(document)}`);
    return document;
  };
  const named = ['-c', file];
  assert.equal((await facts(0, 'list', ...named)).servers.length, 2);
  assert.equal((await facts(1, 'status', ...named)).servers[0].state, 'connected');
  assert.equal((await facts(1, 'tools', ...named)).failed.broken.code, 'CONNECT_FAILED');
  assert.equal((await facts(0, 'tools', 's', ...named, '--openai'))[0].type, 'function');
  assert.ok('input_schema' in (await facts(0, 'tools', 's', ...named, '--anthropic'))[0]);
  assert.equal((await facts(0, 'call', 's', 'echo', 'text=hi', ...named)).content[0].text, 'hi');
  assert.equal((await facts(0, 'test', 's', ...named)).ok, true);
  assert.equal((await facts(1, 'doctor', ...named)).ok, false);
  assert.equal((await facts(0, 'disable', 'broken', ...named)).disabled, 'broken');
  assert.equal((await facts(0, 'enable', 'broken', ...named)).enabled, 'broken');
  assert.equal((await facts(0, 'remove', 'broken', ...named)).removed, 'broken');
  assert.equal((await facts(0, 'add', 'new', '--url', 'https://example.com/mcp')).added, 'new');
  assert.equal((await facts(0, 'discover')).servers[0].name, 'new');
  assert.deepEqual(await facts(0, 'trust'), { untrusted: [] });
  assert.ok('properties' in (await facts(0, 'schema')));
  assert.equal((await facts(0, 'completions', 'bash')).shell, 'bash');
  assert.equal((await facts(0, 'demo')).calls[0].text, 'Hello, Ada!');
  assert.equal((await facts(2, 'nonsense')).error.code, 'USAGE');
});

test('an interrupt ends it with 130 and leaves nothing', async (t) => {
  const home = directory(t);
  const [file, journal] = [join(home, 'mcp.json'), join(home, 'journal')];
  const hangs = server('--hang', 'initialize', '--ignore-eof', '--journal', journal);
  writeFileSync(file, JSON.stringify({ mcpServers: { hangs } }));
  const child = start(home, ['tools', '-c', file]);
  await until(() => started(journal).length > 0, 'the start');
  child.kill('SIGINT');
  assert.equal(await new Promise((resolve) => child.once('close', resolve)), 130);
  for (const pid of started(journal)) await until(() => !alive(pid), `the end of ${pid}`);
});
