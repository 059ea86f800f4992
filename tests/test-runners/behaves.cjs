// What must hold in the realm of a test file.
const assert = require('node:assert/strict');
const { McpoolError } = require('mcpool');

/** Checks the errors of a copy of the package. */
exports.behaves = async function behaves(mcpool) {
  const { ConfigInvalidError, InvalidArgumentsError, ToolRejectedError, ToolTimeoutError } = mcpool;
  const check = (error, Kind, code) => {
    assert.ok(error instanceof Error, String(error));
    assert.ok(error instanceof Kind && Kind.isInstance(error), String(error));
    assert.ok(error instanceof mcpool.McpoolError && error instanceof McpoolError, String(error));
    assert.equal(error.code, code);
    assert.equal(JSON.parse(JSON.stringify(error)).message, error.message);
  };
  const thrown = (run) => {
    try {
      run();
    } catch (error) {
      return error;
    }
    throw new Error('nothing was thrown');
  };
  const rejected = (promise) =>
    promise.then(
      () => assert.fail('it did not reject'),
      (error) => error,
    );
  check(
    thrown(() => new mcpool.Manager({ mcpServers: {} }, { gatte: 1 })),
    ConfigInvalidError,
    'CONFIG_INVALID',
  );
  check(
    thrown(() => new mcpool.Manager('{')),
    ConfigInvalidError,
    'CONFIG_INVALID',
  );
  const a = { command: process.env.MCPOOL_FIXTURE, args: ['stdio'] };
  const manager = new mcpool.Manager({ mcpServers: { a } }, { pool: new mcpool.Pool(), cacheDir: false });
  try {
    check(
      thrown(() => manager.on('stauts', () => {})),
      InvalidArgumentsError,
      'INVALID_ARGUMENTS',
    );
    const report = await manager.connectAll({ signal: new AbortController().signal });
    assert.deepEqual(report.failed, {});
    const result = await manager.callTool('a', 'echo', { text: 'hello' }, { meta: { a: 1 } });
    assert.ok(result instanceof mcpool.ToolResult);
    assert.equal(String(result), 'hello');
    check(await rejected(manager.callTool('a', 'nothing')), ToolRejectedError, 'TOOL_REJECTED');
    check(await rejected(manager.callTool('a', 'echo', [])), InvalidArgumentsError, 'INVALID_ARGUMENTS');
    const late = manager.callTool('a', 'sleep', { ms: 60_000 }, { timeoutMs: 1 });
    check(await rejected(late), ToolTimeoutError, 'TOOL_TIMEOUT');
    const { error } = await manager.getTools()[0].execute([]);
    check(error, InvalidArgumentsError, 'INVALID_ARGUMENTS');
    const reason = new Error('mine');
    const signal = AbortSignal.abort(reason);
    assert.equal(await rejected(manager.callTool('a', 'echo', {}, { signal })), reason);
    const drift = await rejected(manager.acceptDrift('a', 7));
    check(drift, InvalidArgumentsError, 'INVALID_ARGUMENTS');
    assert.equal(drift.message, 'The name of the tool must be a text, not a number');
  } finally {
    await manager.close();
  }
};
