// Works with servers that get lost or into trouble: the measuring, the same for every contestant.
//
// For trouble a contestant gives `connectAll(servers, timeoutMs)`, in the way that its library has for many servers;
// it resolves to the names of the servers whose tools can be used: { live: [...], deferred: [...] }, with a `close` where
// a later session depends on how this one ends.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const IDLE_MS = 100;
const AGAIN_MS = 5;

/** Our own child processes that run this command. */
function children(command) {
  const runsIt = (pid) => {
    try {
      const [, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
      const [program] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return Number(parent) === process.pid && program === command;
    } catch {
      return false; // it has ended
    }
  };
  return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && runsIt(entry)).map(Number);
}

/** What the promise gives, or undefined if it takes longer. */
async function within(ms, promise) {
  const over = new AbortController();
  try {
    return await Promise.race([promise, sleep(ms, undefined, { signal: over.signal })]);
  } finally {
    over.abort();
  }
}

/** The time of a connect with its list; then from the server's death to the next call that goes well. */
export async function recover(openServers, { server, patience_s: patience }) {
  const text = 'x'.repeat(100);
  const begin = performance.now();
  const pool = await openServers([server]);
  const answer = { start_s: (performance.now() - begin) / 1e3, recovery_s: null, why: '' };
  await sleep(IDLE_MS);
  const [pid] = children(server.command);
  const killed = performance.now();
  process.kill(pid, 'SIGKILL');
  for (let left; answer.recovery_s === null && (left = killed + patience * 1e3 - performance.now()) > 0; ) {
    try {
      const result = await within(left, pool.calls[0]('echo', { text }));
      if (result && pool.text(result) === text) answer.recovery_s = (performance.now() - killed) / 1e3;
      else answer.why = result ? 'another answer' : 'no answer';
    } catch (error) {
      answer.why = String(error);
    }
    if (answer.recovery_s === null) await sleep(AGAIN_MS);
  }
  await pool.close();
  return answer;
}

/**
 * How long the caller waits for many servers, some of which are in trouble, and what it then has. The process ends with
 * this.
 */
export async function trouble(connectAll, { servers, timeout_ms: timeoutMs, bound_s: bound }) {
  const begin = performance.now();
  const wall = () => (performance.now() - begin) / 1e3;
  const nothing = { live: [], deferred: [] };
  try {
    const gathered = await within(bound * 1e3, connectAll(servers, timeoutMs ?? undefined));
    const answer = { word: gathered ? '' : 'hangs', wall_s: wall(), ...nothing, ...gathered };
    await gathered?.close?.();
    return answer;
  } catch {
    return { word: 'raises', wall_s: wall(), ...nothing };
  }
}
