// Editing config files.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigInvalidError, config, discover, ServerNotFoundError, trust } from 'mcpool';
import { root } from './support.mjs';
import { UserHome } from './user-home.mjs';

const require = createRequire(import.meta.url);
const servers = (file) => JSON.parse(readFileSync(file, 'utf8')).mcpServers;

test('a server lives through all edits', async (t) => {
  const { home, project, hostEnv } = new UserHome(t);
  const where = { hostEnv };
  const edited = await config.add('a', { command: 'x', args: ['1'] }, where);
  assert.deepEqual(edited, { path: join(home, '.config/mcpool/mcp.json'), warnings: [] });
  await config.update('a', { args: null, timeout: 5000 }, where);
  assert.deepEqual(servers(edited.path), { a: { command: 'x', timeout: 5000 } });
  const enabled = async () => (await discover({ cwd: project, hostEnv })).servers.a.enabled;
  await config.disable('a', where);
  assert.equal(await enabled(), false);
  await config.enable('a', where);
  assert.equal(await enabled(), true);
  await config.hide('a', where);
  assert.equal(await enabled(), false);
  await config.unhide('a', where);
  assert.equal(await enabled(), true);
  await config.remove('a', where);
  assert.deepEqual(servers(edited.path), {});
});

test('a scope or a file says where', async (t) => {
  const { project, hostEnv } = new UserHome(t);
  const definition = { url: 'http://localhost:1/' };
  const ofProject = await config.add('a', definition, { scope: 'project', cwd: project, hostEnv });
  assert.equal(ofProject.path, join(project, '.mcpool/mcp.json'));
  const file = new URL(`file://${project}/other.yaml`);
  await config.add('a', definition, { file });
  assert.match(readFileSync(file, 'utf8'), /^mcpServers:/);
});

test('mistakes are errors of their kind', async (t) => {
  const { home, hostEnv } = new UserHome(t);
  const where = { hostEnv };
  const both = { command: 'x', url: 'http://localhost/' };
  await assert.rejects(config.add('a', both, where), ConfigInvalidError);
  await assert.rejects(config.add('a b', { command: 'x' }, where), ConfigInvalidError);
  await assert.rejects(config.add('a', { command: 1n }, where), ConfigInvalidError);
  await assert.rejects(config.add('a', { command: 'x' }, { ...where, scope: 'galaxy' }), ConfigInvalidError);
  for (const file of [() => '/x', Symbol('/x')]) {
    const named = (error) => error instanceof ConfigInvalidError && error.message.includes('"file"');
    await assert.rejects(config.add('a', { command: 'x' }, { ...where, file }), named);
  }
  await assert.rejects(discover({ ...where, exclude: () => ['a'] }), /"exclude"/);
  await assert.rejects(trust('/x', { ...where, servers: () => ['a'] }), /"servers"/);
  await assert.rejects(config.remove('a', where), ServerNotFoundError);
  assert.ok(!existsSync(join(home, '.config/mcpool/mcp.json')));
});

test('the schema is at hand and ships with the package', () => {
  assert.deepEqual(config.schema(), require('mcpool/schema.json'));
  assert.ok('mcpServers' in config.schema().properties);
});

test('the type of a definition has the fields of the schema', () => {
  const types = readFileSync(join(root, 'node/dist/server-config.d.ts'), 'utf8');
  const [, body] = types.match(/interface ServerConfig \{\n([\s\S]*?)^\}/m);
  const typed = [...body.matchAll(/^ {4}(\w+)\?:/gm)].map(([, name]) => name);
  const { properties } = config.schema().properties.mcpServers.additionalProperties;
  const current = Object.keys(properties).filter((name) => !properties[name].deprecated);
  assert.deepEqual(typed.sort(), current.sort());
});

test('a misspelt place is refused, and nothing is written elsewhere', async (t) => {
  const { home, project, hostEnv } = new UserHome(t);
  const file = join(project, 'mcp.json');
  await assert.rejects(config.add('a', { command: 'x' }, { File: file, hostEnv }), ConfigInvalidError);
  await assert.rejects(config.add('a', { command: 'x' }, file), ConfigInvalidError);
  await assert.rejects(discover(project), ConfigInvalidError);
  await assert.rejects(discover({ cwd: project, projectconfig: false, hostEnv }), ConfigInvalidError);
  await assert.rejects(trust(project, { server: ['a'], hostEnv }), ConfigInvalidError);
  assert.ok(!existsSync(join(home, '.config/mcpool/mcp.json')) && !existsSync(file));
});
