// Each mistake of a newcomer gets a message that names it and the way out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClosedError, ConfigInvalidError, ConnectionLostError, Manager } from 'mcpool';
import { connected, server } from './support.mjs';

test('a path in place of a config names fromFile', () => {
  assert.throws(
    () => new Manager('mcp.json'),
    (error) => error instanceof ConfigInvalidError && error.hint.includes('Manager.fromFile()'),
  );
});

test('an option of the wrong type is named with what it must be and what it is', () => {
  for (const [option, value, expected] of [
    ['gateMs', 'soon', 'a number of milliseconds, not a string'],
    ['restartWaitMs', [1], 'a number of milliseconds, not an array'],
    ['gateMs', -1, 'a number of milliseconds, from 0 to 1e19'],
    ['gateMs', 1e300, 'a number of milliseconds, from 0 to 1e19'],
    ['wrap', 1, 'true or false, not a number'],
  ]) {
    assert.throws(
      () => new Manager({ mcpServers: { a: server() } }, { [option]: value }),
      (error) => error.message.includes(`"${option}"`) && error.message.endsWith(expected),
    );
  }
});

test('an error shows its text or else its message', () => {
  const text = 'Server "a": The server exited';
  const told = new ConnectionLostError('The server exited', { server: 'a', text });
  assert.equal(String(told), `ConnectionLostError: ${text}`);
  assert.equal(String(new ClosedError('It is closed')), 'ClosedError: It is closed');
});

test('an error of the core names its server once', async (t) => {
  const broken = { command: 'no-such-program -m x', restart: 'never' };
  const manager = new Manager({ mcpServers: { broken } }, { cacheDir: false });
  t.after(() => manager.close());
  const { failed } = await manager.connectAll();
  assert.equal(String(failed.broken).split('"broken"').length, 2);
  const unknown = await manager.connect('nobody').then(() => undefined, String);
  assert.equal(unknown.split('"nobody"').length, 2);
});

test('a call by the own name of a tool says what to call', async (t) => {
  const manager = await connected(t);
  const { name } = manager.getTools().find((tool) => tool.rawName === 'echo');
  await assert.rejects(manager.call('echo', { text: 'x' }), (error) => {
    assert.equal(error.code, 'TOOL_REJECTED');
    return error.hint.includes(`"${name}"`) && error.hint.includes('callTool()');
  });
});
