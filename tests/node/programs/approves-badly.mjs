// A callback that throws: the log says where.
import { Manager } from 'mcpool';

const [fixture] = process.argv.slice(2);
const onApproval = () => {
  throw new Error('no idea');
};
const mcpServers = { a: { command: fixture, args: ['stdio'] } };
const manager = new Manager({ mcpServers }, { cacheDir: false, onApproval });
await manager.connectAll();
await manager.callTool('a', 'count').catch((error) => console.log(error.code));
await manager.close();
