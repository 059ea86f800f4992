// One shot: what requiring a contestant costs, over the interpreter as it stands. Its parts are those that a
// program needs for stdio and HTTP, which mcpool gives in one module.
import { readFileSync } from 'node:fs';
import { mcpool, peers } from './harness.mjs';

const requires = {
  mcpool,
  sdk: () => {
    peers('@modelcontextprotocol/sdk/client/index.js');
    peers('@modelcontextprotocol/sdk/client/stdio.js');
    peers('@modelcontextprotocol/sdk/client/streamableHttp.js');
  },
  client: () => {
    peers('@modelcontextprotocol/client');
    peers('@modelcontextprotocol/client/stdio');
  },
};
const load = requires[process.argv[2]];
const rssKb = () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'ascii'))[1]);

const rss = rssKb();
const cpu = process.cpuUsage();
load();
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ cpu_s: (user + system) / 1e6, rss_kb: rssKb() - rss }));
