// Runs every file of `tests/scenarios`.
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { run } from './scenario.mjs';
import { alive, directory, journal, root, until } from './support.mjs';

const folder = join(root, 'tests/scenarios');
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
if (files.length === 0) throw new Error('there are no scenarios');

describe('scenarios', { concurrency: 4 }, () => {
  for (const file of files.sort()) {
    test(basename(file, '.json'), { timeout: 120_000 }, async (t) => {
      const dir = directory(t);
      await run(join(folder, file), dir);
      for (const name of readdirSync(dir).filter((name) => name.endsWith('.jsonl'))) {
        for (const { pid } of journal(join(dir, name))) {
          if (pid) await until(() => !alive(pid), `the end of process ${pid} of ${name}`);
        }
      }
    });
  }
});
