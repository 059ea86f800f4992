// Owns the pool that JavaScript sees.
import { NativePool } from '../native.js';
import { restoring } from './errors.js';
import type { PoolOptions } from './options.js';
import { withPaths, write } from './shape.js';

/** The native side of a pool. */
export let nativeOf: (pool: Pool) => NativePool;

/**
 * Where managers find the connections that they share. The process has one, which all managers in all threads use that
 * are given no other; a pool made here is an island of its own.
 */
export class Pool {
  readonly #native: NativePool;

  static {
    nativeOf = (pool) => pool.#native;
  }

  constructor(options: PoolOptions = {}) {
    this.#native = restoring(() => new NativePool(write('options', withPaths(options))));
  }

  /** Moves a manual clock on; what is due by then happens. The system's clock does not listen. */
  advanceMs(ms: number): void {
    restoring(() => this.#native.advanceMs(Number(ms)));
  }
}
