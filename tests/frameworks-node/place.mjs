// Puts the package as it would be installed beside the frameworks: a link would look for them beside its target.
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Copies what the package ships, and the addon, into `modules`. */
export function place(modules) {
  if (!existsSync(join(root, 'node/mcpool.node'))) throw new Error('there is no addon: run "make node"');
  const home = join(modules, 'mcpool');
  rmSync(home, { recursive: true, force: true });
  mkdirSync(join(home, 'node'), { recursive: true });
  cpSync(join(root, 'package.json'), join(home, 'package.json'));
  for (const name of ['dist', 'native.js', 'native.d.ts', 'mcpool.node']) {
    cpSync(join(root, 'node', name), join(home, 'node', name), { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const modules of ['node_modules', 'lowest/node_modules'])
    place(fileURLToPath(new URL(modules, import.meta.url)));
}
