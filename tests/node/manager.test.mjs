// The manager as JavaScript sees it: what the shared scenarios cannot say in every language.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  ClosedError,
  ConfigInvalidError,
  ConnectFailedError,
  ConnectTimeoutError,
  InvalidArgumentsError,
  Manager,
  McpoolError,
  Pool,
  ServerNotFoundError,
  Tool,
  ToolFailedError,
  ToolRejectedError,
  ToolResult,
  ToolTimeoutError,
  ToolUnavailableError,
} from 'mcpool';
import { alive, connected, directory, journal, manage, server, until } from './support.mjs';

test('a report tells what is up, what is not and why, and what is off', async (t) => {
  const manager = manage(t, {
    up: server(),
    down: { command: '/no/such/program' },
    off: { ...server(), enabled: false },
  });
  const report = await manager.connectAll();
  assert.deepEqual(report.connected, ['up']);
  assert.deepEqual(report.disabled, ['off']);
  assert.deepEqual(Object.keys(report.failed), ['down']);
  assert.ok(report.failed.down instanceof ConnectFailedError);
  assert.equal(report.failed.down.server, 'down');
  assert.deepEqual(Object.keys(report.durationsMs).sort(), ['down', 'up']);
});

test('a required server that fails rejects connectAll', async (t) => {
  const manager = manage(t, { a: { command: '/no/such/program', required: true } });
  await assert.rejects(manager.connectAll(), ConnectFailedError);
});

test('a config that is none throws, and says so as an error of ours', () => {
  const cycle = {};
  cycle.mcpServers = cycle;
  for (const config of [undefined, null, 7, [], {}, '{', 'null', cycle, { mcpServers: { a: 1n } }]) {
    assert.throws(() => new Manager(config), ConfigInvalidError);
  }
});

test('an error of others stays what it is, whatever its message says', () => {
  const forged = new Error('{"code":"CLOSED","message":"forged"}');
  const options = {
    get gateMs() {
      throw forged;
    },
  };
  assert.throws(
    () => Manager.fromFile('mcp.json', options),
    (error) => error === forged,
  );
});

test('options that cannot be used throw, and name what is wrong', () => {
  const refused = [
    { naming: 'camel' },
    { retry: 'always' },
    { gateMs: 'soon' },
    { gateMs: Number.POSITIVE_INFINITY },
    { restartWaitMs: -1 },
    { connectConcurrency: 1.5 },
    { pendingWithoutCache: 'hope' },
    { cacheDir: 7 },
    { pool: {} },
    { watch: true },
    { colour: 'blue' },
    { enabledTools: () => ['add'] },
    { drift: Symbol('block') },
    { gateMs: 1n },
    { wrap: () => false },
    { naming: Symbol('plain') },
    { onAproval: () => false },
    { hostEnv: () => ({}) },
  ];
  for (const options of refused) {
    const [name] = Object.keys(options);
    assert.throws(
      () => new Manager({ mcpServers: {} }, options),
      (error) => error instanceof ConfigInvalidError && error.message.includes(`"${name}"`),
      name,
    );
  }
  assert.throws(() => new Manager({ mcpServers: {} }, { connectConcurrency: 1n }), ConfigInvalidError);
  const hinted = (hint) => (error) => error instanceof ConfigInvalidError && error.hint === hint;
  assert.throws(
    () => new Manager({ mcpServers: {} }, { gate: 1 }),
    hinted('did you mean "gateMs", in milliseconds?'),
  );
  assert.throws(() => new Pool({ keepAlive: 1 }), hinted('did you mean "keepAliveMs", in milliseconds?'));
  assert.throws(
    () => new Manager({ mcpServers: {} }, { onAproval: () => false }),
    hinted('did you mean "onApproval"?'),
  );
  const nested = { hostEnv: { home: () => '/home/me' } };
  assert.throws(() => new Manager({ mcpServers: {} }, nested), /"home" is a function/);
  const lost = { mcpServers: { a: { command: 'x', env: { TOKEN: Symbol('x') } } } };
  assert.throws(() => new Manager(lost), /"TOKEN" is a symbol/);
  new Manager({ mcpServers: {} }, { gateMs: undefined, cacheDir: false, retry: 'safe' });
});

test('a config may be JSON, and its oddities are warnings', async (t) => {
  const manager = new Manager(JSON.stringify({ mcpServers: { a: { ...server(), timeout: 'soon' } } }));
  t.after(() => manager.close());
  assert.equal(manager.warnings.length, 1);
  assert.match(manager.warnings[0], /"a"/);
  await manager.connect('a');
  assert.equal(manager.status()[0].state, 'connected');
});

test('tools are sorted, described when looked at, and the same until the catalog changes', async (t) => {
  const manager = await connected(t);
  const tools = manager.getTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    tools.map(({ name }) => name).sort(),
  );
  const add = tools.find(({ rawName }) => rawName === 'add');
  assert.ok(add instanceof Tool);
  assert.equal(add.name, 'mcp_a_add');
  assert.equal(add.server, 'a');
  assert.equal(add.description, 'Adds two numbers');
  assert.deepEqual(add.inputSchema.required, ['a', 'b']);
  assert.deepEqual(add.outputSchema.required, ['sum']);
  assert.deepEqual(add.annotations, { readOnlyHint: true });
  assert.equal(add.icons, undefined);
  assert.match(add.fingerprint, /^[0-9a-f]{64}$/);
  assert.equal(add.requiresApproval, true);
  assert.equal(add.provider, 'mcp:a via code');
  assert.equal(add.state, 'live');
  assert.equal(JSON.parse(JSON.stringify(add)).rawName, 'add');

  assert.equal(manager.getTools()[0], tools[0]);
  tools.length = 0;
  assert.ok(manager.getTools().length > 0);
  await manager.callTool('a', 'change_tools', { name: 'fresh' });
  await until(() => manager.getTools().some(({ rawName }) => rawName === 'fresh'), 'the new tool');
  await manager.disconnect('a');
  assert.deepEqual(manager.getTools(), []);
});

test('names can be had in styles and from a function', async (t) => {
  const names = async (naming) => {
    const manager = manage(t, { 'a-1': server() }, { naming });
    await manager.connectAll();
    const tool = manager.getTools().find(({ rawName }) => rawName === 'echo');
    assert.equal((await manager.call(tool.name, { text: 'x' })).text, 'x');
    return tool.name;
  };
  assert.equal(await names('plain'), 'mcp_a_1_echo');
  assert.equal(await names('double'), 'mcp__a_1__echo');
  assert.equal(await names((server, tool) => `${tool}-of-${server}`), 'echo-of-a-1');
  const broken = (_, tool) => {
    if (tool === 'echo') throw new Error('no name');
    return tool;
  };
  assert.match(await names(broken), /^mcp_a.1_echo$/);
});

test('a naming function may use the manager it names for', async (t) => {
  const manager = manage(t, { a: server() }, { naming: (_, tool) => `${tool}_${manager.status().length}` });
  await manager.connectAll();
  assert.ok(manager.getTools().some(({ name }) => name === 'echo_1'));
});

test('a result is parsed when looked at, and kept as it came', async (t) => {
  const manager = await connected(t);
  const json = '{"content":[],"structuredContent":{"z":1,"a":12345678901234567890},"isError":true,"x":[1e3]}';
  const result = await manager.callTool('a', 'raw', { json });
  assert.ok(result instanceof ToolResult);
  assert.equal(result.json, json);
  assert.deepEqual(result.content, []);
  assert.deepEqual(Object.keys(result.structured), ['z', 'a']);
  assert.equal(result.isError, true);
  assert.deepEqual(result.raw.x, [1000]);
  assert.equal(result.text, 'Error: {"z":1,"a":12345678901234567890}');
  assert.deepEqual(JSON.parse(JSON.stringify(result)), JSON.parse(json));
});

test('text of every script arrives whole, whatever its size', async (t) => {
  const manager = await connected(t);
  for (const text of [
    '',
    'plain',
    'é',
    '日本語',
    '🙂',
    '\u0000\n"\\',
    'x'.repeat(508),
    `${'y'.repeat(510)}🙂`,
  ]) {
    assert.equal((await manager.callTool('a', 'echo', { text })).content[0].text, text);
  }
  for (let length = 480; length < 530; length++) {
    const text = 'é'.repeat(length % 7) + 'z'.repeat(length - 14);
    assert.equal((await manager.callTool('a', 'echo', { text })).content[0].text, text);
  }
  const big = await manager.callTool('a', 'big', { bytes: 3_000_000, shape: 'text' });
  assert.equal(big.content[0].text.length, 3_000_000);
});

test('long strings arrive as they are, wherever they stand', async (t) => {
  const manager = await connected(t);
  const long = 'x'.repeat(70_000);
  const results = [
    { content: [{ type: 'text', text: long }] },
    {
      content: [{ type: 'text', text: `é${long}🙂` }],
      structuredContent: { [long]: long, list: [long, '', long] },
    },
    { content: [{ type: 'text', text: `${long}\n"\\` }], isError: true, after: long },
    { ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, 'v'])), late: long },
    { content: [], ['__proto__']: { deep: long }, nothing: null, number: 7 },
  ];
  for (const result of results) {
    for (const json of [JSON.stringify(result), JSON.stringify(result, null, 2).replaceAll('\n', ' ')]) {
      const { raw } = await manager.callTool('a', 'raw', { json });
      assert.deepEqual(raw, JSON.parse(json));
      const whole = await manager.callTool('a', 'raw', { json });
      assert.equal(whole.json, json);
      assert.deepEqual(whole.raw, JSON.parse(json));
    }
  }
});

test('many calls at once each get their own answer', async (t) => {
  const manager = await connected(t);
  const one = (i) => manager.callTool('a', 'echo', { text: `${i}` }).then(({ text }) => text);
  for (let round = 0; round < 5; round++) {
    const texts = await Promise.all(Array.from({ length: 500 }, (_, i) => one(i)));
    assert.deepEqual(
      texts,
      Array.from({ length: 500 }, (_, i) => `${i}`),
    );
  }
  assert.equal(manager.status()[0].calls.ok, 2500);
  assert.equal(manager.status()[0].calls.inFlight, 0);
});

test('arguments that are no plain object are refused and not sent', async (t) => {
  const path = join(directory(t), 'journal');
  const manager = await connected(t, '--journal', path);
  const cycle = {};
  cycle.self = cycle;
  const bad = [null, 7, 'text', [], new Map(), new Date(), { n: 1n }, cycle];
  for (const args of bad) await assert.rejects(manager.callTool('a', 'echo', args), InvalidArgumentsError);
  for (const meta of [[], cycle]) {
    await assert.rejects(manager.callTool('a', 'echo', { text: '' }, { meta }), InvalidArgumentsError);
  }
  for (const limit of [0, -1, Number.NaN, 'soon']) {
    for (const options of [{ timeoutMs: limit }, { maxTotalTimeoutMs: limit }]) {
      await assert.rejects(manager.callTool('a', 'echo', { text: '' }, options), InvalidArgumentsError);
    }
  }
  await assert.rejects(
    manager.callTool('a', 'echo', { text: '' }, { retry: 'always' }),
    InvalidArgumentsError,
  );
  const sent = journal(path).filter(({ method }) => method === 'tools/call');
  assert.deepEqual(sent, []);
});

test('options of a call that cannot be used are refused by name and not sent', async (t) => {
  const path = join(directory(t), 'journal');
  const manager = await connected(t, '--journal', path);
  const [echo] = manager.getTools().filter(({ rawName }) => rawName === 'echo');
  const refused = (said) => (error) => {
    assert.ok(error instanceof InvalidArgumentsError, String(error));
    assert.equal(error.executed, 'no');
    assert.ok(`${error.message}, ${error.hint}`.includes(said), `${error.message}, ${error.hint}`);
    return true;
  };
  const check = async (options, said) => {
    const args = { text: '' };
    await assert.rejects(manager.callTool('a', 'echo', args, options), refused(said));
    await assert.rejects(manager.call(echo.name, args, options), refused(said));
    await assert.rejects(echo.execute(args, options), refused(said));
  };
  await check({ timeout: 5 }, 'did you mean "timeoutMs", in milliseconds?');
  await check({ timeout_ms: 5 }, 'did you mean "timeoutMs", in milliseconds?');
  await check({ onprogress: () => {} }, 'did you mean "onProgress"?');
  await check({ Signal: undefined, signals: 1 }, 'did you mean "signal"?');
  await check({ bogus: () => {} }, 'no option "bogus" of a call');
  for (const options of [3, 'x', [], true, () => {}]) await check(options, 'must be an object');
  for (const limit of ['5000', true, false, '', [], [5000], 5000n, new Date(), Symbol('x'), () => 5, {}]) {
    await check({ timeoutMs: limit }, 'timeoutMs');
    await check({ maxTotalTimeoutMs: limit }, 'maxTotalTimeoutMs');
  }
  for (const value of [5, Symbol('x'), () => {}]) {
    await check({ meta: value }, '"meta"');
    if (typeof value !== 'function') await check({ onProgress: value }, '"onProgress"');
  }
  const sent = journal(path).filter(({ method }) => method === 'tools/call');
  assert.deepEqual(sent, []);
  const none = { timeoutMs: undefined, maxTotalTimeoutMs: null, bogus: undefined };
  for (const options of [none, null, {}]) {
    assert.equal((await manager.callTool('a', 'echo', { text: 'x' }, options)).text, 'x');
  }
});

test('errors are instances of their classes and carry what the core knows', async (t) => {
  const manager = await connected(t);
  await assert.rejects(manager.callTool('a', 'ech', {}), (error) => {
    assert.ok(error instanceof ToolRejectedError && error instanceof McpoolError);
    assert.equal(error.executed, 'no');
    assert.match(error.hint, /echo/);
    return true;
  });
  await assert.rejects(manager.callTool('b', 'echo', {}), ToolUnavailableError);
  await assert.rejects(manager.connect('b'), ServerNotFoundError);
  await assert.rejects(manager.callTool('a', 'rpc_error', { code: -7, message: 'no' }), (error) => {
    assert.ok(error instanceof ToolFailedError);
    assert.equal(error.executed, 'yes');
    assert.deepEqual(error.rpc.code, -7);
    return true;
  });
  const failed = await manager.callTool('a', 'fail', { message: 'sorry' });
  assert.equal(failed.isError, true);
});

test('a call that is too slow is a TimeoutError', async (t) => {
  const manager = await connected(t);
  await assert.rejects(manager.callTool('a', 'sleep', { ms: 60_000 }, { timeoutMs: 30 }), (error) => {
    assert.ok(error instanceof ToolTimeoutError);
    assert.equal(error.name, 'TimeoutError');
    assert.equal(error.executed, 'unknown');
    return true;
  });
  const slow = manage(t, { a: { ...server('--hang', 'initialize'), timeout: 50 } });
  const report = await slow.connectAll();
  assert.ok(report.failed.a instanceof ConnectTimeoutError);
});

test('progress and meta travel with the call', async (t) => {
  const manager = await connected(t);
  const told = [];
  const onProgress = (progress) => told.push(progress);
  await manager.callTool('a', 'progress', { steps: 3, ms: 1 }, { onProgress });
  assert.deepEqual(told, [
    { progress: 1, total: 3, message: 'step 1 of 3' },
    { progress: 2, total: 3, message: 'step 2 of 3' },
    { progress: 3, total: 3, message: 'step 3 of 3' },
  ]);
  const { text } = await manager.callTool('a', 'meta', {}, { meta: { trace: 'x' } });
  assert.equal(JSON.parse(text).trace, 'x');
});

test('an aborted call rejects with AbortError, tells the server, and leaves no listener', async (t) => {
  const path = join(directory(t), 'journal');
  const manager = await connected(t, '--journal', path);
  const { signal, controller, listeners } = counted();
  const call = manager.callTool('a', 'sleep', { ms: 60_000 }, { signal });
  await until(() => journal(path).some(({ tool }) => tool === 'sleep'), 'the call');
  assert.equal(listeners(), 1);
  controller.abort();
  await assert.rejects(call, (error) => error === signal.reason && error.name === 'AbortError');
  await until(() => journal(path).some(({ event }) => event === 'cancelled'), 'the cancellation');
  assert.equal(listeners(), 0);
  assert.equal((await manager.callTool('a', 'echo', { text: 'on' })).text, 'on');
});

test('a signal that was aborted before sends nothing; one that is not used is left alone', async (t) => {
  const path = join(directory(t), 'journal');
  const manager = await connected(t, '--journal', path);
  for (const reason of [new Error('enough'), 'a word', null, new ClosedError('of ours')]) {
    const signal = AbortSignal.abort(reason);
    const call = manager.callTool('a', 'echo', { text: '' }, { signal });
    assert.equal(await call.then(String, (error) => error), reason);
  }
  const unused = counted();
  await manager.callTool('a', 'add', { a: 1, b: 2 }, { signal: unused.signal });
  await assert.rejects(manager.callTool('a', 'nothing', {}, { signal: unused.signal }), ToolRejectedError);
  assert.equal(unused.listeners(), 0);
  const sent = journal(path).filter(({ method }) => method === 'tools/call');
  assert.deepEqual(
    sent.map(({ tool }) => tool),
    ['add'],
  );
});

/** A signal that counts its listeners. */
function counted() {
  const controller = new AbortController();
  const { signal } = controller;
  const added = new Set();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (type, listener, options) => {
    added.add(listener);
    addEventListener.call(signal, type, listener, options);
  };
  signal.removeEventListener = (type, listener) => {
    added.delete(listener);
    removeEventListener.call(signal, type, listener);
  };
  signal.addEventListener('abort', () => added.clear(), { once: true });
  return { signal, controller, listeners: () => added.size - (signal.aborted ? 0 : 1) };
}

test('many aborts among many calls disturb none of the others', async (t) => {
  const manager = await connected(t);
  process.on('warning', assert.fail);
  t.after(() => process.off('warning', assert.fail));
  for (let round = 0; round < 20; round++) {
    const controller = new AbortController();
    const calls = Array.from({ length: 40 }, (_, i) => {
      const options = i % 2 ? { signal: controller.signal } : undefined;
      return manager.callTool('a', 'echo', { text: `${round} ${i}` }, options);
    });
    setImmediate(() => controller.abort());
    const ends = await Promise.allSettled(calls);
    for (const [i, end] of ends.entries()) {
      if (end.status === 'fulfilled') assert.equal(end.value.text, `${round} ${i}`);
      else assert.ok(i % 2 && end.reason.name === 'AbortError');
    }
  }
});

test('events come in order to streams and listeners, and streams end with the manager', async (t) => {
  const manager = manage(t, { a: server() });
  const seen = [];
  const heard = [];
  const states = (event) => heard.push(event.state);
  const reading = (async () => {
    const stream = manager.events();
    for await (const event of stream) seen.push(event);
    return stream.lost;
  })();
  assert.equal(manager.on('status', states), manager);
  await manager.connectAll();
  await manager.callTool('a', 'log', { level: 'info', text: 'hello' });
  await until(() => heard.length === 2, 'two states');
  manager.off('status', states);
  await manager.close();
  assert.equal(await reading, 0);
  assert.deepEqual(heard, ['connecting', 'connected']);
  assert.deepEqual(
    seen.map(({ type, state }) => state ?? type),
    ['connecting', 'connected', 'tools_changed', 'log', 'disconnected', 'tools_changed'],
  );
  assert.deepEqual(
    seen.map(({ seq }) => seq),
    seen.map((_, i) => i + 1),
  );
  assert.ok(seen.every((event) => event.server === 'a' && Math.abs(event.timeMs - Date.now()) < 60_000));
  assert.equal(seen[2].toolCount > 0, true);
});

test('a stream that is returned ends at once, also while it is waited on', async (t) => {
  const manager = manage(t, { a: server() });
  const stream = manager.events();
  const waits = [stream.next(), stream.next()];
  await turn();
  await stream.return();
  for (const wait of waits) assert.deepEqual(await wait, { done: true, value: undefined });
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
});

test('waitFor starts nothing, and tells when it is up or too late', async (t) => {
  const manager = manage(t, { a: server('--slow', 'initialize=30') });
  await assert.rejects(manager.waitFor('a', { timeoutMs: 20 }), ConnectTimeoutError);
  for (const [options, said] of [
    [{ timeout: 50 }, 'did you mean "timeoutMs", in milliseconds?'],
    [{ signl: null }, 'did you mean "signal"?'],
    [{ signal: 3 }, '"signal"'],
    [{ timeoutMs: '50' }, '"timeoutMs"'],
    [{ timeoutMs: Symbol('x') }, '"timeoutMs"'],
    [{ timeoutMs: -1 }, '"timeoutMs"'],
    [{ timeoutMs: 0 }, 'above 0'],
    [3, 'must be an object'],
  ]) {
    await assert.rejects(manager.waitFor('a', options), (error) => {
      assert.ok(error instanceof InvalidArgumentsError, String(error));
      assert.ok(`${error.message}, ${error.hint}`.includes(said), `${error.message}, ${error.hint}`);
      return true;
    });
  }
  assert.equal(manager.status()[0].state, 'idle');
  const [, report] = await Promise.all([manager.waitFor('a'), manager.connectAll()]);
  assert.deepEqual(report.connected, ['a']);
});

test('a call made while its server comes up waits for it', async (t) => {
  const mode = join(directory(t), 'mode');
  writeFileSync(mode, 'hold');
  const manager = manage(t, { a: server('--hold', `initialize=${mode}`) });
  const connecting = manager.connectAll();
  await until(() => manager.status()[0].state === 'connecting', 'the connecting');
  const call = manager.callTool('a', 'echo', { text: 'early' });
  writeFileSync(mode, 'go');
  assert.equal((await call).text, 'early');
  await connecting;
});

test('status speaks JavaScript', async (t) => {
  const manager = await connected(t, '--instructions', 'be kind');
  await manager.callTool('a', 'echo', { text: 'x' });
  const [status] = manager.status();
  const { pid, connectedSince, uptimeMs, calls, ...rest } = status;
  assert.ok(alive(pid));
  assert.ok(connectedSince instanceof Date && Math.abs(connectedSince - Date.now()) < 60_000);
  assert.ok(uptimeMs >= 0 && uptimeMs < 60_000);
  assert.deepEqual(Object.keys(calls), ['ok', 'error', 'timeout', 'inFlight', 'queued', 'p50Ms', 'p99Ms']);
  assert.deepEqual(rest, {
    name: 'a',
    state: 'connected',
    transport: 'stdio',
    toolCount: manager.getTools().length,
    attempt: 1,
    restarts: 0,
    refs: 1,
    source: { provider: 'code', level: 'explicit' },
    identities: {},
    protocolVersion: rest.protocolVersion,
    serverName: 'fixture',
    serverVersion: '0.1.0',
    instructions: 'be kind',
  });
});

test('close is idempotent and final; every verb then rejects', async () => {
  const manager = new Manager({ mcpServers: { a: server() } });
  await manager.connectAll();
  const [{ pid }] = manager.status();
  const pending = manager.callTool('a', 'sleep', { ms: 60_000 });
  await Promise.all([manager.close(), manager.close(), assert.rejects(pending, McpoolError)]);
  await manager[Symbol.asyncDispose]();
  await until(() => !alive(pid), 'the end of the server');
  await assert.rejects(manager.connectAll(), ClosedError);
  await assert.rejects(manager.connect('a'), ClosedError);
  await assert.rejects(manager.callTool('a', 'echo', { text: '' }), ClosedError);
  await assert.rejects(manager.call('mcp_a_echo', { text: '' }), ClosedError);
  assert.deepEqual(manager.getTools(), []);
  assert.deepEqual(await manager.events().next(), { done: true, value: undefined });
});

test('hints have the names of JavaScript', async (t) => {
  const manager = manage(t, { a: server() });
  await assert.rejects(manager.callTool('a', 'echo', { text: '' }), (error) => {
    assert.ok(error instanceof ToolUnavailableError);
    return error.hint === 'connect it with connectAll()';
  });
});

test('a disconnected server connects again', async (t) => {
  const manager = await connected(t);
  await manager.disconnect('a');
  assert.equal(manager.status()[0].state, 'disconnected');
  await manager.disconnectAll();
  await manager.connect('a');
  assert.equal((await manager.callTool('a', 'echo', { text: 'again' })).text, 'again');
});
