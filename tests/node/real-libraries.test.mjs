// Servers over a network on libraries that others wrote: called, cancelled, killed and started again.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConnectFailedError, ToolRejectedError } from 'mcpool';
import { onNodeHttp2, onPython, onTypescript, RealServer, tls } from './real-server.mjs';
import { manage, until } from './support.mjs';

const libraries = {
  'mcp 2 over Streamable HTTP': onPython('mcp', 'http'),
  'mcp 2 over SSE': onPython('mcp', 'sse'),
  'mcp 2 over SSE, found by falling back': onPython('mcp', 'sse', 'http'),
  'FastMCP over Streamable HTTP': onPython('fastmcp', 'http'),
  'FastMCP over SSE': onPython('fastmcp', 'sse'),
  'mcp 1 over WebSocket': onPython('mcp1', 'websocket'),
  'TypeScript SDK over WebSocket': onTypescript,
};

// Whether the call is sent, waits for the server or comes between two attempts is up to the moment.
const lost = /^(CONNECTION_LOST|TOOL_TIMEOUT|RESTART_IN_PROGRESS)$/;
const restart = { delays: [100], forever: true };

async function connected(t, definition) {
  const manager = manage(t, { s: { timeout: 60_000, restart, ...definition } });
  const report = await manager.connectAll();
  assert.deepEqual(report.connected, ['s'], String(report.failed.s));
  return manager;
}

describe('servers on real libraries', () => {
  for (const [name, library] of Object.entries(libraries)) {
    test(name, async (t) => {
      const server = await RealServer.start(t, library);
      const manager = await connected(t, server.definition);
      const text = async (tool, given, options) => (await manager.callTool('s', tool, given, options)).text;

      assert.equal(manager.status()[0].transport, server.definition.type);
      const many = Array.from({ length: 64 }, (_, at) => `é${at}`);
      assert.deepEqual(await Promise.all(many.map((it) => text('echo', { text: it }))), many);
      await assert.rejects(manager.callTool('s', 'no-such-tool'), ToolRejectedError);

      const told = [];
      await text(
        'count',
        { steps: 3 },
        { onProgress: ({ progress, total }) => told.push([progress, total]) },
      );
      assert.deepEqual(told, [
        [1, 3],
        [2, 3],
        [3, 3],
      ]);

      const abort = new AbortController();
      const waiting = manager.callTool('s', 'wait', {}, { signal: abort.signal });
      const happened = async (what) => JSON.parse(await text('happened')).includes(what);
      await until(() => happened('waits'), 'the call arrives');
      abort.abort();
      await assert.rejects(waiting, { name: 'AbortError' });
      await until(() => happened('cancelled'), 'the call is cancelled');

      await text('grow');
      const grown = () => manager.getTools().some((tool) => tool.rawName === 'grown');
      await until(grown, 'the new list is fetched');
      assert.equal(await text('grown'), 'here');

      await server.kill();
      await assert.rejects(text('echo', { text: 'nobody' }, { timeoutMs: 500 }), { code: lost });
      await until(() => manager.status()[0].state !== 'connected', 'the loss is noticed');
      await server.start();
      await until(() => manager.status()[0].state === 'connected', 'it is connected again');
      assert.equal(await text('echo', { text: 'again' }), 'again');
    });
  }

  test("calls share one connection to Node's HTTP/2", async (t) => {
    const server = await RealServer.start(t, onNodeHttp2);
    const manager = await connected(t, { ...server.definition, tls });
    const seen = async () => JSON.parse((await manager.callTool('s', 'seen')).text);
    const meet = () => manager.callTool('s', 'meet', { others: 65 });
    assert.equal((await seen()).version, '2.0');
    const calls = Array.from({ length: 64 }, meet);
    await until(async () => (await seen()).waiting === 64, 'all are in flight');
    await meet();
    assert.equal(new Set((await Promise.all(calls)).map((result) => result.text)).size, 1);
    assert.equal((await seen()).connections, 1);

    const nobody = manage(t, { s: { ...server.definition, tls: { ca: tls.ca } } });
    assert.ok((await nobody.connectAll()).failed.s instanceof ConnectFailedError);
  });
});
