// The exports of the package.

export type { Cancellable } from './abort.js';
export type { Arguments, OnProgress, Progress, Retry } from './calls.js';
export { type ClientInfo, setClientInfo } from './client-info.js';
export { type Changes, config, type Edited } from './config.js';
export {
  type BlockedEntry,
  type Discovery,
  discover,
  type FoundFile,
  type FoundServer,
  type LeftOut,
} from './discover.js';
export * from './error-classes.js';
export type {
  AuthRequiredEvent,
  CallEvent,
  ConfigChangedEvent,
  ElicitationCompleteEvent,
  EventOf,
  EventStream,
  InjectionEvent,
  LogEvent,
  LostEvent,
  McpoolEvent,
  ProgressEvent,
  PromptsChangedEvent,
  ResourcesChangedEvent,
  ResourceUpdatedEvent,
  Signal,
  SignalKind,
  SkillDriftEvent,
  StatusEvent,
  TaskEvent,
  ToolDriftEvent,
  ToolsChangedEvent,
} from './events.js';
export { extra } from './extra.js';
export type { HostEnv } from './host-env.js';
export { type AuthorizeOptions, Manager, type WaitOptions } from './manager.js';
export type {
  CallOptions,
  DiscoverManagerOptions,
  DiscoverOptions,
  EditOptions,
  FileOptions,
  ManagerOptions,
  PoolOptions,
} from './options.js';
export { ToolOutput } from './output.js';
export { Pool } from './pool.js';
export type { ProductConfig } from './product-config.js';
export type {
  Completion,
  CompletionRequest,
  LogLevel,
  Prompt,
  PromptArgument,
  PromptMessage,
  PromptResult,
} from './prompt.js';
export type {
  ApprovalQuestion,
  AuthPrompt,
  Caller,
  ElicitationAnswer,
  ElicitationRequest,
  IdentityQuestion,
  LoginStore,
  LoginStoreRequest,
  OnApproval,
  OnAuth,
  OnElicitation,
  OnIdentity,
  OnSampling,
  SampledMessage,
  SamplingRequest,
} from './questions.js';
export type { Icon, Resource, ResourceContent, ResourceTemplate } from './resource.js';
export { type ContentBlock, type EmbeddedResource, type Image, ToolResult } from './result.js';
export { Secret } from './secret.js';
export type {
  Config,
  IdentityProvider,
  Limits,
  RestartDelays,
  ServerAuth,
  ServerConfig,
  ToolSwitch,
} from './server-config.js';
export type { Skill, SkillContent, SkillFile } from './skill.js';
export type {
  Calls,
  ConnectReport,
  Reason,
  ReloadReport,
  ServerState,
  ServerStatus,
  Source,
} from './status.js';
export type { Task, TaskStatus } from './task.js';
export { type Naming, type Schema, Tool, type ToolAnnotations, type ToolState } from './tool.js';
export {
  type Trust,
  type Trusted,
  type TrustOptions,
  type TrustQuestion,
  trust,
  trusted,
  untrust,
} from './trust.js';
