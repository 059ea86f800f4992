// Owns trust in a project's definitions: the store, and the callback.

import { bridge, runVerb } from './bridge.js';
import type { HostEnv } from './host-env.js';
import { pathOf, writeOptions } from './shape.js';
import type { Source } from './status.js';

/** What a project's file says and what comes with it, whole: what is trusted is what `fingerprint` is made of. */
export interface TrustQuestion {
  /** The server; empty for the file's lists of servers that are on or off. */
  server: string;
  /** The file that declares it. */
  path: string;
  fingerprint: string;
  /** As the project wrote it, unmasked: it is what would be run or reached. */
  definition: Record<string, unknown>;
  /** Files that become part of what is run; without a text when they cannot be read, hold a private key, or are outside. */
  files: { path: string; text: string | null; size: number | null; outside: boolean }[];
  /** Servers of the user that it would replace or disable. */
  replaces: { server: string; source: Source }[];
  /** Whether the user trusts it already. */
  trusted: boolean;
}

/** A definition that the user trusts. */
export interface Trusted {
  /** The file that declares it. */
  path: string;
  server: string;
  fingerprint: string;
}

/**
 * Who decides what a project's definitions may do: the store that `trust` fills (`strict`: about every server, whatever
 * its transport), nobody (`all` is trusted, or `none`), or a function that is asked about what the store does not know.
 * One that fails trusts nothing.
 */
export type Trust =
  | 'stored'
  | 'strict'
  | 'all'
  | 'none'
  | ((question: TrustQuestion) => boolean | Promise<boolean>);

/** Options besides the file. */
export interface TrustOptions {
  /** Only these servers; all of the file when left out. */
  servers?: readonly string[] | undefined;
  hostEnv?: HostEnv | undefined;
}

/**
 * Trusts what a project's config file declares now; returns what is trusted. If the definition or one of its files
 * changes afterwards, it is not trusted any more.
 */
export function trust(path: string | URL, options: TrustOptions = {}): Promise<Trusted[]> {
  return requestTrust('trust', { ...options, path });
}

/** Revokes the trust in a file's definitions; returns what was trusted. */
export function untrust(path: string | URL, options: TrustOptions = {}): Promise<Trusted[]> {
  return requestTrust('untrust', { ...options, path });
}

/** Everything that the user trusts. */
export function trusted(options: { hostEnv?: HostEnv | undefined } = {}): Promise<Trusted[]> {
  return requestTrust('trusted', options);
}

/** Unknown options are passed on, so that the core refuses them. */
function requestTrust(verb: string, request: TrustOptions & { path?: string | URL }): Promise<Trusted[]> {
  const start = (key: number) => {
    const path = 'path' in request ? { path: pathOf('path of the config file', request.path as string) } : {};
    const json = writeOptions({ ...request, ...path });
    bridge().trust(key, verb, json);
  };
  return runVerb(start, JSON.parse);
}
