// A home, a project and an environment of a test's own.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Pool } from 'mcpool';
import { directory } from './support.mjs';

/** What discovery, trust and editing see in place of this machine. */
export class UserHome {
  constructor(test) {
    const root = directory(test);
    this.home = join(root, 'home');
    this.project = join(root, 'project');
    for (const folder of [this.home, this.project]) mkdirSync(folder);
    this.hostEnv = { env: { PATH: process.env.PATH, HOME: this.home }, home: this.home };
  }

  /** The user's servers, in a product's file. */
  user(mcpServers) {
    return write(join(this.home, '.cursor/mcp.json'), { mcpServers });
  }

  /** The project's servers. */
  ofProject(mcpServers) {
    return write(join(this.project, '.mcp.json'), { mcpServers });
  }

  /** Where to look. */
  get where() {
    return { cwd: this.project, hostEnv: this.hostEnv };
  }

  /** For a manager that is made by discovery, on a pool of its own. */
  get options() {
    return { ...this.where, pool: new Pool(), cacheDir: false };
  }
}

function write(file, document) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(document));
  return file;
}
