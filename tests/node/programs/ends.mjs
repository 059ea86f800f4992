// Ends while something of ours goes on behind, in the way that it is told.
import { statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Manager, Pool } from 'mcpool';

const [fixture, path, how] = process.argv.slice(2);
const server = (...knobs) => ({ command: fixture, args: ['stdio', '--journal', path, ...knobs] });
const state = (manager) => manager.status()[0].state;
const doings = {
  async watching() {
    const file = `${path}.json`;
    writeFileSync(file, JSON.stringify({ mcpServers: { a: server() } }));
    const manager = Manager.fromFile(file, { watch: true });
    await manager.connectAll();
  },
  async waiting() {
    // The second attempt is due at once, the third never comes.
    const pool = new Pool({ clock: 'manual' });
    const manager = new Manager({ mcpServers: { a: server('--exit-at', 'initialize') } }, { pool });
    await manager.connectAll();
    if (state(manager) !== 'reconnecting') throw new Error(state(manager));
  },
  async attempting() {
    const knobs = ['--hang', 'initialize', '--ignore-eof', '--ignore-term'];
    const manager = new Manager({ mcpServers: { a: { ...server(...knobs), timeout: 100 } } });
    await manager.connectAll();
    while (!statSync(path, { throwIfNoEntry: false })?.size) await sleep(5);
    if (state(manager) !== 'reconnecting') throw new Error(state(manager));
  },
  async kept() {
    const manager = new Manager(
      { mcpServers: { a: server() } },
      { pool: new Pool({ keepAliveMs: 'always' }) },
    );
    await manager.connectAll();
    const [{ pid }] = manager.status();
    await manager.close();
    process.kill(pid, 0);
  },
};
process.once('exit', (code) => console.log(code === 0 ? `${how} done` : `${how} failed`));
await doings[how]();
