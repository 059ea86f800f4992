// Owns what `status()`, `connectAll()` and `reload()` tell.
import { type McpoolError, restore, type SentError } from './errors.js';
import { shape } from './shape.js';

/**
 * Where a server stands. `degraded`: up, while a probe finds out whether it lives. `reconnecting`: lost or never
 * reached, and the next attempt is under way or due. `failed`: nothing more is tried until somebody asks.
 */
export type ServerState =
  | 'idle'
  | 'connecting'
  | 'connected'
  | 'degraded'
  | 'reconnecting'
  | 'failed'
  | 'disabled'
  | 'blocked'
  | 'needs_auth'
  | 'disconnected';

/** Why an attempt to connect was made or is due. */
export type Reason = 'startup' | 'transport-exit' | 'probe-failure' | 'session-expired' | 'manual';

/** How calls ended, restarts included. */
export interface Calls {
  ok: number;
  error: number;
  timeout: number;
  inFlight: number;
  p50Ms?: number;
  p99Ms?: number;
}

/** Where a definition comes from. */
export interface Source {
  /** The product whose config it was, or `code`. */
  provider: string;
  path?: string;
  level: 'explicit' | 'user' | 'project';
}

/** One server's status. */
export interface ServerStatus {
  name: string;
  state: ServerState;
  /** How it is reached; absent when its definition is invalid. */
  transport?: 'stdio' | 'http' | 'sse' | 'websocket';
  toolCount: number;
  error?: McpoolError;
  connectedSinceMs?: number;
  /** How many attempts to connect there have been since it was last stable. */
  attempt: number;
  /** Why an attempt is under way or due, or was the last one. */
  reason?: Reason;
  /** When the next attempt is due by itself, in milliseconds from now. */
  nextRetryMs?: number;
  /** How often it came up again after the first time. */
  restarts: number;
  /** How many managers hold this connection. */
  refs: number;
  pid?: number;
  protocolVersion?: string;
  serverName?: string;
  serverVersion?: string;
  instructions?: string;
  source: Source;
  calls: Calls;
}

/** How a `connectAll` went. */
export interface ConnectReport {
  /** Servers that are up. */
  connected: string[];
  /** Servers whose tools are known from the cache only, so far; calls wait for them. */
  deferred: string[];
  /** Servers whose first attempt goes on, and of which nothing is known yet. */
  pending: string[];
  /** Servers whose first attempt failed, and why; their restart policy goes on behind. */
  failed: Record<string, McpoolError>;
  /** Servers whose source is not trusted. */
  blocked: string[];
  /** Servers that are switched off. */
  disabled: string[];
  /** How long each server took. */
  durationsMs: Record<string, number>;
}

/** What a reload changed. */
export interface ReloadReport {
  /** New servers. */
  added: string[];
  /** Servers that are gone. */
  removed: string[];
  /** Servers that were replaced by another definition of the same name. */
  restarted: string[];
  /** Servers whose settings changed while they ran on. */
  updated: string[];
  /** Servers that nothing happened to. */
  unchanged: string[];
  /** How connecting the added and restarted ones went. */
  connect: ConnectReport;
}

export function readStatus(json: string): ServerStatus[] {
  const statuses: { calls: object; source: object }[] = JSON.parse(json);
  return statuses.map((status) => ({
    ...shape<ServerStatus>(status),
    source: shape<Source>(status.source),
    calls: shape<Calls>(status.calls),
  }));
}

interface SentReport {
  failed: Record<string, SentError>;
}

export const readConnectReport = (json: string) => connectReport(JSON.parse(json));

export function readReloadReport(json: string): ReloadReport {
  const sent: { connect: SentReport } = JSON.parse(json);
  return { ...shape<ReloadReport>(sent), connect: connectReport(sent.connect) };
}

function connectReport(sent: SentReport): ConnectReport {
  const failed = Object.entries(sent.failed).map(([name, error]) => [name, restore(error)]);
  return { ...shape<ConnectReport>(sent), failed: Object.fromEntries(failed) };
}
