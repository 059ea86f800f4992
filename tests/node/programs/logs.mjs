// Connects a server that talks on stderr and by log messages and one that fails, then ends; prints nothing itself.
import { Manager } from 'mcpool';

const [fixture] = process.argv.slice(2);
const server = (...knobs) => ({ command: fixture, args: ['stdio', ...knobs], env: { TOKEN: 'hunter2' } });
const manager = new Manager({
  mcpServers: {
    a: server('--stderr', 'from a'),
    ill: { ...server('--exit-at', 'initialize:7'), restart: 'never' },
  },
});
const report = await manager.connectAll();
if (Object.keys(report.failed).join() !== 'ill') throw new Error(JSON.stringify(report));
await manager.callTool('a', 'log', { level: 'notice', text: 'hunter2-said \u001b[2J' });
await manager.close();
