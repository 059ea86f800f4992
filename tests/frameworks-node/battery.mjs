// What every adapter has to do, whatever the framework: the row of the table through the framework's own loop, and what is the
// same in all of them.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cases } from './cases.mjs';
import { fitting } from './odd-server.mjs';
import { call, directory, manage, turns, until, world } from './support.mjs';
import { table } from './table.mjs';

/**
 * `run` is the framework's loop, as `cases.mjs` describes it. `keepsSchemas`: the model is shown them as they are.
 * `written`: how a model has to write the arguments of a tool, where it is told another way.
 */
export function battery(framework, { run, keepsSchemas = true, written = (_, args) => args }) {
  const named = (behaviour) => `${framework}: ${behaviour}`;
  const row = table[framework];

  test(named('no cell of its row is empty'), () => {
    assert.deepEqual(Object.keys(row), Object.keys(cases));
  });

  for (const [name, outcome] of Object.entries(row)) {
    test(named(`${name}: ${outcome}`), (t) => cases[name][outcome](t, run));
  }

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
    assert.notEqual(second.results[0].isError, true);
    assert.equal(happened('ran').length, 1);
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

  test(named('a resource that is an image is shown, and none beside an error'), async (t) => {
    const { manager } = await world(t);
    const resource = { uri: 'file:///a.png', mimeType: 'image/png', blob: 'aGVsbG8=' };
    const content = [{ type: 'resource', resource }];
    const calls = [false, true].map((isError) => call('raw', { json: JSON.stringify({ content, isError }) }));
    const script = turns(calls, 'done');
    assert.equal(await run(manager, script, {}), 'done');
    const [fine, failed] = script.seen[1].results;
    if (row.image === 'shown') assert.deepEqual(fine.images, [{ data: 'aGVsbG8=', mimeType: 'image/png' }]);
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

  test(named('two calls of a turn run at the same time'), async (t) => {
    const file = join(directory(t), 'gate');
    writeFileSync(file, 'hold');
    const { manager, happened } = await world(t, { knobs: ['--hold', `tools/call=${file}`] });
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

  test(named('schemas of every kind are taken'), async (t) => {
    const odd = fileURLToPath(new URL('odd-server.mjs', import.meta.url));
    const manager = manage(t, { a: { command: process.execPath, args: [odd] } });
    await manager.connectAll();
    const names = Object.keys(fitting).sort();
    assert.deepEqual(
      manager.getTools().map(({ rawName }) => rawName),
      names,
    );
    const calls = names.map((name) => call(name, written(name, fitting[name])));
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
      assert.ok(text.includes(`${name} got ${JSON.stringify(fitting[name])}`), text);
    }
  });
}
