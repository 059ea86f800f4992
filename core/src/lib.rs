//! One pool of MCP connections for every agent.
//!
//! The modules are the stages that a server passes through:
//! `config` (as written) → `discover` (which file wins) → `resolve` (can be started or dialled) → `wire` (bytes) →
//! `session` (one JSON-RPC session) → `connection` (state, restarts, health) → `catalog` (tools under names) → `pool`
//! (shared by name) → `manager` (one agent's view). `trust` decides what a project's definitions may do, `call` and
//! `result` are what a caller gives and gets, and `mailbox` carries answers into the event loops of host languages.
//! `ARCHITECTURE.md` lists every module in its order.
//!
//! ```no_run
//! # async fn demo() -> mcpool::Result<()> {
//! use mcpool::{Arguments, CallOptions, Config, Manager, ManagerOptions};
//!
//! let config = Config::from_json(r#"{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}"#)?;
//! let manager = Manager::new(config, ManagerOptions::default());
//! let report = manager.connect_all().await?;
//! let arguments = Arguments::from_json(r#"{"timezone": "UTC"}"#)?;
//! let result = manager.call_tool("time", "get_current_time", arguments, CallOptions::default()).await?;
//! println!("{:?} {}", report.connected, result.text());
//! manager.close().await;
//! # Ok(())
//! # }
//! ```

// On docs.rs, which builds with nightly: says which feature a name needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod approval;
mod auth_prompt;
mod call;
mod caller;
mod camel_case;
mod catalog;
#[cfg(feature = "cli")]
pub mod cli;
mod client_info;
mod clock;
mod completion;
pub mod config;
mod connection;
mod descriptors;
mod directory_lock;
mod discover;
pub mod edit;
mod error;
mod event;
mod file_system;
mod fork;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod generated_file;
mod headers;
#[doc(hidden)]
pub mod host;
mod host_env;
mod http_client;
mod json_string;
mod login_store;
mod logs;
mod mailbox;
mod manager;
mod oauth;
mod options;
#[cfg_attr(windows, path = "ownership/windows.rs")]
mod ownership;
mod platform;
mod pool;
mod process;
mod prompt;
mod provider;
mod question;
mod redact;
mod regular_file;
mod relaunch;
mod resolve;
mod resource;
mod result;
mod runtime;
mod scan;
mod server_request;
mod session;
mod shell;
mod similar;
#[cfg(test)]
mod simulation;
mod skill;
mod source;
mod status;
mod subscribers;
mod sync;
mod task;
mod time;
mod tool;
mod trust;
mod variable_name;
mod wire;

pub use approval::{ApprovalPolicy, ApprovalQuestion, OnApproval};
pub use auth_prompt::{AuthPrompt, OnAuth};
pub use call::{Arguments, CallOptions, OnProgress, OnQuestion, Progress, Retry};
pub use caller::{Caller, CallerHeaders, DefaultHeaders, Identity, IdentityQuestion, OnIdentity};
pub use catalog::{Catalog, DriftPolicy, Naming, NamingFunction, Tool, ToolState};
pub use client_info::{ClientInfo, set_client_info};
pub use clock::Clock;
pub use config::{
    AuthConfig, AuthType, Config, Declared, HealthProbe, HeldBack, HeldBackEffect, InheritEnv,
    Isolate, KeepAlive, Level, Limits, ProjectEntry, Remote, RestartPolicy, Scope, ScopeTrust,
    ServerConfig, Source, Subject, ToolFilter, TransportConfig, check_name,
};
pub use discover::{
    DiscoverOptions, Discovery, DiscoveryError, FoundFile, LeftOut, McpRemote, providers,
};
pub use error::{
    Cause, Error, ErrorKind, Executed, ForeignError, Restart, Result, RpcError, Stage,
};
pub use event::{
    CallPhase, DriftChange, Event, EventKind, Events, InjectionPlace, LogLevel, LogOrigin,
};
pub use host_env::{HostEnv, Platform};
pub use login_store::{LoginStore, LoginStoreRequest};
pub use manager::{
    Attributes, AuthorizeOptions, CacheDir, CallTelemetry, ConnectReport, Manager, ManagerOptions,
    PendingWithoutCache, ReloadReport, Telemetry, ToolRef, telemetry_words,
};
pub use oauth::refresh_login;
pub use pool::{Pool, PoolOptions};
pub use prompt::{
    Completion, CompletionTarget, Prompt, PromptArgument, PromptMessage, PromptResult,
};
pub use question::Question;
pub use redact::Secret;
pub use relaunch::set_relaunch;
pub use resource::{Resource, ResourceContent, ResourceTemplate};
pub use result::{ForModel, Image, Spill, ToolOutput, ToolResult};
pub use scan::{Signal, SignalKind};
pub use server_request::{
    ElicitationAnswer, ElicitationMode, ElicitationRequest, OnElicitation, OnSampling, Root,
    SamplingRequest,
};
pub use skill::{Skill, SkillContent, SkillFile, SkillResources};
pub use status::{Calls, Reason, ServerStatus, State};
pub use task::{Task, TaskId, TaskStatus};
pub use tool::ServerTool;
pub use trust::{
    QuestionFile, Replaced, Trust, TrustCallback, TrustQuestion, TrustRequest, Trusted, discover,
    questions, trust, trust_these, trusted, untrust,
};

#[cfg(doctest)]
#[doc = include_str!("../../docs/quickstart.md")]
struct QuickStart;
