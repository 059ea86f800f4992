// The Node side of the line protocol: reads a work from stdin, does it, answers with one line.
//
// Owns the measuring (clocks, latencies, memory) and nothing about any client. A contestant gives
// `openServers(servers)`, which connects to and lists all servers at once and resolves to a pool:
//   calls: [(tool, args) => Promise<result>]   one per server
//   text(result)  tools()  name(tool)  schema(tool)  close()
//   forModel(result)                           where there is such a thing
// For servers in trouble it also gives `connectAll`, see `life.mjs`. Everything that is timed runs the same code for
// every contestant.
import { Console } from 'node:console';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { recover, trouble } from './life.mjs';

const bench = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** `require` as seen from where the peers are installed. */
export const peers = createRequire(join(bench, '.peers', 'package.json'));

/** `import` of a file from there, for a package that cannot be required. */
export const peerModule = (path) => import(pathToFileURL(join(bench, '.peers', 'node_modules', path)).href);

/** mcpool as built in this repository. */
export const mcpool = () => peers(process.env.BENCH_MCPOOL_NODE ?? join(bench, '..'));

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** Resident memory now and at its peak since the last reset, in kB. */
function memory() {
  const status = readFileSync('/proc/self/status', 'ascii');
  const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)[1]);
  return { rss: field('VmRSS'), peak: field('VmHWM') };
}

/** `count` calls, `concurrency` of them in flight; every result's text is looked at. */
async function burst(pool, tool, args, size, { count, concurrency = 1 }) {
  const call = pool.calls[0];
  const took = new Float64Array(count);
  let begun = 0;
  let ended = 0;

  async function lane() {
    while (begun < count) {
      begun += 1;
      const begin = performance.now();
      const result = await call(tool, args);
      if (pool.text(result).length !== size) throw new Error('the answer has the wrong length');
      took[ended++] = performance.now() - begin;
    }
  }

  writeFileSync('/proc/self/clear_refs', '5');
  const before = memory().rss;
  const cpu = cpuSeconds();
  const wall = performance.now();
  await Promise.all(Array.from({ length: concurrency }, lane));
  const wallSeconds = (performance.now() - wall) / 1e3;
  const cpuUsed = cpuSeconds() - cpu;
  const { rss, peak } = memory();
  took.sort();
  return {
    wall_s: wallSeconds,
    cpu_s: cpuUsed,
    p50_us: took[count >> 1] * 1e3,
    p99_us: took[Math.min(count - 1, Math.floor(count * 0.99))] * 1e3,
    before_kb: before,
    rss_kb: rss,
    peak_kb: peak,
  };
}

/** Medians of what a large result's text costs, and of the same made fit for a model. */
async function showing(pool, { bytes, count }) {
  const plain = [];
  const shown = [];
  for (let time = 0; time < count; time++) {
    const result = await pool.calls[0]('big', { bytes, shape: 'text' });
    const begin = performance.now();
    const { text } = result;
    const middle = performance.now();
    const forModel = pool.forModel(result);
    shown.push(performance.now() - middle);
    plain.push(middle - begin);
    if (text.length !== bytes || forModel.length <= bytes) throw new Error('the text has the wrong length');
  }
  const median = (times) => times.sort((a, b) => a - b)[count >> 1];
  return { text_ms: median(plain), for_model_ms: median(shown) };
}

/** CPU of a connect with its list, the tools touched; the closing is not counted. */
async function listing(openServers, { server, count, touch }) {
  const costs = [];
  let seen = 0;
  let tools = 0;
  for (let i = 0; i < count; i++) {
    const cpu = cpuSeconds();
    const pool = await openServers([server]);
    for (const tool of pool.tools()) {
      seen += pool.name(tool).length;
      if (touch === 'schemas') seen += Object.keys(pool.schema(tool)).length;
    }
    costs.push(cpuSeconds() - cpu);
    tools = pool.tools().length;
    await pool.close();
  }
  costs.sort((a, b) => a - b);
  return { cpu_s: costs[count >> 1], tools, seen };
}

/** Connect and list many servers at once; with `idle_s` also what they cost while nothing happens. */
async function gathering(openServers, { server, count, idle_s: idle }) {
  const before = memory().rss;
  const cpu = cpuSeconds();
  const wall = performance.now();
  const pool = await openServers(Array.from({ length: count }, () => server));
  const answer = { wall_s: (performance.now() - wall) / 1e3, cpu_s: cpuSeconds() - cpu, before_kb: before };
  if (idle) {
    await sleep(500);
    answer.unread_kb = memory().rss;
  }
  answer.tools = pool.tools().length;
  if (idle) {
    answer.rss_kb = memory().rss;
    const start = cpuSeconds();
    await sleep(idle * 1e3);
    answer.idle_cpu_s = cpuSeconds() - start;
  }
  const close = performance.now();
  await pool.close();
  answer.close_s = (performance.now() - close) / 1e3;
  return answer;
}

function perform(openServers, connectAll, pool, work) {
  if (work.work === 'echo') return burst(pool, 'echo', { text: 'x'.repeat(100) }, 100, work);
  if (work.work === 'big') {
    return burst(pool, 'big', { bytes: work.bytes, shape: 'text' }, work.bytes, work);
  }
  if (work.work === 'for_model') return showing(pool, work);
  if (work.work === 'list') return listing(openServers, work);
  if (work.work === 'recover') return recover(openServers, work);
  if (work.work === 'trouble') return trouble(connectAll, work);
  return gathering(openServers, work);
}

export async function main(openServers, connectAll) {
  globalThis.console = new Console(process.stderr); // stdout is the line protocol's, whatever a client logs
  const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
  const server = JSON.parse(process.argv[2]);
  const pool = server && (await openServers([server]));
  const lines = createInterface({ input: process.stdin });
  say({ ready: true, rss_kb: memory().rss });
  for await (const line of lines) {
    try {
      say(await perform(openServers, connectAll, pool, JSON.parse(line)));
    } catch (error) {
      say({ error: String(error) });
    }
  }
  await pool?.close();
}
