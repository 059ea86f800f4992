// Errors as JavaScript uses them: their JSON, their stacks, and their classes over copies of the package and realms.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { inspect } from 'node:util';
import vm from 'node:vm';
import {
  ClosedError,
  ConfigInvalidError,
  InvalidArgumentsError,
  Manager,
  McpoolError,
  ToolTimeoutError,
  ToolUnavailableError,
} from 'mcpool';
import { connected, directory, manage, root, server } from './support.mjs';

const errorOf = (promise) =>
  promise.then(
    () => assert.fail('it did not reject'),
    (error) => error,
  );

test('the JSON of an error has its message and its fields', async (t) => {
  const manager = await connected(t);
  const error = await errorOf(manager.callTool('b', 'echo'));
  assert.deepEqual(JSON.parse(JSON.stringify({ error })).error, {
    name: 'ToolUnavailableError',
    message: error.message,
    code: 'TOOL_UNAVAILABLE',
    retryable: error.retryable,
    server: 'b',
    stage: 'call',
    executed: 'no',
  });
});

test('the JSON of an error has its cause, and nothing of a foreign one but what it says', () => {
  const cyclic = Object.assign(new RangeError('deep'), { code: 'DEEP', request: { token: 'secret' } });
  cyclic.self = cyclic;
  const inner = new ClosedError('inner', { cause: cyclic });
  const json = JSON.parse(JSON.stringify(new ToolTimeoutError('outer', { cause: inner })));
  assert.equal(json.cause.code, 'CLOSED');
  assert.deepEqual(json.cause.cause, { name: 'RangeError', message: 'deep', code: 'DEEP' });
  for (const cause of ['a word', 7, null]) {
    assert.equal(JSON.parse(JSON.stringify(new ClosedError('x', { cause }))).cause, cause);
  }
  assert.equal(JSON.parse(JSON.stringify(new ClosedError('x', { cause: Symbol('s') }))).cause, 'Symbol(s)');
});

test('a printed error has its class, its message, its code and its hint', async (t) => {
  const manager = await connected(t);
  const error = await errorOf(manager.callTool('a', 'ehco'));
  const printed = inspect(error);
  for (const part of ['ToolRejectedError: ', error.message, "code: 'TOOL_REJECTED'", 'hint: ']) {
    assert.ok(printed.includes(part), printed);
  }
});

test('the stack of a rejected verb leads to its caller', async (t) => {
  const manager = await connected(t);
  const [tool] = manager.getTools();
  const verbs = {
    async callsByServer() {
      await manager.callTool('a', 'nothing');
    },
    async callsByName() {
      await manager.call('nothing');
    },
    async callsInParallel() {
      await Promise.all([manager.callTool('a', 'nothing'), manager.callTool('a', 'nothing')]);
    },
    async callsWithOptions() {
      await manager.callTool('a', 'sleep', { ms: 60_000 }, { timeoutMs: 1 });
    },
    async callsWithAList() {
      await manager.callTool('a', 'echo', []);
    },
    async connects() {
      await manager.connect('nothing');
    },
    async connectsWithASignal() {
      await manager.connect('nothing', { signal: new AbortController().signal });
    },
    async waits() {
      await manager.waitFor('nothing');
    },
    async executes() {
      const { error } = await tool.execute([]);
      throw error;
    },
  };
  for (const [name, verb] of Object.entries(verbs)) {
    const { stack } = await errorOf(verb());
    assert.match(stack, new RegExp(`at async .*${name} .*errors\\.test\\.mjs`), stack);
  }
});

test('an error that nobody awaits ends the process, with its caller', async () => {
  const program = `
    const { Manager } = require('mcpool');
    async function forgets() { await new Manager({ mcpServers: {} }).callTool('a', 'b'); }
    forgets();`;
  const ended = spawnSync(process.execPath, ['-e', program], { cwd: root, encoding: 'utf8' });
  assert.equal(ended.status, 1);
  assert.match(ended.stderr, /at async forgets[\s\S]*TOOL_UNAVAILABLE/);
});

test('isInstance and instanceof tell the classes apart', () => {
  const error = new ToolTimeoutError('late');
  for (const [Kind, expected] of [
    [McpoolError, true],
    [ToolTimeoutError, true],
    [ClosedError, false],
  ]) {
    assert.equal(Kind.isInstance(error), expected);
    assert.equal(error instanceof Kind, expected);
  }
  const throwing = new Proxy({}, { getPrototypeOf: () => null });
  for (const other of [new Error('x'), { code: 'TOOL_TIMEOUT' }, null, undefined, 'x', 7, throwing]) {
    assert.equal(McpoolError.isInstance(other), false);
    assert.equal(other instanceof ToolTimeoutError, false);
  }
  class Mine extends ToolTimeoutError {}
  assert.equal(Mine.isInstance(error), false);
  assert.equal(error instanceof Mine, false);
  assert.ok(new Mine('x') instanceof Mine && new Mine('x') instanceof ToolTimeoutError);
});

test('the errors of another copy of the package are known by class and code', async (t) => {
  const require = createRequire(import.meta.url);
  const saved = { ...require.cache };
  t.after(() => Object.assign(require.cache, saved));
  require('mcpool');
  for (const name of Object.keys(require.cache)) delete require.cache[name];
  const other = require('mcpool');
  assert.notEqual(other.ClosedError, ClosedError);
  const manager = new other.Manager({ mcpServers: {} });
  await manager.close();
  const error = await errorOf(manager.connectAll());
  assert.ok(error instanceof ClosedError && error instanceof McpoolError);
  assert.ok(!(error instanceof ToolTimeoutError));
});

test('errors, URLs and plain objects of another realm are what they are', async (t) => {
  const folder = directory(t);
  const context = vm.createContext({ URL });
  const inRealm = (code) => vm.runInContext(code, context);
  const namer = inRealm(`() => { throw new Error('no name') }`);
  const manager = manage(t, { a: server() }, { naming: namer, cacheDir: new URL(`file://${folder}`) });
  await manager.connectAll();
  const { text } = await manager.callTool('a', 'echo', inRealm('({ text: "hello" })'));
  assert.equal(text, 'hello');
  const refused = await errorOf(
    manager.callTool('a', 'echo', inRealm(`({ toJSON() { throw new Error('mine') } })`)),
  );
  assert.match(refused.message, /cannot become JSON: mine$/);
});

test('options are refused by their names in JavaScript, with the name that was meant', () => {
  for (const [options, said] of [
    [{ restart_wait: 1 }, 'did you mean "restartWaitMs", in milliseconds?'],
    [{ cache_dir: '/x' }, 'did you mean "cacheDir"?'],
    [{ gate: 5 }, 'did you mean "gateMs", in milliseconds?'],
    [{ onAproval: () => true }, 'did you mean "onApproval"?'],
    [{ hostEnv: { enV: {} } }, '"hostEnv"'],
    [{ restartWaitMs: 'x' }, '"restartWaitMs" of a manager must be a number of milliseconds'],
  ]) {
    assert.throws(
      () => new Manager({ mcpServers: {} }, options),
      (error) => {
        assert.ok(error instanceof ConfigInvalidError);
        assert.ok(`${error.message}; ${error.hint}`.includes(said), `${error.message}; ${error.hint}`);
        return true;
      },
    );
  }
});

test('an unknown option of a call is refused; one that is undefined is as if left out', async (t) => {
  const manager = await connected(t);
  for (const [options, said] of [
    [{ onprogress: () => {} }, 'did you mean "onProgress"?'],
    [{ time_out: 5 }, 'did you mean "timeoutMs"'],
    [{ Signal: null }, 'did you mean "signal"?'],
    [{ whatever: 1 }, 'the options are timeoutMs'],
  ]) {
    const error = await errorOf(manager.callTool('a', 'echo', { text: '' }, options));
    assert.ok(error instanceof InvalidArgumentsError);
    assert.ok(`${error.hint}`.includes(said), error.hint);
  }
  const { text } = await manager.callTool('a', 'echo', { text: 'x' }, { whatever: undefined });
  assert.equal(text, 'x');
  assert.ok((await errorOf(manager.callTool('b', 'x'))) instanceof ToolUnavailableError);
});
