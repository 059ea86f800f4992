// One shot: what it costs to find the servers of the home named on the command line; the import is not counted.
import { join } from 'node:path';
import { mcpool } from './harness.mjs';

const { discover } = mcpool();
const home = process.argv[2];
const cwd = join(home, 'project');
const hostEnv = { env: { PATH: process.env.PATH, HOME: home }, home };

const began = performance.now();
const cpu = process.cpuUsage();
const found = await discover({ cwd, hostEnv });
const { user, system } = process.cpuUsage(cpu);
const wall = performance.now() - began;
const servers = Object.keys(found.servers).length;
console.log(JSON.stringify({ cpu_s: (user + system) / 1e6, wall_s: wall / 1e3, servers, files: found.files.length }));
