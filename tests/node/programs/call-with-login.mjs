// Calls a server with the login that is stored below a home directory.
import { Manager } from 'mcpool';

const [url, home] = process.argv.slice(2);
const manager = new Manager({ mcpServers: { a: { url } } }, { cacheDir: false, hostEnv: { env: {}, home } });
await manager.connectAll();
await manager.callTool('a', 'echo', { text: 'hi' });
await manager.close();
