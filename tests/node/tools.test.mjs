// Tools as JavaScript sees them: filters, names and changes that are accepted.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ServerNotFoundError, ToolRejectedError } from 'mcpool';
import { directory, manage, server, until } from './support.mjs';

/** A server that lists these entries too, and what writes others in their place. */
function listing(t, ...entries) {
  const file = join(directory(t), 'tools.json');
  const write = (...entries) => writeFileSync(file, JSON.stringify(entries));
  write(...entries);
  return { s: server('--tools-file', file), write };
}

test('drift is told with what changed, blocks, and is accepted', async (t) => {
  const { s, write } = listing(t, { name: 'x', description: 'first' });
  const manager = manage(t, { s }, { drift: 'block', cacheDir: false });
  const told = [];
  manager.on('tool_drift', ({ tool, blocked, changes }) => told.push({ tool, blocked, changes }));
  await manager.connectAll();
  await manager.disconnectAll();
  write({ name: 'x', description: 'second' });
  await manager.connectAll();
  await assert.rejects(manager.callTool('s', 'x'), (error) => {
    assert.ok(error instanceof ToolRejectedError);
    return error.hint.endsWith('acceptDrift(server, tool)');
  });
  assert.deepEqual(await manager.acceptDrift('s', 'x'), ['x']);
  assert.deepEqual(await manager.acceptDrift('s'), []);
  assert.equal((await manager.callTool('s', 'x')).text, 'x ran');
  await until(() => told.length > 0, 'the drift');
  const changes = [{ path: '/description', before: 'first', after: 'second' }];
  assert.deepEqual(told, [{ tool: 'x', blocked: true, changes }]);
  await assert.rejects(manager.acceptDrift('nobody'), ServerNotFoundError);
});

test('a filter goes by what a function calls a tool, and none is offered where none is enabled', async (t) => {
  const naming = (_server, tool) => `my-${tool}`;
  const options = { naming, cacheDir: false, enabledTools: ['my-e*', 'pid'], disabledTools: ['MY-ENV*'] };
  const manager = manage(t, { s: server() }, options);
  await manager.connectAll();
  const names = manager.getTools().map((tool) => tool.name);
  assert.deepEqual(names, ['my-echo', 'my-empty', 'my-exit', 'my-pid']);
  assert.equal(manager.status()[0].toolCount, 4);
  await assert.rejects(manager.callTool('s', 'env_all'), (error) => error.hint.includes('MY-ENV*'));
  const nothing = manage(t, { s: server() }, { enabledTools: [], cacheDir: false });
  await nothing.connectAll();
  assert.deepEqual(nothing.getTools(), []);
});

test('a naming function that misbehaves costs no tool', async (t) => {
  const answers = { echo: '', add: 7, env: null, big: 'same', pid: 'same', cwd: 'ü b'.repeat(60) };
  const naming = (_server, tool) => {
    if (tool === 'fail') throw new Error(tool);
    return tool in answers ? answers[tool] : tool;
  };
  const manager = manage(t, { s: server() }, { naming, cacheDir: false });
  await manager.connectAll();
  const names = Object.fromEntries(manager.getTools().map((tool) => [tool.rawName, tool.name]));
  assert.equal(new Set(Object.values(names)).size, 25);
  assert.deepEqual(
    [names.echo, names.env, names.fail, names.sleep],
    ['mcp_s_echo', 'mcp_s_env', 'mcp_s_fail', 'sleep'],
  );
  assert.match(names.big, /^same_[0-9a-f]{8}$/);
  assert.match(names.cwd, /^[\w-]{20,64}$/);
});

test('a schema keeps its order, and its text what JavaScript cannot hold', async (t) => {
  const { s } = listing(t);
  const schema =
    '{"type":"object","properties":{"z":true,"a":{"maximum":123456789012345678901234567890},"m":{}}}';
  writeFileSync(s.args.at(-1), `[{"name":"huge","inputSchema":${schema}}]`);
  const manager = manage(t, { s }, { cacheDir: false });
  await manager.connectAll();
  const tool = manager.getTools().find(({ rawName }) => rawName === 'huge');
  assert.deepEqual(Object.keys(tool.inputSchema.properties), ['z', 'a', 'm']);
  assert.equal(tool.json, `{"name":"huge","inputSchema":${schema}}`);
});
