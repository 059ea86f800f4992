// What the suites share: the fixture server, managers that are always closed, bounded waits.
// Nothing here touches the user's own cache or keychain, nor do the programs that are started from here.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Manager, Pool } from 'mcpool';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const fixture = process.env.MCPOOL_FIXTURE ?? join(root, 'target/debug/mcpool-fixture');
if (!existsSync(fixture)) throw new Error(`${fixture} is missing: run "make fixture"`);

process.env.MCPOOL_CACHE_DIR = mkdtempSync(join(tmpdir(), 'mcpool-cache-'));
process.env.MCPOOL_KEYCHAIN = 'off';
process.once('exit', () => rmSync(process.env.MCPOOL_CACHE_DIR, { recursive: true, force: true }));

/** A fixture over stdio with these knobs. */
export const server = (...knobs) => ({ command: fixture, args: ['stdio', ...knobs] });

/**
 * A manager of these servers, closed when the test ends; on a pool of its own unless one is given. It keeps no lists: one
 * of another test would stand in for a server that is late.
 */
export function manage(test, mcpServers, options) {
  const manager = new Manager({ mcpServers }, { pool: new Pool(), cacheDir: false, ...options });
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
  test.after(() => removeTree(path));
  return path;
}

/** Who is not gone yet may still write to it: what came meanwhile is removed too. */
async function removeTree(path) {
  for (let left = 50; ; left--) {
    try {
      return rmSync(path, { recursive: true, force: true });
    } catch (error) {
      if (error.code !== 'ENOTEMPTY' || left === 0) throw error;
      await sleep(20);
    }
  }
}

/** What a fixture has written to its journal. */
export function journal(path) {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.filter(Boolean).map((line) => JSON.parse(line));
}

/** The processes that a journal tells of, in the order of their starts. */
export const started = (path) => journal(path).flatMap(({ event, pid }) => (event === 'start' ? [pid] : []));

export const program = (name) => new URL(`programs/${name}`, import.meta.url);

/** Runs a program with a fixture; gives its last line, and the fixtures' processes. */
export async function run(test, name, ...words) {
  const path = join(directory(test), 'journal');
  const given = ['--expose-gc', program(name).pathname, fixture, path, ...words];
  const { stdout } = await promisify(execFile)(process.execPath, given, { timeout: 30_000 });
  return { said: stdout.trim().split('\n').at(-1), pids: started(path) };
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
  const end = Date.now() + 60_000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`never happened: ${what}`);
    await sleep(5);
  }
}
