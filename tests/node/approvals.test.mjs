// An approval callback runs on the loop of its call; without its yes nothing is sent.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ConfigInvalidError, NotApprovedError, ToolTimeoutError } from 'mcpool';
import { directory, fixture, journal, manage, program, root, run, server, until } from './support.mjs';

const native = createRequire(import.meta.url)('../../node/native.js');

async function asking(test, onApproval, options) {
  const path = join(directory(test), 'journal');
  const manager = manage(test, { a: server('--journal', path) }, { onApproval, cacheDir: false, ...options });
  await manager.connectAll();
  const ran = (tool) => journal(path).filter((line) => line.event === 'ran' && line.tool === tool).length;
  return { manager, ran };
}

function unreadable() {
  const get = () => {
    throw new Error('not readable');
  };
  return Object.defineProperty(new Error('no idea'), 'stack', { get });
}

const never = () => new Promise(() => {});

test('a question tells all', async (t) => {
  const asked = [];
  const { manager } = await asking(t, (question) => asked.push(question) > 0);
  assert.equal((await manager.callTool('a', 'echo', { text: 'hi', token: 's3cret' })).text, 'hi');
  await manager.call('mcp_a_count');
  assert.deepEqual(asked, [
    {
      server: 'a',
      tool: 'echo',
      name: 'mcp_a_echo',
      arguments: { text: 'hi', token: 's3cret' },
      description: 'Gives the text back',
      annotations: { readOnlyHint: true },
      provider: 'mcp:a via code',
    },
    {
      server: 'a',
      tool: 'count',
      name: 'mcp_a_count',
      arguments: {},
      description: 'Tells how often it ran in this process',
      provider: 'mcp:a via code',
    },
  ]);
});

test('a function of ours names the tool that is asked about', async (t) => {
  const asked = [];
  const naming = (of, tool) => `${of}-${tool}`;
  const { manager } = await asking(t, ({ name }) => asked.push(name) > 0, { naming });
  await manager.callTool('a', 'count');
  assert.deepEqual(asked, ['a-count']);
});

for (const [name, onApproval] of [
  ['throws', () => assert.fail('no idea')],
  ['rejects', () => Promise.reject(new Error('no idea'))],
  [
    'throws what cannot become text',
    () => {
      throw Object.create(null);
    },
  ],
  ['rejects with an error that cannot be read', () => Promise.reject(unreadable())],
  ['gives something else', () => 'yes'],
  ['gives nothing', () => undefined],
]) {
  test(`a callback that ${name} approves nothing`, async (t) => {
    const { manager, ran } = await asking(t, onApproval);
    await assert.rejects(manager.callTool('a', 'count'), (error) => {
      assert.ok(error instanceof NotApprovedError);
      assert.deepEqual([error.executed, error.server], ['no', 'a']);
      return error.message.includes('failed');
    });
    assert.equal(ran('count'), 0);
  });
}

test('an answer is waited for within limits', async (t) => {
  const { manager, ran } = await asking(t, never, { approvalTimeoutMs: 50 });
  await assert.rejects(manager.callTool('a', 'count'), NotApprovedError);
  const wall = { maxTotalTimeoutMs: 20 };
  await assert.rejects(manager.callTool('a', 'count', {}, wall), ToolTimeoutError);
  assert.equal(ran('count'), 0);
});

test('a call that is aborted while it waits is never sent, and a late yes is ignored', async (t) => {
  const answers = [];
  const { manager, ran } = await asking(t, () => new Promise((resolve) => answers.push(resolve)));
  const abort = new AbortController();
  const waiting = manager.callTool('a', 'count', {}, { signal: abort.signal });
  await until(() => answers.length === 1, 'the question');
  abort.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  answers[0](true);
  const other = manager.callTool('a', 'echo', { text: 'hi' });
  await until(() => answers.length === 2, 'the second question');
  answers[1](true);
  assert.equal((await other).text, 'hi');
  assert.equal(ran('count'), 0);
});

test('many calls are asked about at once, each for itself', async (t) => {
  const open = [];
  const { manager, ran } = await asking(t, (question) => {
    return new Promise((resolve) => open.push(() => resolve(question.arguments.n % 2 === 1)));
  });
  const calls = Array.from({ length: 64 }, (_, n) => manager.callTool('a', 'count', { n }));
  const ended = Promise.allSettled(calls);
  await until(() => open.length === 64, 'all questions');
  assert.equal(ran('count'), 0);
  for (const answer of open) answer();
  const sent = (await ended).map(({ status }) => status === 'fulfilled');
  assert.deepEqual(
    sent,
    sent.map((_, n) => n % 2 === 1),
  );
  assert.equal(ran('count'), 32);
});

test('who is asked may call a tool that needs no approval', async (t) => {
  const { manager } = await asking(
    t,
    async () => (await manager.callTool('a', 'echo', { text: 'yes' })).text === 'yes',
    { approval: 'annotations' },
  );
  assert.equal((await manager.callTool('a', 'count')).text, '1');
});

test('a child asks as its parent does', async (t) => {
  const asked = [];
  const { manager } = await asking(t, ({ tool }) => asked.push(tool) < 0);
  const child = manager.child();
  t.after(() => child.close());
  await child.connectAll();
  await assert.rejects(child.callTool('a', 'count'), NotApprovedError);
  assert.deepEqual(asked, ['count']);
});

test("an agent's call is asked about too, and a no is text", async (t) => {
  const { manager, ran } = await asking(t, ({ tool }) => tool === 'echo');
  const tool = (name) => manager.getTools().find(({ rawName }) => rawName === name);
  assert.ok((await tool('echo').execute({ text: 'hi' })).text.includes('hi'));
  const { isError, error, text } = await tool('count').execute();
  assert.ok(isError && error instanceof NotApprovedError && text.includes('MCP error: '));
  assert.equal(ran('count'), 0);
});

test('trust and approval are asked of different functions', async (t) => {
  const { manager } = await asking(t, () => true, { trust: () => false });
  assert.equal((await manager.callTool('a', 'count')).text, '1');
});

test('what is no function is refused', (t) => {
  assert.throws(() => manage(t, {}, { onApproval: 'yes' }), ConfigInvalidError);
});

test('a worker answers for its own calls, and one that ends while it is asked holds up nobody', async (t) => {
  const { said } = await run(t, 'approves-in-a-worker.mjs');
  assert.equal(said, '1');
});

test('a callback that fails is logged with its stack', async () => {
  const env = { ...process.env, MCPOOL_LOG: 'warn' };
  const command = [program('approves-badly.mjs').pathname, fixture];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { env, timeout: 30_000 });
  assert.equal(stdout.trim(), 'NOT_APPROVED');
  assert.match(stderr, /WARN {2}a: .*no idea.*approves-badly\.mjs/);
});

test('the types of events are the list of the core', () => {
  const declared = readFileSync(join(root, 'node/dist/events.d.ts'), 'utf8');
  const types = [...declared.matchAll(/^ {4}type: '([a-z_]+)';$/gm)].map(([, type]) => type);
  assert.deepEqual(types.sort(), native.eventTypes().sort());
});

test('listeners hear of calls and their progress', async (t) => {
  const manager = manage(t, { a: server() }, { callEvents: true, cacheDir: false });
  await manager.connectAll();
  const heard = [];
  manager.on('call', (event) => heard.push(event));
  manager.on('progress', (event) => heard.push(event));
  await manager.callTool('a', 'progress', { steps: 1, ms: 1 }, { onProgress: () => {} });
  await until(() => heard.length === 3, 'the events');
  const [started, progress, finished] = heard;
  assert.deepEqual([started.phase, started.call, started.arguments], ['started', 1, { steps: 1, ms: 1 }]);
  assert.deepEqual([progress.tool, progress.progress, progress.total], ['progress', 1, 1]);
  assert.deepEqual([finished.phase, finished.isError, finished.cancelled], ['finished', false, undefined]);
  assert.ok(finished.durationMs >= 0 && finished.seq > started.seq);
});
