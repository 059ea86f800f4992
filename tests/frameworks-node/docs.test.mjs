// Executes what the documents say of the adapters, with a scripted model in place of a paid one.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { model as aiSdk } from './models/ai-sdk.mjs';
import { clientOf as anthropic } from './models/anthropic.mjs';
import { Scripted } from './models/langchain.mjs';
import { model as mastra } from './models/mastra.mjs';
import { chat, responses } from './models/openai.mjs';
import { model as openaiAgents } from './models/openai-agents.mjs';
import { call, root, turns, world } from './support.mjs';
import { table } from './table.mjs';

process.env.OPENAI_AGENTS_DISABLE_TRACING = '1';

// Beside `node_modules`, or nothing would be found.
const place = mkdtempSync(fileURLToPath(new URL('made-', import.meta.url)));
after(() => rmSync(place, { recursive: true }));

let count = 0;

/** Runs `code` as a module that gets `given` as its constants; gives its default export. */
async function execute(code, given) {
  const path = join(place, `${++count}.mjs`);
  globalThis.given = given;
  const names = Object.keys(given).join(', ');
  writeFileSync(path, `const { ${names} } = globalThis.given;\n${code}`);
  return (await import(path)).default;
}

const models = {
  'ai-sdk': (script) => ({ model: aiSdk(script) }),
  langchain: (script) => ({ model: new Scripted(script) }),
  'openai-agents': (script) => ({ model: openaiAgents(script) }),
  mastra: (script) => ({ model: mastra(script) }),
  anthropic: (script) => ({ client: anthropic(script) }),
  'openai chat': (script) => ({ client: chat(script) }),
  'openai responses': (script) => ({ client: responses(script) }),
};

const script = () => turns([call('echo', { text: 'a word' })], 'done');

function assertCalled({ seen }) {
  assert.equal(seen.length, 2);
  assert.match(seen[1].results[0].text, /a word/);
}

const guide = readFileSync(join(root, 'docs/adapters.md'), 'utf8');
const blocks = [...guide.matchAll(/^```js\n\/\/ run: (.*)\n([\s\S]*?)^```$/gm)];
for (const framework of Object.keys(models)) {
  assert.ok(
    blocks.some(([, name]) => name === framework),
    `docs/adapters.md has nothing to run for ${framework}`,
  );
}

for (const [index, [, framework, code]] of blocks.entries()) {
  test(`block ${index + 1} of docs/adapters.md runs: ${framework}`, async (t) => {
    const { manager } = await world(t);
    t.mock.method(console, 'log', () => {});
    const said = script();
    await execute(code, { manager, MODEL: 'a-model', ...models[framework](said) });
    assertCalled(said);
  });
}

test('the limits in docs/adapters.md are those of the table', () => {
  const columns = {
    image: 'Images',
    error: 'Failures',
    'unknown tool': 'Unknown tool',
    'list change': 'Changed list',
  };
  const failures = ['error with image', 'kill within a call', 'refused'];
  const [first] = Object.values(table);
  const expected = Object.entries(table).map(([loop, row]) => {
    for (const [name, outcome] of Object.entries(row)) {
      if (failures.includes(name)) assert.equal(outcome, row.error, `${loop}: ${name}`);
      else if (!(name in columns)) assert.equal(outcome, first[name], `${loop}: ${name} needs a column`);
    }
    const cells = Object.keys(columns).map((name) => row[name]);
    return `| ${loop.replace(/(\S+) (\S+)/, '`$1` `$2`')} | ${cells.join(' | ')} |`;
  });
  const head = `| Loop | ${Object.values(columns).join(' | ')} |\n|---|---|---|---|---|\n`;
  assert.ok(guide.includes(`${head}${expected.join('\n')}\n\n`), expected.join('\n'));
});

/** How the one line of the table is driven to its end, and what of the framework it uses. */
const lines = {
  'ai-sdk': {
    uses: "import { generateText, stepCountIs } from 'ai'; const [prompt, stopWhen] = ['go', stepCountIs(5)];",
    drive: (line) => `await ${line}`,
  },
  langchain: {
    uses: "import { createAgent } from 'langchain';",
    drive: (line) => `await ${line}.invoke({ messages: [{ role: 'user', content: 'go' }] })`,
  },
  'openai-agents': {
    uses: "import { Agent, run } from '@openai/agents'; const name = 'agent';",
    drive: (line) => `await run(${line}, 'go')`,
  },
  mastra: {
    uses: "import { Agent } from '@mastra/core/agent'; const [id, name, instructions] = ['a', 'a', 'go'];",
    drive: (line) => `await (${line}).generate('go')`,
  },
  anthropic: {
    uses: "const [model, max_tokens, messages] = ['claude', 100, [{ role: 'user', content: 'go' }]];",
    drive: (line) => `await ${line}`,
  },
  openai: {
    uses: "const [model, messages] = ['gpt', [{ role: 'user', content: 'go' }]];",
    drive: (line) => `await ${line}.finalContent()`,
    model: 'openai chat',
  },
};

const rows = [...guide.matchAll(/^\|[^|]+\| `(import .* from 'mcpool\/adapters\/(.*)')` \| `(.*)` \|$/gm)];
const named = rows.map(([, , name]) => name);
assert.deepEqual(named.toSorted(), Object.keys(lines).sort(), 'the table of docs/adapters.md');

for (const [, statement, name, line] of rows) {
  test(`the line of ${name} in the table works`, async (t) => {
    const { manager } = await world(t);
    const said = script();
    const { uses, drive, model = name } = lines[name];
    await execute(`${statement};\n${uses}\n${drive(line)};`, { m: manager, ...models[model](said) });
    assertCalled(said);
  });
}
