// Each mistake of a newcomer gets a message that names it and the way out.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  ClosedError,
  ConfigInvalidError,
  ConnectionLostError,
  config,
  InvalidArgumentsError,
  Manager,
  Pool,
  trust,
  untrust,
} from 'mcpool';
import { connected, directory, manage, server } from './support.mjs';

const refusedWith = (message) => (error) => {
  assert.ok(error instanceof InvalidArgumentsError, String(error));
  assert.deepEqual([error.message, error.executed], [message, 'no']);
  return true;
};

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
    ['gateMs', Number.NaN, 'a number of milliseconds, not NaN'],
    ['gateMs', Number.POSITIVE_INFINITY, 'a number of milliseconds, not Infinity'],
    ['gateMs', 5n, 'a number of milliseconds, not a bigint'],
    ['gateMs', new Date(), 'a number of milliseconds, not a Date'],
    ['connectConcurrency', Number.NaN, 'a whole number, 0 or more, not NaN'],
    ['wrap', 1, 'true or false, not a number'],
    ['wrap', () => true, 'true or false, not a function'],
    ['identity', Symbol('x'), 'without control characters, not a symbol'],
    ['enabledTools', new Set(['a']), 'a list of texts, not a Set'],
    ['headers', new Map([['x-a', '1']]), 'an object whose values are texts, not a Map'],
    ['hostEnv', () => ({}), 'an object of env, home and platform, not a function'],
  ]) {
    assert.throws(
      () => new Manager({ mcpServers: { a: server() } }, { [option]: value }),
      (error) => error.message.includes(`"${option}"`) && error.message.endsWith(expected),
    );
  }
});

test('what is wrong inside an object stays said, also if it has a class', () => {
  const hostEnv = new (class Environment {
    planet = 1;
  })();
  assert.throws(
    () => new Manager({ mcpServers: {} }, { hostEnv }),
    /"hostEnv" of a manager must be .*planet/,
  );
});

test('options of pools, edits and waits are named the same way', async (t) => {
  const says = (text) => (error) => error.message === text;
  const keepAlive = (value) => new Pool({ keepAliveMs: value });
  const expected = 'The option "keepAliveMs" of a pool must be a number of milliseconds or "always"';
  assert.throws(() => keepAlive(Number.NaN), says(`${expected}, not NaN`));
  assert.throws(() => keepAlive(1n), says(`${expected}, not a bigint`));
  await assert.rejects(config.remove('a', { scope: 1n }), /^ConfigInvalidError: .*"scope".*, not a bigint$/);
  await assert.rejects(trust('x.json', { servers: new Set(['a']) }), /"servers".*, not a Set$/);
  const wait = manage(t, { a: server() }).waitFor('a', { timeoutMs: Number.NaN });
  await assert.rejects(wait, refusedWith(WAIT));
});

const WAIT = 'The option "timeoutMs" of a wait for a server must be a number of milliseconds, not NaN';

test('an option of a call that has the wrong type is named with what it is', async (t) => {
  const manager = await connected(t);
  const object = 'must be an object, not';
  const time = 'must be a number of milliseconds, not';
  for (const [option, value, expected] of [
    ['meta', [], `${object} an array`],
    ['meta', new Map(), `${object} a Map`],
    ['meta', new (class Words {})(), `${object} a Words`],
    ['meta', () => ({}), `${object} a function`],
    ['timeoutMs', Number.NaN, `${time} NaN`],
    ['timeoutMs', 5n, `${time} a bigint`],
    ['timeoutMs', [5], `${time} an array`],
    ['maxTotalTimeoutMs', new Date(), `${time} a Date`],
    ['retry', ['safe'], 'must be "never" or "safe", not an array'],
    ['headers', { a: 1 }, 'cannot be used: the header "a" must be a text, not a number'],
    ['headers', { a: undefined }, 'cannot be used: the header "a" must be a text, not undefined'],
    ['headers', [], 'cannot be used: the headers must be a plain object or Headers, not an array'],
  ]) {
    const call = manager.callTool('a', 'echo', { text: '' }, { [option]: value });
    await assert.rejects(call, refusedWith(`The option "${option}" of a call ${expected}`));
  }
});

test('a name that is no text is refused, with what was given', async (t) => {
  const manager = await connected(t);
  const nameOf = (what, given) => refusedWith(`The name of the ${what} must be a text, not ${given}`);
  for (const [verb, what, given, words] of [
    ['connect', 'server', {}, 'an object'],
    ['waitFor', 'server', undefined, 'undefined'],
    ['authorize', 'server', 7, 'a number'],
    ['forgetAuth', 'server', null, 'null'],
    ['disconnect', 'server', ['a'], 'an array'],
    ['acceptDrift', 'server', undefined, 'undefined'],
    ['callTool', 'server', undefined, 'undefined'],
    ['call', 'tool', Promise.resolve('x'), 'a Promise'],
  ]) {
    await assert.rejects(manager[verb](given), nameOf(what, words), verb);
  }
  await assert.rejects(manager.callTool('a'), nameOf('tool', 'undefined'));
  await assert.rejects(manager.acceptDrift('a', 7), nameOf('tool', 'a number'));
  assert.deepEqual(await manager.acceptDrift('a', null), []);
  assert.throws(() => manager.status(7), nameOf('server', 'a number'));
  assert.throws(() => manager.getTool(manager.getTools()[0]), nameOf('tool', 'a Tool'));
  assert.throws(() => manager.searchTools(), refusedWith('The query must be a text, not undefined'));
  const event = refusedWith('The type of the event must be a text, not a symbol');
  for (const verb of ['on', 'once', 'off']) {
    assert.throws(() => manager[verb](Symbol('status'), () => {}), event);
  }
  const options = { file: join(directory(t), 'mcp.json') };
  for (const edit of ['add', 'update']) {
    await assert.rejects(config[edit](undefined, {}, options), nameOf('server', 'undefined'), edit);
  }
  for (const edit of ['remove', 'enable', 'disable', 'hide', 'unhide']) {
    await assert.rejects(config[edit](undefined, options), nameOf('server', 'undefined'), edit);
  }
});

test('a path that is none is refused, with what was given', async () => {
  const path = (given) =>
    refusedWith(`The path of the config file must be a text or a file URL, not ${given}`);
  assert.throws(() => Manager.fromFile(), path('undefined'));
  assert.throws(() => Manager.fromFile({}), path('an object'));
  await assert.rejects(trust(), path('undefined'));
  await assert.rejects(untrust(7), path('a number'));
});

test('a child takes no options', (t) => {
  const manager = manage(t, {});
  assert.throws(
    () => manager.child({ gate: 1 }),
    (error) => {
      assert.ok(error instanceof ConfigInvalidError);
      assert.equal(error.message, 'There is no option "gate" of a child');
      return error.hint.includes('new Manager()');
    },
  );
  const children = [undefined, null, {}, { gateMs: undefined }].map((none) => manager.child(none));
  t.after(() => Promise.all(children.map((child) => child.close())));
});

test('a Map or a Set in arguments is refused by its path instead of being sent empty', async (t) => {
  const manager = await connected(t);
  for (const [args, path, kind] of [
    [{ text: new Map([['a', 1]]) }, 'text', 'a Map'],
    [{ text: '', list: [{ tags: new Set(['x']) }] }, 'list.0.tags', 'a Set'],
  ]) {
    const text = `The arguments cannot become JSON: "${path}" is ${kind}, of which JSON would keep nothing`;
    await assert.rejects(manager.callTool('a', 'echo', args), refusedWith(text));
    assert.equal((await manager.getTool('mcp_a_echo').execute(args)).error.message, text);
  }
  const sent = new Map([['a', 1]]);
  const kept = Object.assign(sent, { toJSON: () => 'x' });
  const others = { empty: {}, at: new Date(), url: new URL('file:///x'), own: new (class Own {})() };
  assert.equal((await manager.callTool('a', 'echo', { text: 'x', kept, ...others })).text, 'x');
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

test('what JSON would lose in a config is refused by its name', () => {
  const url = 'http://127.0.0.1:9/mcp';
  const headers = new Headers({ authorization: 'Bearer x' });
  for (const [config, told] of [
    [{ mcpServers: { a: { url, headers } } }, /"headers" is a Headers/],
    [{ mcpServers: { a: { command: 'x', env: new Map([['A', '1']]) } } }, /"env" is a Map/],
    [{ mcpServers: new Map() }, /"mcpServers" is a Map/],
  ]) {
    assert.throws(() => new Manager(config), told);
  }
});
