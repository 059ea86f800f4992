// Owns the results of `status()`, `connectAll()` and `reload()`.
import { type McpoolError, restore, type SentError } from './errors.js';
import { shape } from './shape.js';

/**
 * The state of a server. `degraded`: connected, while a probe checks whether it is alive. `reconnecting`: lost or never
 * reached, and the next attempt is running or due. `failed`: no more attempts until one is requested.
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

/** How calls ended, over all restarts. */
export interface Calls {
  ok: number;
  error: number;
  timeout: number;
  inFlight: number;
  /** Waiting for their turn, because of `maxConcurrency`. */
  queued: number;
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
  /** The transport; absent if its definition is invalid. */
  transport?: 'stdio' | 'http' | 'sse' | 'websocket';
  toolCount: number;
  error?: McpoolError;
  /** When it connected. */
  connectedSince?: Date;
  /** How long it has been connected. */
  uptimeMs?: number;
  /** The number of attempts to connect since it was last stable. */
  attempt: number;
  /** The reason of the current, next or last attempt. */
  reason?: Reason;
  /** When the next automatic attempt is due, in milliseconds from now. */
  nextRetryMs?: number;
  /** How many times it reconnected. */
  restarts: number;
  /** The number of managers that hold this connection. */
  refs: number;
  pid?: number;
  protocolVersion?: string;
  serverName?: string;
  serverVersion?: string;
  instructions?: string;
  source: Source;
  /** The connections that calls for other identities have, and their states. */
  identities: Record<string, ServerState>;
  calls: Calls;
}

/** The outcome of `connectAll`. */
export interface ConnectReport {
  /** Servers that are up. */
  connected: string[];
  /** Servers whose tools are known only from the cache so far; calls wait for them. */
  deferred: string[];
  /** Servers whose first attempt is still running, with no known tools yet. */
  pending: string[];
  /** Servers whose first attempt failed, and why; their restart policy continues in the background. */
  failed: Record<string, McpoolError>;
  /** Servers whose source is not trusted. */
  blocked: string[];
  /** Disabled servers. */
  disabled: string[];
  /** How long each server took to connect. */
  durationsMs: Record<string, number>;
}

/** What a reload changed. */
export interface ReloadReport {
  /** New servers. */
  added: string[];
  /** Removed servers. */
  removed: string[];
  /** Servers that were replaced by another definition of the same name. */
  restarted: string[];
  /** Servers whose settings changed while they ran on. */
  updated: string[];
  /** Servers without any change. */
  unchanged: string[];
  /** How connecting the added and restarted servers went. */
  connect: ConnectReport;
}

export function readStatus(json: string): ServerStatus[] {
  const statuses: { calls: object; source: object; connected_since: string | null }[] = JSON.parse(json);
  return statuses.map((status) => ({
    ...shape<ServerStatus>(status),
    ...(status.connected_since === null ? {} : { connectedSince: new Date(status.connected_since) }),
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
