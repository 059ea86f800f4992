// Owns the result of discovery.

import { bridge, runVerb } from './bridge.js';
import { type McpoolError, restore, type SentError } from './errors.js';
import type { DiscoverOptions } from './options.js';
import { Secret } from './secret.js';
import { shape, writeOptions } from './shape.js';
import type { Source } from './status.js';

/** A discovered server. Either `config` and `enabled` are set, or `error`. */
export interface FoundServer {
  /** Its definition; possible secrets are masked with stars. */
  config?: Record<string, unknown>;
  /** What is wrong with it. */
  error?: McpoolError;
  enabled?: boolean;
  /** The source that is used. */
  source: Source;
  /** Sources of lower priority with the same name. */
  shadows: Source[];
  /** The definition of the remote server behind a bridge (`npx mcp-remote <url>`). */
  direct?: Record<string, unknown>;
}

/** A project's entry about the user's servers, which has no effect until it is trusted. */
export interface BlockedEntry {
  /** The server; empty for the file's lists of servers that are on or off. */
  name: string;
  /** What the file says; possible secrets are masked with stars. */
  config: Record<string, unknown>;
  source: Source;
  effect: 'replace' | 'switch_off';
  /** The user's servers that it would affect. */
  servers: { name: string; source: Source }[];
}

/** An existing config file. */
export interface FoundFile {
  provider: string;
  path: string;
  level: Source['level'];
  /** How many servers it declares. */
  servers: number;
  /** Why it could not be used. */
  problem?: string;
}

/** A server that is in a file but not in the result. */
export interface LeftOut {
  name: string;
  /** The glob that matched, or the native integration that takes its place. */
  why: string;
  source: Source;
}

/** The result of discovery. */
export interface Discovery {
  servers: Record<string, FoundServer>;
  /** A project's entries about the user's servers, which have no effect until they are trusted. */
  blocked: BlockedEntry[];
  warnings: string[];
  /** Every existing file, in order of priority. */
  files: FoundFile[];
  leftOut: LeftOut[];
  /** Why discovery failed as a whole. */
  errors: { path: string; error: McpoolError }[];
  /** Keys of the servers that the host integrates by itself, by the names it gave. */
  native: Record<string, Secret[]>;
}

/** Finds the servers that are configured on this machine. Reads files, starts nothing. */
export function discover(options: DiscoverOptions = {}): Promise<Discovery> {
  const verb = (key: number) => {
    const json = writeOptions(options);
    bridge().discover(key, json);
  };
  return runVerb(verb, readDiscovery);
}

interface SentServer {
  name: string;
  source: object;
  shadows: object[];
}

interface SentBlocked {
  source: object;
  servers: { name: string; source: object }[];
}

interface SentDiscovery {
  servers: SentServer[];
  blocked: SentBlocked[];
  warnings: string[];
  files: object[];
  left_out: { source: object }[];
  errors: { path: string; error: SentError }[];
  native: Record<string, string[]>;
}

export function readDiscovery(json: string): Discovery {
  const sent: SentDiscovery = JSON.parse(json);
  return {
    servers: Object.fromEntries(sent.servers.map(readServer)),
    blocked: sent.blocked.map(readBlocked),
    warnings: sent.warnings,
    files: sent.files.map((file) => shape<FoundFile>(file)),
    leftOut: sent.left_out.map((row) => ({ ...shape<LeftOut>(row), source: shape<Source>(row.source) })),
    errors: sent.errors.map(({ path, error }) => ({ path, error: restore(error) })),
    native: mapped(sent.native, (keys) => keys.map((key) => new Secret(key))),
  };
}

function readBlocked(entry: SentBlocked): BlockedEntry {
  const servers = entry.servers.map(({ name, source }) => ({ name, source: shape<Source>(source) }));
  return { ...shape<BlockedEntry>(entry), source: shape<Source>(entry.source), servers };
}

function readServer({ name, ...server }: SentServer): [string, FoundServer] {
  const source = shape<Source>(server.source);
  const shadows = server.shadows.map((shadow) => shape<Source>(shadow));
  return [name, { ...shape<FoundServer>(server), source, shadows }];
}

function mapped<T, U>(record: Record<string, T>, make: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value)]));
}
