// Owns what `status()` and `connectAll()` tell.
import { type McpoolError, restore } from './errors.js';
import { shape } from './shape.js';

/** Where a server stands. */
export type ServerState = 'idle' | 'connecting' | 'connected' | 'failed' | 'disabled' | 'disconnected';

/** How calls ended on the current connection. */
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
  /** How many attempts to connect there have been. */
  attempt: number;
  /** When the next attempt is due by itself. */
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
  /** Servers that are known from the cache only, so far. */
  deferred: string[];
  /** Servers whose attempt goes on. */
  pending: string[];
  /** Servers that are not, and why. */
  failed: Record<string, McpoolError>;
  /** Servers whose source is not trusted. */
  blocked: string[];
  /** Servers that are switched off. */
  disabled: string[];
  /** How long each server took. */
  durationsMs: Record<string, number>;
}

export function readStatus(json: string): ServerStatus[] {
  const statuses: { calls: object; source: object }[] = JSON.parse(json);
  return statuses.map((status) => ({
    ...shape<ServerStatus>(status),
    source: shape<Source>(status.source),
    calls: shape<Calls>(status.calls),
  }));
}

export function readReport(json: string): ConnectReport {
  const report = shape<ConnectReport>(JSON.parse(json));
  const failed = Object.entries(report.failed);
  return { ...report, failed: Object.fromEntries(failed.map(([name, error]) => [name, restore(error)])) };
}
