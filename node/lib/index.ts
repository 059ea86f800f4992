// What the package gives.

export type { Arguments, CallOptions, Progress } from './calls.js';
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
  EventOf,
  EventStream,
  LogEvent,
  McpoolEvent,
  StatusEvent,
  ToolsChangedEvent,
} from './events.js';
export { type Config, Manager, type ManagerOptions, type Naming, type ServerConfig } from './manager.js';
export { type ContentBlock, ToolResult } from './result.js';
export type { Calls, ConnectReport, ServerState, ServerStatus, Source } from './status.js';
export { type Schema, Tool, type ToolAnnotations } from './tool.js';
