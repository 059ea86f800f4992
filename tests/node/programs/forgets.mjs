// Ends without closing its manager, in the way that it is told.
import { createRequire } from 'node:module';

const [fixture, path, how] = process.argv.slice(2);
const require = createRequire(import.meta.url);
if (how === 'wake-thread') {
  const native = require('../../../node/native.js');
  const { Bridge } = native;
  // As in a runtime without libuv.
  native.Bridge = class extends Bridge {
    constructor(deliver) {
      super(deliver, false);
    }
  };
}
const { Manager } = require('mcpool');

const manager = new Manager({ mcpServers: { a: { command: fixture, args: ['stdio', '--journal', path] } } });
process.once('exit', () => console.log(`${how} done`));
const echo = async (text) => {
  const result = await manager.callTool('a', 'echo', { text });
  if (result.text !== text) throw new Error(`${result.text} is not ${text}`);
};
const doings = {
  async connected() {
    await manager.connectAll();
  },
  async calling() {
    await manager.connectAll();
    // Awaited by nobody, but a call holds the process until it has its answer.
    void echo('x').then(() => echo('y'));
  },
  async listening() {
    const states = [];
    manager.on('status', ({ state }) => states.push(state));
    await manager.connectAll();
    await echo('x');
    if (states.length === 0) throw new Error('nothing was heard');
  },
  unused() {},
  async thrown() {
    await manager.connectAll();
    const caught = new Promise((resolve) => process.once('uncaughtException', resolve));
    const onProgress = () => {
      throw new Error('by a listener');
    };
    await manager.callTool('a', 'progress', { steps: 1, ms: 0 }, { onProgress });
    if ((await caught).message !== 'by a listener') throw new Error('another error');
    await echo('x');
  },
  async exit() {
    await manager.connectAll();
    for (let i = 0; i < 100; i++) void manager.callTool('a', 'sleep', { ms: 60_000 });
    process.exit();
  },
  async 'wake-thread'() {
    await manager.connectAll();
    for (let i = 0; i < 100; i++) await echo(`${i}`);
    await Promise.all(Array.from({ length: 300 }, (_, i) => echo(`${i}`)));
  },
};
await doings[how]();
