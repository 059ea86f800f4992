// Owns turning a manager's config and options into what the addon takes.
import { NativeOptions } from '../native.js';
import type { DiscoverManagerOptions } from './options.js';
import { nativeOf, Pool } from './pool.js';
import type { ProductConfig } from './product-config.js';
import { callbacksOf } from './questions.js';
import type { Config } from './server-config.js';
import { write, writeOptions } from './shape.js';

/** The options for the native side: the pool and the functions that are called are separate from the JSON. */
export function nativeOptions(options: DiscoverManagerOptions): NativeOptions {
  const { naming, pool } = options ?? {};
  const nativePool = pool instanceof Pool ? nativeOf(pool) : undefined;
  const namer = typeof naming === 'function' ? nullOnError(naming) : undefined;
  const asked = Object.entries(callbacksOf(options ?? {})).filter(
    ([, callback]) => typeof callback === 'function',
  );
  const separate = {
    ...(nativePool && { pool: undefined }),
    ...(namer && { naming: undefined }),
    ...Object.fromEntries(asked.map(([name]) => [name, undefined])),
  };
  const isAllJson = Object.keys(separate).length === 0;
  // The core refuses what is not an object.
  const json = writeOptions(isAllJson ? options : { ...options, ...separate });
  const kind = (name: string) => name.replace(/^on/, '').toLowerCase();
  const asks = asked.map(([name]) => (name === 'loginStore' ? 'login_store' : kind(name)));
  return new NativeOptions(json, namer, nativePool, asks);
}

/** The JSON of a config, or the text that was given in its place. */
export const configText = (config: Config | ProductConfig | string) =>
  typeof config === 'string' ? config : write('config', config);

/** A failing naming function must not lose the tool: it then returns no name. */
function nullOnError(naming: (server: string, tool: string) => string) {
  return (server: string, tool: string): string | null => {
    try {
      const name: unknown = naming(server, tool);
      return typeof name === 'string' ? name : null;
    } catch {
      return null;
    }
  };
}
