// Runs every file of `tests/scenarios`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { run } from './scenario.mjs';
import { variants } from './scenario-steps.mjs';
import { alive, directory, journal, root, until } from './support.mjs';

const folder = join(root, 'tests/scenarios');
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
if (files.length === 0) throw new Error('there are no scenarios');

describe('scenarios', { concurrency: 4 }, () => {
  const runs = files.sort().flatMap((file) => {
    const scenario = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    return variants(scenario).map((variant) => ({ file, variant }));
  });
  for (const { file, variant } of runs) {
    const name = basename(file, '.json') + (variant ? `[${variant}]` : '');
    test(name, { timeout: 120_000 }, async (t) => {
      const dir = directory(t);
      await run(join(folder, file), dir, variant);
      for (const name of readdirSync(dir).filter((name) => name.endsWith('.jsonl'))) {
        for (const { pid } of journal(join(dir, name))) {
          if (pid) await until(() => !alive(pid), `the end of process ${pid} of ${name}`);
        }
      }
    });
  }
});

test('a fixture runs over the transport that it names', async (t) => {
  const dir = directory(t);
  const verbs = ['end_fixture', 'start_fixture', 'end_fixture'];
  // Written in two parts: it only looks like a part of a template.
  const definition = (name) => '$'.concat(`{${name}:server}`);
  const ended = ['plain', 'http', 'sse', 'websocket'];
  const scenario = {
    about: 'x',
    spec: [],
    fixtures: { plain: [], stdio: ['stdio'], http: ['http'], sse: ['sse'], websocket: ['websocket'] },
    config: { mcpServers: { a: definition('stdio'), b: definition('http') } },
    steps: [
      { do: 'connect_all', expect: { connected: ['a', 'b'] } },
      ...ended.flatMap((fixture) => verbs.map((verb) => ({ do: verb, fixture }))),
    ],
  };
  writeFileSync(join(dir, 'fixtures.json'), JSON.stringify(scenario));
  await run(join(dir, 'fixtures.json'), dir);
});
