// How this interpreter starts mcpool's command line in another process.
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The program and its first argument; empty if this program is no plain interpreter. */
export function relaunchWords(): string[] {
  const { electron, bun, deno } = process.versions;
  const isNode = /^node(js)?[\d.-]*$/.test(basename(process.execPath));
  // A bundler may have put this code elsewhere.
  const script = join(__dirname, '..', 'bin', 'mcpool.js');
  const isPlain = isNode && !electron && !bun && !deno && existsSync(script);
  return isPlain ? [process.execPath, script] : [];
}
