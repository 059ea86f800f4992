// Owns what discovery tells.
import { type McpoolError, restore, restoring, type SentError } from './errors.js';
import type { DiscoverOptions } from './options.js';
import { ask, bridge } from './post.js';
import { Secret } from './secret.js';
import { shape, withPaths, write } from './shape.js';
import type { Source } from './status.js';

/** A server that was found. Either `config` and `enabled` are there, or `error`. */
export interface FoundServer {
  /** Its definition, with stars for what may be secret. */
  config?: Record<string, unknown>;
  /** What is wrong with it. */
  error?: McpoolError;
  enabled?: boolean;
  /** The source that won. */
  source: Source;
  /** Sources further down that have the same name. */
  shadows: Source[];
  /** The definition of the server that it only bridges to (`npx mcp-remote <url>`). */
  direct?: Record<string, unknown>;
}

/** A project's entry that has no effect on the user's servers before it is trusted. */
export interface BlockedEntry {
  /** The server; empty for the file's lists of servers that are on or off. */
  name: string;
  /** What the file says, with stars for what may be secret. */
  config: Record<string, unknown>;
  source: Source;
  effect: 'replace' | 'switch_off';
  /** The servers of the user that it is about. */
  servers: { name: string; source: Source }[];
}

/** A config file that is there. */
export interface FoundFile {
  provider: string;
  path: string;
  level: Source['level'];
  /** How many servers it declares. */
  servers: number;
  /** Why it could not be used. */
  problem?: string;
}

/** A server that is in a file and not in the result. */
export interface LeftOut {
  name: string;
  /** The glob that matched, or the native integration that takes its place. */
  why: string;
  source: Source;
}

/** What was found. */
export interface Discovery {
  servers: Record<string, FoundServer>;
  /** What a project's files say of the user's servers, without effect before it is trusted. */
  blocked: BlockedEntry[];
  warnings: string[];
  /** Every file that was there, in order of priority. */
  files: FoundFile[];
  leftOut: LeftOut[];
  /** Why nothing could be found at all. */
  errors: { path: string; error: McpoolError }[];
  /** Keys of the servers that the host integrates by itself, by the names it gave. */
  native: Record<string, Secret[]>;
}

/** Looks for the servers that are configured on this machine. Reads files, starts nothing. */
export function discover(options: DiscoverOptions = {}): Promise<Discovery> {
  const verb = (key: number) => {
    const json = write('options', withPaths(options, 'cwd'));
    restoring(() => bridge().discover(key, json));
  };
  return ask(verb, readDiscovery);
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
