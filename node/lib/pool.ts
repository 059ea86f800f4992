// Owns the pool for JavaScript.
import { NativePool } from '../native.js';
import { restoring } from './errors.js';
import type { PoolOptions } from './options.js';
import { writeOptions } from './shape.js';

/** The native side of a pool. */
export let nativeOf: (pool: Pool) => NativePool;

/**
 * The connections that managers share. The process has one pool, which all managers in all threads use unless they get
 * another one; a pool made here is separate.
 */
export class Pool {
  readonly #native: NativePool;

  static {
    nativeOf = (pool) => pool.#native;
  }

  constructor(options: PoolOptions = {}) {
    this.#native = restoring(() => new NativePool(writeOptions(options)));
  }

  /** Advances a manual clock and runs what is due by then. Has no effect on the system clock. */
  advanceMs(ms: number): void {
    restoring(() => this.#native.advanceMs(typeof ms === 'number' ? ms : Number.NaN));
  }
}
