// Cancelling by a signal: whoever waits gets the signal's reason.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ClosedError } from 'mcpool';
import { connected, directory, journal, manage, server, until } from './support.mjs';

const outcome = (promise) =>
  promise.then(
    () => 'resolved',
    (error) => error,
  );

const reasons = () => [new Error('mine'), 'a word', new ClosedError('an error of ours'), undefined];

test('a call under way rejects with the reason, and the server is told', async (t) => {
  const path = join(directory(t), 'journal');
  const manager = await connected(t, '--journal', path);
  for (const [index, reason] of reasons().entries()) {
    const controller = new AbortController();
    const call = outcome(manager.callTool('a', 'sleep', { ms: 60_000 }, { signal: controller.signal }));
    await until(() => journal(path).filter(({ event }) => event === 'ran').length > index, 'the call');
    controller.abort(reason);
    assert.equal(await call, controller.signal.reason);
    await until(
      () => journal(path).filter(({ event }) => event === 'cancelled').length > index,
      'the notice',
    );
  }
});

test('a timeout of a signal is its TimeoutError', async (t) => {
  const manager = await connected(t);
  const error = await outcome(
    manager.callTool('a', 'sleep', { ms: 60_000 }, { signal: AbortSignal.timeout(5) }),
  );
  assert.ok(error instanceof DOMException);
  assert.equal(error.name, 'TimeoutError');
});

test('execute rejects with the reason, although it may be an error of ours', async (t) => {
  const manager = await connected(t);
  const tool = manager.getTools().find(({ rawName }) => rawName === 'sleep');
  for (const reason of reasons()) {
    const signal = AbortSignal.abort(reason);
    assert.equal(await outcome(tool.execute({ ms: 1 }, { signal })), signal.reason);
  }
});

test('connectAll, connect and waitFor reject with the reason; the server goes on connecting', async (t) => {
  const gate = join(directory(t), 'gate');
  writeFileSync(gate, 'hold');
  const manager = manage(t, { a: server('--hold', `initialize=${gate}`) });
  const reason = new Error('enough');
  const controller = new AbortController();
  const { signal } = controller;
  const waits = [
    manager.connectAll({ signal }),
    manager.connect('a', { signal }),
    manager.waitFor('a', { signal }),
  ];
  const ends = waits.map(outcome);
  await until(() => manager.status()[0].state === 'connecting', 'the connecting');
  controller.abort(reason);
  assert.deepEqual(await Promise.all(ends), [reason, reason, reason]);
  assert.equal(await outcome(manager.connectAll({ signal })), reason);
  writeFileSync(gate, 'go');
  await manager.waitFor('a');
  assert.equal(manager.status()[0].state, 'connected');
});

test('a signal that is not aborted changes nothing and is let go of', async (t) => {
  const manager = manage(t, { a: server() });
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...all) => [listeners++, addEventListener.apply(signal, all)];
  signal.removeEventListener = (...all) => [listeners--, removeEventListener.apply(signal, all)];
  assert.deepEqual((await manager.connectAll({ signal })).connected, ['a']);
  await manager.waitFor('a', { signal, timeoutMs: 5000 });
  await manager.callTool('a', 'echo', { text: '' }, { signal });
  await until(() => listeners === 0, 'no listener');
});

test('other options of connecting, and what is no signal, are refused', async (t) => {
  const manager = manage(t, { a: server() });
  for (const verb of [(options) => manager.connectAll(options), (options) => manager.connect('a', options)]) {
    const error = await outcome(verb({ signl: AbortSignal.abort() }));
    assert.equal(`${error.code} ${error.hint}`, 'INVALID_ARGUMENTS did you mean "signal"?');
    assert.equal((await outcome(verb({ signal: 'now' }))).code, 'INVALID_ARGUMENTS');
  }
  assert.equal(manager.status()[0].state, 'idle');
});
