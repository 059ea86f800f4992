// Forgets a manager and waits until its server has ended; needs the collector in hand.
import { writeFileSync } from 'node:fs';
import { Manager, Pool } from 'mcpool';

const [fixture, path, how] = process.argv.slice(2);
const config = { mcpServers: { a: { command: fixture, args: ['stdio', '--journal', path] } } };
const makes = {
  plain: () => new Manager(config),
  pooled: () => new Manager(config, { pool: new Pool({ keepAliveMs: 'always' }) }),
  named: () => new Manager(config, { naming: (server, tool) => `${tool}_of_${server}` }),
  child: () => new Manager(config).child(),
  watching() {
    writeFileSync(`${path}.json`, JSON.stringify(config));
    return Manager.fromFile(`${path}.json`, { watch: true });
  },
};

async function use() {
  const manager = makes[how]();
  manager.on('status', () => {});
  await manager.connectAll();
  manager.getTools();
  await manager.callTool('a', 'echo', { text: 'x' });
  return manager.status()[0].pid;
}

const alive = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const pid = await use();
const end = Date.now() + 20_000;
while (alive(pid) && Date.now() < end) {
  globalThis.gc();
  await new Promise((resolve) => setTimeout(resolve, 10));
}
console.log(alive(pid) ? 'still there' : 'gone');
