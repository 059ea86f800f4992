// Owns the pool that JavaScript sees.
import { NativePool } from '../native.js';
import { restoring } from './errors.js';
import { writeOptions } from './shape.js';

/** Options of a pool; the defaults are good. */
export interface PoolOptions {
  /**
   * How long a connection that no manager holds any more stays up, in milliseconds; a server's own `keepAlive` wins.
   * Not at all by default.
   */
  keepAlive?: number | 'always' | undefined;
  /** The time that supervision goes by. A `manual` clock is for tests of agents: it stands still until `advance`. */
  clock?: 'system' | 'manual' | undefined;
}

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
    this.#native = restoring(() => new NativePool(writeOptions(options)));
  }

  /** Moves a manual clock on; what is due by then happens. The system's clock does not listen. */
  advance(ms: number): void {
    restoring(() => this.#native.advance(Number(ms)));
  }
}
