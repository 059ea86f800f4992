// Drops managers and waits until their servers have ended; needs the collector in hand.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Manager } from 'mcpool';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const [fixture, path] = process.argv.slice(2);

async function use() {
  const manager = new Manager({
    mcpServers: { a: { command: fixture, args: ['stdio', '--journal', path] } },
  });
  manager.on('status', () => {});
  await manager.connectAll();
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
const end = Date.now() + 10_000;
while (alive(pid) && Date.now() < end) {
  collect();
  await new Promise((resolve) => setTimeout(resolve, 10));
}
console.log(alive(pid) ? 'still there' : 'gone');
