// Run by jest: each test file has a realm and a copy of the package, which share the addon.
const { behaves } = require('./behaves.cjs');

test('errors keep their class and code', () => behaves(require('mcpool')));

test('so do those of a copy that is loaded after a reset', async () => {
  const before = require('mcpool');
  jest.resetModules();
  const after = require('mcpool');
  expect(after.ClosedError).not.toBe(before.ClosedError);
  await behaves(after);
  const error = await new before.Manager({ mcpServers: {} }).callTool('a', 'b').catch((error) => error);
  expect(error).toBeInstanceOf(after.ToolUnavailableError);
  expect(error).toBeInstanceOf(after.McpoolError);
  expect(error).not.toBeInstanceOf(after.ClosedError);
});
