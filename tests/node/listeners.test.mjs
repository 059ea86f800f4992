// Listeners and streams of events.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Manager } from 'mcpool';
import { connected, manage, server, until } from './support.mjs';

test('a type that no event has is refused, with the one that was meant', async (t) => {
  const manager = manage(t, {});
  for (const verb of ['on', 'once', 'off']) {
    assert.throws(() => manager[verb]('stauts', () => {}), {
      code: 'INVALID_ARGUMENTS',
      message: 'There is no event "stauts"',
      hint: 'did you mean "status"?',
    });
    assert.throws(() => manager[verb]('toolsChanged', () => {}), { hint: 'did you mean "tools_changed"?' });
    assert.throws(() => manager[verb]('status'), {
      code: 'INVALID_ARGUMENTS',
      message: /must be a function/,
    });
    assert.throws(() => manager[verb](undefined, () => {}), { code: 'INVALID_ARGUMENTS' });
  }
});

test('a listener of once hears one event, and none after off', async (t) => {
  const manager = manage(t, { a: server() });
  const heard = { once: [], off: 0, both: 0, every: 0 };
  const never = () => heard.off++;
  const both = () => heard.both++;
  manager.once('status', ({ state }) => heard.once.push(state));
  manager.once('status', never).off('status', never);
  manager.once('status', both).on('status', both).once('status', both);
  manager.on('status', () => heard.every++);
  await manager.connectAll();
  await manager.disconnect('a');
  await until(() => heard.every >= 3, 'connecting, connected, disconnected');
  assert.deepEqual(heard.once, ['connecting']);
  assert.equal(heard.off, 0);
  assert.equal(heard.both, heard.every);
});

/** Listeners do not keep the process alive: a test that waits for nothing else does. */
function stayAlive(t) {
  const timer = setInterval(() => {}, 1000);
  t.after(() => clearInterval(timer));
}

test('the last listener of once takes the stream with it, and the next one opens another', async (t) => {
  stayAlive(t);
  const manager = manage(t, { a: server() });
  const states = [];
  const next = () => new Promise((resolve) => manager.once('status', resolve));
  const first = next();
  await manager.connectAll();
  states.push((await first).state);
  const second = next();
  await manager.disconnect('a');
  states.push((await second).state);
  assert.deepEqual(states, ['connecting', 'disconnected']);
});

test('a listener of once that adds itself again hears the next event too', async (t) => {
  stayAlive(t);
  const manager = manage(t, { a: server() });
  const states = [];
  const again = ({ state }) => {
    states.push(state);
    if (states.length < 2) manager.once('status', again);
  };
  manager.once('status', again);
  await manager.connectAll();
  await until(() => states.length === 2, 'two events');
  await manager.disconnect('a');
  assert.deepEqual(states, ['connecting', 'connected']);
});

test('a stream ends when it is disposed of, also while somebody waits', async (t) => {
  const manager = await connected(t);
  const events = manager.events();
  const waiting = (async () => {
    for await (const event of events) assert.ok(event.type);
    return 'ended';
  })();
  assert.equal(await events[Symbol.asyncDispose](), undefined);
  assert.equal(await waiting, 'ended');
  assert.deepEqual(await events.next(), { done: true, value: undefined });
  await new Manager({ mcpServers: {} }).events()[Symbol.asyncDispose]();
});
