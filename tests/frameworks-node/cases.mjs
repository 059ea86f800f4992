// The cases that every framework's loop is put through, and for each the outcomes that there are. A row of `table.mjs` says
// which one a loop has; the check of that outcome is run, so what a framework cannot do is asserted too.
//
// `run(manager, script, { signal })` is the framework's loop with a model that asks the script what to say. The script is
// called once a turn with what the model sees, `{ tools, schemas, results }`: the names and the schemas that it is offered,
// and what it is told of the calls of the turn before, `{ text, isError, images }`. It gives a list of calls, or the last
// text.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { call, manage, server, turns, until, world } from './support.mjs';

const odd = fileURLToPath(new URL('odd-server.mjs', import.meta.url));
const raw = (result) => call('raw', { json: JSON.stringify(result) });
const picture = { type: 'image', mimeType: 'image/png', data: 'aGVsbG8=' };

/** What the model is told of the only call of the first turn. */
async function told(run, manager, asked) {
  const script = turns([asked], 'done');
  assert.equal(await run(manager, script, {}), 'done');
  assert.equal(script.seen[1].results.length, 1);
  return script.seen[1].results[0];
}

/** The two ways in which a model learns of a failure: `marked` beside the text, or by the `text` alone. */
const failures = (check) => ({
  marked: async (t, run) => {
    for (const result of await check(t, run)) assert.equal(result.isError, true, result.text);
  },
  text: async (t, run) => {
    for (const { text, isError } of await check(t, run)) {
      assert.equal(isError, undefined, 'it is marked after all');
      assert.match(text, /error/i);
    }
  },
});

export const cases = {
  structured: {
    text: async (t, run) => {
      const { manager } = await world(t);
      const { text, isError } = await told(run, manager, raw({ structuredContent: { sum: 5 } }));
      assert.match(text, /"sum": ?5/);
      assert.notEqual(isError, true);
    },
  },

  image: {
    shown: async (t, run) => {
      const { manager } = await world(t);
      const { text, images } = await told(run, manager, call('image'));
      assert.match(text, /image\/png/);
      const { content } = await manager.callTool('a', 'image');
      const { data, mimeType } = content.find(({ type }) => type === 'image');
      assert.deepEqual(images, [{ data, mimeType }]);
    },
    named: async (t, run) => {
      const { manager } = await world(t);
      const { text, images } = await told(run, manager, call('image'));
      assert.match(text, /image\/png/);
      assert.deepEqual(images, []);
    },
  },

  error: failures(async (t, run) => {
    const { manager } = await world(t);
    const result = await told(run, manager, call('fail', { message: 'out of paper' }));
    assert.match(result.text, /Error: .*out of paper/s);
    return [result];
  }),

  'error with image': failures(async (t, run) => {
    const { manager } = await world(t);
    const result = await told(run, manager, raw({ content: [picture], isError: true }));
    assert.match(result.text, /Error: .*image\/png/s);
    assert.deepEqual(result.images, []);
    return [result];
  }),

  'unknown tool': {
    // With the name that was meant.
    answered: async (t, run) => {
      const { manager } = await world(t);
      const { text } = await told(run, manager, call('ech'));
      assert.match(text, /MCP error: .*mcp_a_ech\b.*mcp_a_echo/s);
    },
    // In the framework's own words.
    told: async (t, run) => {
      const { manager } = await world(t);
      const { text } = await told(run, manager, call('ech'));
      assert.match(text, /mcp_a_ech\b/);
      assert.doesNotMatch(text, /MCP error/);
    },
    // The run fails, and the model learns nothing.
    'ends the run': async (t, run) => {
      const { manager } = await world(t);
      const script = turns([call('ech')], 'done');
      await assert.rejects(run(manager, script, {}), /mcp_a_ech\b/);
      assert.equal(script.seen.length, 1);
    },
  },

  'bad arguments': {
    // In the server's words, and nothing of the host.
    answered: async (t, run) => {
      const { manager } = await world(t);
      const script = turns([call('echo', { text: 7 })], [call('echo', { text: 'better' })], 'done');
      assert.equal(await run(manager, script, {}), 'done');
      const [{ text, isError }] = script.seen[1].results;
      assert.match(text, /argument text must be a string/);
      assert.doesNotMatch(text, /node_modules|\.m?js:\d+|\n\s+at /);
      assert.notEqual(isError, false);
      assert.match(script.seen[2].results[0].text, /better/);
    },
  },

  'free-form arguments': {
    kept: async (t, run) => {
      const manager = manage(t, { a: { command: process.execPath, args: [odd] } });
      await manager.connectAll();
      const args = { word: 'a', 'two words': [1, { deep: null }], resume: false };
      const script = turns([call('free', args), call('booleans', { any: 1, more: 2 })], 'done');
      assert.equal(await run(manager, script, {}), 'done');
      const [free, booleans] = script.seen[1].results.map(({ text }) => text);
      assert.ok(free.includes(`free got ${JSON.stringify(args)}`), free);
      assert.ok(booleans.includes('booleans got {"any":1,"more":2}'), booleans);
      const shown = script.seen[0].schemas[script.seen[0].tools.indexOf('mcp_a_free')];
      assert.notEqual(shown.additionalProperties, false, 'the model is told that there are none');
    },
  },

  'kill between turns': {
    'goes on': async (t, run) => {
      const { manager, happened } = await world(t);
      const restart = async () => {
        const [{ pid }] = manager.status();
        process.kill(pid, 'SIGKILL');
        await until(() => happened('start').length === 2, 'a new process');
        return [call('pid')];
      };
      const script = turns([call('pid')], restart, 'done');
      assert.equal(await run(manager, script, {}), 'done');
      const pids = script.seen.slice(1).map(({ results }) => results[0].text.match(/\d+/)?.[0]);
      assert.deepEqual(
        pids,
        happened('start').map(({ pid }) => String(pid)),
      );
    },
  },

  'kill within a call': failures(async (t, run) => {
    const { manager, happened } = await world(t);
    const script = turns([call('exit', { code: 3 })], [call('echo', { text: 'again' })], 'done');
    assert.equal(await run(manager, script, {}), 'done');
    const [lost] = script.seen[1].results;
    assert.match(lost.text, /MCP error/);
    assert.match(script.seen[2].results[0].text, /again/);
    assert.equal(happened('start').length, 2);
    return [lost];
  }),

  'list change': {
    // What the answer has announced that the model has just read, and what the program has changed since.
    'next turn': async (t, run) => {
      const { manager, offered, removeB } = await changing(t);
      const before = offered();
      const script = turns([call('change_tools', { name: 'fresh' })], removeB, 'done');
      assert.equal(await run(manager, script, {}), 'done');
      const [first, second, third] = script.seen;
      assert.deepEqual(first.tools, before);
      assert.ok(second.tools.includes('mcp_a_fresh'));
      assert.ok(second.tools.includes('mcp_b_echo'));
      assert.doesNotMatch(third.results[0].text, /error/i);
      assert.deepEqual(third.tools, offered());
      assert.ok(!offered().includes('mcp_b_echo'));
    },
    'next run': async (t, run) => {
      const { manager, offered, removeB } = await changing(t);
      const first = turns([call('change_tools', { name: 'fresh' })], 'done');
      assert.equal(await run(manager, first, {}), 'done');
      assert.deepEqual(first.seen[1].tools, first.seen[0].tools);
      const second = turns(removeB, 'done');
      assert.equal(await run(manager, second, {}), 'done');
      assert.ok(second.seen[0].tools.includes('mcp_a_fresh'));
      assert.doesNotMatch(second.seen[1].results[0].text, /error/i);
      assert.deepEqual(second.seen[1].tools, second.seen[0].tools);
      const third = turns('done');
      assert.equal(await run(manager, third, {}), 'done');
      assert.deepEqual(third.seen[0].tools, offered());
    },
  },

  refused: failures(async (t, run) => {
    const asked = [];
    const onApproval = async ({ name, arguments: args }) => {
      asked.push([name, args]);
      return false;
    };
    const { manager, happened } = await world(t, { onApproval });
    const result = await told(run, manager, call('echo', { text: 'a word' }));
    assert.deepEqual(asked, [['mcp_a_echo', { text: 'a word' }]]);
    assert.match(result.text, /MCP error: .*approve/s);
    assert.equal(happened('ran').length, 0);
    return [result];
  }),

  cancelled: {
    'ends the run': async (t, run) => {
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
    },
  },

  'two agents': {
    apart: async (t, run) => {
      const { manager, happened } = await world(t);
      const other = manager.child();
      t.after(() => other.close());
      await other.connectAll();
      const scripts = ['one', 'two'].map((text) => turns([call('echo', { text })], 'done'));
      const [first, second] = scripts;
      await Promise.all([run(manager, first, {}), run(other, second, {})]);
      for (const [script, own, foreign] of [
        [first, /one/, /two/],
        [second, /two/, /one/],
      ]) {
        assert.match(script.seen[1].results[0].text, own);
        assert.doesNotMatch(script.seen[1].results[0].text, foreign);
      }
      await other.close();
      assert.match((await told(run, manager, call('echo', { text: 'still' }))).text, /still/);
      assert.equal(happened('start').length, 1);
    },
  },

  'long result': {
    cut: async (t, run) => {
      const { manager } = await world(t);
      const { text } = await told(run, manager, call('big', { bytes: 200_000 }));
      assert.match(text, /output truncated at 50000 chars/);
      assert.ok(text.length < 51_000, `${text.length} characters`);
    },
  },
};

/** A manager whose list changes: its server `a` gets a tool when it is asked, and its server `b` goes by `removeB`. */
async function changing(t) {
  const { manager, mcpServers } = await world(t);
  await manager.reload({ mcpServers: { ...mcpServers, b: server() } });
  const offered = () => manager.getTools().map(({ name }) => name);
  const removeB = async () => {
    await manager.reload({ mcpServers });
    return [call('fresh')];
  };
  return { manager, offered, removeB };
}
