// What a person sees who prints our objects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { connected, manage, server } from './support.mjs';

test('a printed manager shows its servers, starts nothing and shows no secret', async (t) => {
  const env = { TOKEN: 'sk-not-to-be-seen' };
  const manager = manage(t, { a: { ...server(), env }, b: { ...server(), enabled: false } });
  assert.equal(inspect(manager), "Manager { a: 'idle', b: 'disabled' }");
  await manager.connectAll();
  const { toolCount } = manager.status()[0];
  assert.equal(inspect(manager), `Manager { a: 'connected, ${toolCount} tools', b: 'disabled' }`);
  assert.equal(inspect({ deep: { deeper: { deepest: { manager } } } }).includes('sk-'), false);
  assert.match(inspect({ inner: { manager } }, { depth: 0 }), /\[Object\]/);
  await manager.close();
  assert.match(inspect(manager), /^Manager \{/);
});

test('a printed tool shows what it is, not its schemas', async (t) => {
  const manager = await connected(t);
  const tool = manager.getTools().find(({ rawName }) => rawName === 'echo');
  const printed = inspect(tool);
  assert.match(printed, /^Tool \{/);
  for (const part of ['mcp_a_echo', "server: 'a'", "rawName: 'echo'", "state: 'live'", tool.description]) {
    assert.ok(printed.includes(part), printed);
  }
  assert.ok(!printed.includes('inputSchema'), printed);
  assert.equal(String(tool), 'mcp_a_echo');
});

test('a result is its text as a string, and its content when printed', async (t) => {
  const manager = await connected(t);
  const result = await manager.callTool('a', 'add', { a: 2, b: 3 });
  assert.equal(String(result), result.text);
  assert.equal(`${await manager.callTool('a', 'echo', { text: 'hello' })}`, 'hello');
  const printed = inspect(result, { breakLength: Number.POSITIVE_INFINITY });
  assert.match(printed, /^ToolResult \{ content: \[/);
  assert.match(printed, /structured: \{ sum: 5 \}, isError: false \}$/);
  const output = await manager.getTools()[0].execute([]);
  assert.match(inspect(output), /^ToolOutput \{[\s\S]*isError: true[\s\S]*INVALID_ARGUMENTS/);
});
