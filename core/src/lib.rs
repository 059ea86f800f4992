//! One pool of MCP connections for every agent.
//!
//! The flow is the tree, one module per stage:
//! `config` (as written) → `resolve` (can be started or dialled) → `wire` (bytes) → `session` (one JSON-RPC
//! conversation) → `connection` (its life) → `catalog` (tools under names) → `call` → `result`; `manager` brings the
//! stages together, `mailbox` carries answers into the event loops of host languages.
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

mod approval;
mod call;
mod catalog;
#[cfg(feature = "cli")]
pub mod cli;
mod clock;
mod completion;
pub mod config;
mod connection;
mod descriptors;
mod discover;
mod error;
mod event;
mod fork;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod generated_file;
mod host_env;
mod json_string;
pub mod logs;
mod mailbox;
mod manager;
mod options;
mod ownership;
mod pool;
mod process;
mod question;
mod redact;
mod regular_file;
mod resolve;
mod result;
pub mod runtime;
mod scan;
mod session;
mod shell;
mod similar;
mod source;
mod status;
mod subscribers;
mod sync;
mod time;
mod tool;
mod trust;
mod variable_name;
mod wire;

pub use approval::{ApprovalPolicy, ApprovalQuestion, OnApproval};
pub use call::{Arguments, CallOptions, OnProgress, OnQuestion, Progress, Retry};
pub use catalog::{Catalog, DriftPolicy, Naming, NamingFunction, Tool, ToolState};
pub use clock::Clock;
pub use config::{
    Config, Declared, Effect, HealthProbe, HeldBack, InheritEnv, Isolate, KeepAlive, Level, Limits,
    ProjectEntry, Remote, RestartPolicy, Scope, ScopeTrust, ServerConfig, Source, Subject,
    ToolFilter, Transport, check_name,
};
pub use discover::{
    DiscoverOptions, Discovery, DiscoveryError, FoundFile, LeftOut, McpRemote, providers,
};
pub use error::{
    Cause, Error, ErrorKind, Executed, ForeignError, Restart, Result, RpcError, Stage,
};
pub use event::{CallPhase, DriftChange, Event, EventKind, Events, InjectionPlace, LogOrigin};
pub use host_env::{HostEnv, Platform};
pub use mailbox::{Address, Letter, Mailbox};
pub use manager::{
    Attributes, CacheDir, CallHandle, CallTelemetry, ConnectReport, Manager, ManagerOptions,
    PendingWithoutCache, ReloadReport, Telemetry, ToolRef, telemetry_words,
};
pub use options::{Language, OptionInfo, OptionKind};
pub use pool::{Pool, PoolOptions};
pub use question::{Listening, Question, Questions, Taken};
pub use redact::Secret;
pub use result::{Failure, ForModel, Image, Origin, Spill, ToolOutput, ToolResult};
pub use scan::{Signal, SignalKind};
pub use status::{Calls, Reason, ServerStatus, State};
pub use tool::ServerTool;
pub use trust::{
    QuestionFile, Replaced, Trust, TrustCallback, TrustQuestion, TrustRequest, Trusted, discover,
    questions, trust, trust_these, trusted, untrust,
};

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../docs/quickstart.md")]
struct QuickStart;
