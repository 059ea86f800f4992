// Owns what servers are told about their client.
import { setClientInfo as setNative } from '../native.js';
import { restoring } from './errors.js';
import { write } from './shape.js';

/** Name and version of the program that servers see as their client, and a title for people. */
export interface ClientInfo {
  name: string;
  version: string;
  title?: string | undefined;
}

/**
 * Sets what servers are told about their client, for all pools without client info of their own; `null` is mcpool's own
 * name. A connection that is up keeps what it was opened with; its next attempt uses this.
 */
export function setClientInfo(info: ClientInfo | null): void {
  restoring(() => setNative(info === null ? null : write('client info', info)));
}
