// What the suites share: the fixture server, managers that are always closed, bounded waits.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Manager } from 'mcpool';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const fixture = process.env.MCPOOL_FIXTURE ?? join(root, 'target/debug/mcpool-fixture');
if (!existsSync(fixture)) throw new Error(`${fixture} is missing: run "cargo build -p mcpool-fixture"`);

/** A fixture over stdio with these knobs. */
export const server = (...knobs) => ({ command: fixture, args: ['stdio', ...knobs] });

/** A manager of these servers, closed when the test ends. */
export function manage(test, mcpServers, options) {
  const manager = new Manager({ mcpServers }, options);
  test.after(() => manager.close());
  return manager;
}

/** A manager with one connected fixture named `a`. */
export async function connected(test, ...knobs) {
  const manager = manage(test, { a: server(...knobs) });
  const report = await manager.connectAll();
  if (report.failed.a) throw report.failed.a;
  return manager;
}

/** A directory that goes with the test. */
export function directory(test) {
  const path = mkdtempSync(join(tmpdir(), 'mcpool-'));
  test.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** What a fixture has written to its journal. */
export function journal(path) {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.filter(Boolean).map((line) => JSON.parse(line));
}

export function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until `condition` gives something, and not for ever. */
export async function until(condition, what) {
  const end = Date.now() + 10_000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`never happened: ${what}`);
    await sleep(5);
  }
}
