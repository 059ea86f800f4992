// What the package gives.

export type { Arguments, CallOptions, Progress, Retry } from './calls.js';
export {
  AuthFailedError,
  AuthRequiredError,
  ClosedError,
  ConfigConflictError,
  ConfigInvalidError,
  ConfigIoError,
  ConnectFailedError,
  ConnectionLostError,
  ConnectTimeoutError,
  DiscoveryFailedError,
  type ErrorCode,
  type ErrorDetails,
  type Executed,
  HandshakeFailedError,
  InvalidArgumentsError,
  LimitExceededError,
  McpoolError,
  NotApprovedError,
  ProtocolError,
  type Restart,
  RestartFailedError,
  RestartInProgressError,
  type RpcError,
  ServerDisabledError,
  ServerNotFoundError,
  ToolFailedError,
  ToolRejectedError,
  ToolTimeoutError,
  ToolUnavailableError,
  UntrustedError,
} from './errors.js';
export type {
  ConfigChangedEvent,
  EventOf,
  EventStream,
  LogEvent,
  McpoolEvent,
  StatusEvent,
  ToolsChangedEvent,
} from './events.js';
export {
  type Config,
  type FileOptions,
  Manager,
  type ManagerOptions,
  type Naming,
  type ServerConfig,
} from './manager.js';
export { Pool, type PoolOptions } from './pool.js';
export { type ContentBlock, ToolResult } from './result.js';
export type {
  Calls,
  ConnectReport,
  Reason,
  ReloadReport,
  ServerState,
  ServerStatus,
  Source,
} from './status.js';
export { type Schema, Tool, type ToolAnnotations, type ToolState } from './tool.js';
