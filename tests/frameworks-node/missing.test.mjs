// A program without the frameworks: the adapters that need theirs name it, and nothing else is disturbed.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { place } from './place.mjs';

const home = mkdtempSync(join(tmpdir(), 'mcpool-bare-'));
after(() => rmSync(home, { recursive: true }));
place(join(home, 'node_modules'));

const loads = {
  import: (name) => ['--input-type=module', '-e', `await import('mcpool/adapters/${name}')`],
  require: (name) => ['--input-type=commonjs', '-e', `require('mcpool/adapters/${name}')`],
};
const needs = {
  'ai-sdk': ['ai'],
  anthropic: ['@anthropic-ai/sdk'],
  langchain: ['@langchain/core'],
  mastra: ['@mastra/core'],
  'openai-agents': ['@openai/agents'],
};

for (const [how, code] of Object.entries(loads)) {
  for (const [name, packages] of Object.entries(needs)) {
    test(`${how} of ${name} says what is missing and what to run`, () => {
      const { stderr, status } = spawnSync(process.execPath, code(name), { cwd: home, encoding: 'utf8' });
      assert.equal(status, 1);
      for (const one of packages) assert.ok(stderr.includes(`"${one}"`), stderr);
      assert.ok(stderr.includes(`npm install ${packages.join(' ')}`), stderr);
    });
  }

  test(`${how} of openai needs nothing: it makes what the wire asks for`, () => {
    execFileSync(process.execPath, code('openai'), { cwd: home });
  });

  test(`${how} of langchain with its core alone gives tools, and says what live tools need`, (t) => {
    const scope = join(home, 'node_modules/@langchain');
    mkdirSync(scope);
    t.after(() => rmSync(scope, { recursive: true }));
    symlinkSync(fileURLToPath(new URL('node_modules/@langchain/core', import.meta.url)), join(scope, 'core'));
    const [kind, flag, load] = code('langchain');
    const use = (verb) => `const adapter = ${load}; adapter.${verb}({ getTools: () => [] });`;
    execFileSync(process.execPath, [kind, flag, use('tools')], { cwd: home });
    const { stderr, status } = spawnSync(process.execPath, [kind, flag, use('liveTools')], {
      ...{ cwd: home, encoding: 'utf8' },
    });
    assert.equal(status, 1);
    assert.match(stderr, /"langchain": run "npm install langchain"/);
  });

  test(`${how} of an adapter that does not exist fails`, () => {
    const { stderr, status } = spawnSync(process.execPath, code('nothing'), { cwd: home, encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /ERR_PACKAGE_PATH_NOT_EXPORTED/);
  });
}

test('a framework that is there but broken is not called missing', () => {
  const broken = join(home, 'node_modules/ai');
  mkdirSync(broken);
  writeFileSync(join(broken, 'package.json'), '{"name":"ai","type":"module","exports":"./index.js"}');
  writeFileSync(join(broken, 'index.js'), 'throw new Error("bad weather")');
  const { stderr } = spawnSync(process.execPath, loads.import('ai-sdk'), { cwd: home, encoding: 'utf8' });
  assert.match(stderr, /bad weather/);
  assert.doesNotMatch(stderr, /npm install/);
  rmSync(broken, { recursive: true });
});
