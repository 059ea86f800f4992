// What the suites share. The fixture's side is that of `tests/node`; the package is the one beside the frameworks.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Manager, Pool } from 'mcpool';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const fixture = process.env.MCPOOL_FIXTURE ?? join(root, 'target/debug/mcpool-fixture');
if (!existsSync(fixture)) throw new Error(`${fixture} is missing: run "make fixture"`);

/** A fixture over stdio with these knobs. */
export const server = (...knobs) => ({ command: fixture, args: ['stdio', ...knobs] });

/** A manager of these servers, closed when the test ends, on a pool of its own, which keeps no lists. */
export function manage(test, mcpServers, options) {
  const manager = new Manager({ mcpServers }, { pool: new Pool(), cacheDir: false, ...options });
  test.after(() => manager.close());
  return manager;
}

/** A directory that goes with the test. */
export function directory(test) {
  const path = mkdtempSync(join(tmpdir(), 'mcpool-'));
  // Who is not gone yet may still write to it.
  test.after(() => rmSync(path, { recursive: true, maxRetries: 10 }));
  return path;
}

/** What a fixture has written to its journal. */
export function journal(path) {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.filter(Boolean).map((line) => JSON.parse(line));
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

/** Media type and data of a `data:` URL. */
export function imageOf(url) {
  const [, mimeType, data] = url.match(/^data:([^;]+);base64,(.*)$/s);
  return { data, mimeType };
}

/** A call of a tool of the server `a`. */
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
export async function world(t, { knobs = [], ...options } = {}) {
  const path = join(directory(t), 'journal');
  const mcpServers = {
    a: { ...server('--journal', path, ...knobs), restart: { delays: [1], forever: true } },
  };
  const manager = manage(t, mcpServers, options);
  const report = await manager.connectAll();
  if (report.failed.a) throw report.failed.a;
  return { manager, mcpServers, happened: (event) => journal(path).filter((entry) => entry.event === event) };
}
