// What every adapter has to do, whatever the framework: the same behaviours through each framework's own loop.
//
// A framework brings `run(manager, script, { signal })`: its loop with a model that asks the script what to say. The
// script is called once a turn with what the model sees, `{ tools, schemas, results }`: the names and the schemas that it
// is offered, and what it is told of the calls of the turn before, `{ text, isError, images }`. It gives a list of calls,
// or the last text.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { fitting } from './odd-server.mjs';
import { directory, journal, manage, server, until } from './support.mjs';

export const call = (name, args = {}) => ({ name: `mcp_a_${name}`, args });

/** A script of these turns; the last one's text ends the loop. */
export function turns(...list) {
  const seen = [];
  const script = async (view) => {
    seen.push(view);
    const turn = list[seen.length - 1] ?? 'done';
    return typeof turn === 'function' ? turn(view) : turn;
  };
  return Object.assign(script, { seen });
}

/** A manager with one connected fixture named `a`, and the fixture's journal. */
export async function world(t, ...knobs) {
  const path = join(directory(t), 'journal');
  const mcpServers = {
    a: { ...server('--journal', path, ...knobs), restart: { delays: [1], forever: true } },
  };
  const manager = manage(t, mcpServers);
  const report = await manager.connectAll();
  if (report.failed.a) throw report.failed.a;
  return { manager, mcpServers, happened: (event) => journal(path).filter((entry) => entry.event === event) };
}

/**
 * `marksErrors`: the model is told apart from the text that a call failed. `showsImages`: it is shown images.
 * `list`: how long a list of tools holds, a `turn` or a `run`. `refuses`: tools whose schemas the framework itself cannot
 * check arguments by. `keepsSchemas`: the model is shown them as they are.
 */
export function battery(
  framework,
  { run, marksErrors = true, showsImages = true, list = 'turn', refuses = [], keepsSchemas = true },
) {
  const named = (behaviour) => `${framework}: ${behaviour}`;

  test(named('a tool is called through the loop'), async (t) => {
    const { manager, happened } = await world(t);
    const script = turns([call('echo', { text: 'a word' })], 'done');
    assert.equal(await run(manager, script, {}), 'done');
    const [first, second] = script.seen;
    assert.deepEqual(
      first.tools,
      manager.getTools().map(({ name }) => name),
    );
    assert.equal(second.results.length, 1);
    assert.match(second.results[0].text, /a word/);
    if (marksErrors) assert.equal(second.results[0].isError, false);
    assert.equal(happened('ran').length, 1);
  });

  test(named('a tool that fails is told to the model'), async (t) => {
    const { manager } = await world(t);
    const script = turns([call('fail', { message: 'out of paper' })], 'done');
    assert.equal(await run(manager, script, {}), 'done');
    const [result] = script.seen[1].results;
    assert.match(result.text, /out of paper/);
    if (marksErrors) assert.equal(result.isError, true);
  });

  test(named('a server that dies in the call is told to the model, and the next call goes on'), async (t) => {
    const { manager, happened } = await world(t);
    const script = turns([call('exit', { code: 3 })], [call('echo', { text: 'again' })], 'done');
    assert.equal(await run(manager, script, {}), 'done');
    const [lost] = script.seen[1].results;
    assert.match(lost.text, /MCP error/);
    if (marksErrors) assert.equal(lost.isError, true);
    assert.match(script.seen[2].results[0].text, /again/);
    assert.equal(happened('start').length, 2);
  });

  test(named('a server that is gone for good is told to the model'), async (t) => {
    const { manager } = await world(t);
    const gone = async () => {
      await manager.disconnect('a');
      await manager.close();
      return [call('echo', { text: 'a word' })];
    };
    const script = turns(gone, 'done');
    assert.equal(await run(manager, script, {}), 'done');
    assert.match(script.seen[1].results[0].text, /MCP error/);
  });

  test(named('an image is shown'), async (t) => {
    const { manager } = await world(t);
    const script = turns([call('image')], 'done');
    assert.equal(await run(manager, script, {}), 'done');
    const [{ text, images }] = script.seen[1].results;
    assert.match(text, /image\/png/);
    const { content } = await manager.callTool('a', 'image');
    const { data, mimeType } = content.find(({ type }) => type === 'image');
    if (showsImages) assert.deepEqual(images, [{ data, mimeType }]);
  });

  test(named('a resource that is an image is shown, and none beside an error'), async (t) => {
    const { manager } = await world(t);
    const resource = { uri: 'file:///a.png', mimeType: 'image/png', blob: 'aGVsbG8=' };
    const content = [{ type: 'resource', resource }];
    const calls = [false, true].map((isError) => call('raw', { json: JSON.stringify({ content, isError }) }));
    const script = turns(calls, 'done');
    assert.equal(await run(manager, script, {}), 'done');
    const [fine, failed] = script.seen[1].results;
    if (showsImages) assert.deepEqual(fine.images, [{ data: 'aGVsbG8=', mimeType: 'image/png' }]);
    assert.deepEqual(failed.images, []);
  });

  test(named('an image that no model takes stays a word'), async (t) => {
    const { manager } = await world(t);
    const json = JSON.stringify({
      content: [
        { type: 'image', mimeType: 'image/tiff', data: 'aGVsbG8=' },
        { type: 'image', mimeType: 'image/png', data: 'no base64!' },
        { type: 'image', mimeType: 'image/png' },
        null,
        'a word',
      ],
    });
    const script = turns([call('raw', { json })], 'done');
    assert.equal(await run(manager, script, {}), 'done');
    const [{ text, images }] = script.seen[1].results;
    assert.match(text, /image\/tiff/);
    assert.deepEqual(images, []);
  });

  test(named('a structured result reaches the model'), async (t) => {
    const { manager } = await world(t);
    const script = turns([call('raw', { json: '{"structuredContent":{"sum":5}}' })], 'done');
    assert.equal(await run(manager, script, {}), 'done');
    assert.match(script.seen[1].results[0].text, /"sum": ?5/);
  });

  test(named('two calls of a turn run at the same time'), async (t) => {
    const file = join(directory(t), 'gate');
    writeFileSync(file, 'hold');
    const { manager, happened } = await world(t, '--hold', `tools/call=${file}`);
    const script = turns([call('echo', { text: 'one' }), call('echo', { text: 'two' })], 'done');
    const running = run(manager, script, {});
    const calls = () => happened('received').filter(({ method }) => method === 'tools/call');
    await Promise.race([running, until(() => calls().length === 2, 'two calls under way')]);
    writeFileSync(file, 'go');
    assert.equal(await running, 'done');
    const texts = script.seen[1].results.map(({ text }) => text);
    assert.equal(texts.length, 2);
    assert.match(texts[0], /one/);
    assert.match(texts[1], /two/);
  });

  test(named('an abort in mid-call reaches the server'), async (t) => {
    const { manager, happened } = await world(t);
    const controller = new AbortController();
    const script = turns([call('sleep', { ms: 60_000 })], 'done');
    const running = run(manager, script, { signal: controller.signal }).then(
      () => 'ended',
      (error) => error,
    );
    await until(() => happened('ran').some(({ tool }) => tool === 'sleep'), 'the call under way');
    controller.abort();
    await until(() => happened('cancelled').length === 1, 'the server was told');
    await running;
    assert.equal(script.seen.length, 1);
    assert.equal(happened('start').length, 1);
  });

  test(named('tools survive a restart of their server between two turns'), async (t) => {
    const { manager, happened } = await world(t);
    const restart = async () => {
      const [{ pid }] = manager.status();
      process.kill(pid, 'SIGKILL');
      await until(() => happened('start').length === 2, 'a new process');
      return [call('pid')];
    };
    const script = turns([call('pid')], restart, 'done');
    assert.equal(await run(manager, script, {}), 'done');
    const [before, after] = script.seen.slice(1).map(({ results }) => results[0].text.match(/\d+/)?.[0]);
    assert.deepEqual(
      [before, after],
      happened('start').map(({ pid }) => String(pid)),
    );
  });

  test(named(`a changed list of tools reaches the next ${list}`), async (t) => {
    const { manager, mcpServers } = await world(t);
    await manager.reload({ mcpServers: { ...mcpServers, b: server() } });
    const offered = () => manager.getTools().map(({ name }) => name);
    const changed = async () => {
      await until(() => offered().includes('mcp_a_fresh'), 'the new tool');
      await manager.reload({ mcpServers });
      return [call('echo', { text: 'a word' })];
    };
    const script = turns([call('change_tools', { name: 'fresh' })], changed, [call('fresh')], 'done');
    const before = offered();
    if (list === 'run') {
      const first = turns(...[[call('change_tools', { name: 'fresh' })], changed, 'done']);
      assert.equal(await run(manager, first, {}), 'done');
      assert.ok(first.seen[0].tools.includes('mcp_b_echo'));
      const second = turns([call('fresh')], 'done');
      assert.equal(await run(manager, second, {}), 'done');
      assert.deepEqual(second.seen[0].tools, offered());
      assert.doesNotMatch(second.seen[1].results[0].text, /error/i);
      return;
    }
    assert.equal(await run(manager, script, {}), 'done');
    assert.deepEqual(script.seen[0].tools, before);
    assert.ok(before.includes('mcp_b_echo'));
    assert.deepEqual(script.seen[2].tools, offered());
    assert.ok(!offered().includes('mcp_b_echo'));
    assert.doesNotMatch(script.seen[3].results[0].text, /error/i);
  });

  test(named('arguments that the tool refuses are told to the model'), async (t) => {
    const { manager } = await world(t);
    const script = turns([call('echo', { text: 7 })], [call('echo', { text: 'better' })], 'done');
    assert.equal(await run(manager, script, {}), 'done');
    assert.match(script.seen[1].results[0].text, /error/i);
    assert.match(script.seen[2].results[0].text, /better/);
  });

  test(named('schemas of every kind are taken'), async (t) => {
    const odd = fileURLToPath(new URL('odd-server.mjs', import.meta.url));
    const manager = manage(t, { a: { command: process.execPath, args: [odd] } });
    await manager.connectAll();
    const names = Object.keys(fitting).sort();
    assert.deepEqual(
      manager.getTools().map(({ rawName }) => rawName),
      names,
    );
    const calls = names.map((name) => call(name, fitting[name]));
    const script = turns(calls, 'done');
    assert.equal(await run(manager, script, {}), 'done');
    if (keepsSchemas) {
      // As the server has them, but for what no provider does without.
      const own = manager
        .getTools()
        .map(({ inputSchema }) => ({ properties: {}, ...inputSchema, type: 'object' }));
      assert.deepEqual(script.seen[0].schemas, own);
    }
    for (const [index, name] of names.entries()) {
      const { text } = script.seen[1].results[index];
      const told = refuses.includes(name) ? 'Error' : `${name} got ${JSON.stringify(fitting[name])}`;
      assert.ok(text.includes(told), text);
    }
  });
}
