// Loads the package twice in one thread, as tools that reload modules do; the first copy keeps working.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [fixture, path] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const first = require('mcpool');
for (const name of Object.keys(require.cache)) delete require.cache[name];
require('mcpool');

const nameOf = (verb) => {
  try {
    verb();
  } catch (error) {
    return error instanceof first.McpoolError ? error.name : error;
  }
};
const mcpServers = { a: { command: fixture, args: ['stdio'] } };
const file = `${path}.json`;
writeFileSync(file, JSON.stringify({ mcpServers }));
const opened = first.Manager.fromFile(file, { cacheDir: false, pool: new first.Pool() });
const child = opened.child();
await child.connectAll();
const { text } = await child.callTool('a', 'echo', { text: 'hello' });
const hostEnv = { env: {}, home: `${path}.home` };
const found = await first.Manager.discover({ hostEnv, projectConfig: false });
const servers = found.status().length;
for (const manager of [opened, child, found]) await manager.close();
const refused = nameOf(() => new first.Manager({ mcpServers: {} }, { gate: 1 }));
console.log(JSON.stringify({ refused, text, servers }));
