// The same module for `import`: one set of classes, whoever loads it how.
// The values are named one by one, or the marks of a CommonJS module would come along.

export type * from './index.js';
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
  HandshakeFailedError,
  InvalidArgumentsError,
  LimitExceededError,
  Manager,
  McpoolError,
  NotApprovedError,
  ProtocolError,
  RestartFailedError,
  RestartInProgressError,
  ServerDisabledError,
  ServerNotFoundError,
  Tool,
  ToolFailedError,
  ToolRejectedError,
  ToolResult,
  ToolTimeoutError,
  ToolUnavailableError,
  UntrustedError,
} from './index.js';
