//! Owns the config model: what a user may write about a server, checked, with defaults filled in.
//! It reads text and decides nothing about the machine; finding programs and secrets is `resolve`'s work.
//! Invariant: one server's mistake is that server's error and never touches the others.

use std::time::Duration;

use crate::redact::Secret;
use indexmap::IndexMap;

mod declare;
mod difference;
mod document;
pub(crate) mod edit;
mod fields;
mod file;
mod limits;
mod model;
pub(crate) mod own_writes;
pub(crate) mod parse;
mod restart;
mod schema;
mod source;
pub(crate) mod syntax;
mod tools;
mod validate;
mod write;

pub(crate) use document::warn_of_misspelt;
pub use edit::{
    EditRequest, EditScope, Edited, Place, add, disable, enable, hide, remove, unhide, update,
};
pub(crate) use file::{parse_document, read_text};
pub use limits::Limits;
pub(crate) use own_writes::physical;
pub use restart::RestartPolicy;
pub use schema::schema;
pub use source::{
    Declared, Effect, HeldBack, Level, ProjectEntry, Scope, ScopeTrust, Source, Subject,
};
pub use tools::ToolFilter;
pub(crate) use validate::MAX_RESULT_CHARS;
pub use validate::check_name;

/// All servers of one config, each usable or with its error, in the order written.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Servers by name.
    pub servers: IndexMap<String, Declared>,
    /// What is odd but does no harm; each line names its server or its file.
    pub warnings: Vec<String>,
    /// Everything that the files of a project say, trusted or not.
    pub project: Vec<ProjectEntry>,
}

/// One server's definition.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// How to reach it.
    pub transport: Transport,
    /// Off means: listed, never started.
    pub enabled: bool,
    /// Limit for connect, handshake and the first tool list together.
    pub timeout: Duration,
    /// Limit for one call.
    pub tool_timeout: Duration,
    /// Limit for one request; never less than `max(1.5 × tool_timeout, tool_timeout + 1 s)`.
    pub request_timeout: Duration,
    /// What of our environment a child process inherits.
    pub inherit_env: InheritEnv,
    /// Whether the server's tools ask for approval.
    pub requires_approval: bool,
    /// Started by its first call instead of by `connect_all`; its tools are known from the cache until then.
    pub lazy: bool,
    /// One connection for all managers of the process; off means private to its manager.
    pub shared: bool,
    /// Which managers get a connection of their own although the server is shared.
    pub isolate: Isolate,
    /// When it is tried again after a failure.
    pub restart: RestartPolicy,
    /// How a server under suspicion is asked whether it is alive.
    pub health_probe: HealthProbe,
    /// How often it is asked without suspicion.
    pub ping_interval: Option<Duration>,
    /// How long the connection outlives its last manager; unsaid, the pool decides.
    pub keep_alive: Option<KeepAlive>,
    /// How long without a call until it is stopped; the next call starts it again.
    pub idle_shutdown: Option<Duration>,
    /// The bounds on what it may cost us.
    pub limits: Limits,
    /// How to sign in: a JSON object, as written.
    pub auth: Option<Secret>,
    /// How many calls may be under way at once.
    pub max_concurrency: Option<usize>,
    /// How many characters of a result a model gets to see.
    pub max_result_chars: usize,
    /// The version of the protocol to speak; unsaid, it is agreed on with the server.
    pub protocol: Option<String>,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// What its values may be looked up in.
    pub scope: Scope,
}

/// How a server is reached. Printed without what may be secret.
#[derive(Clone)]
pub enum Transport {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// The program, looked up on `PATH`.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables set for it alone.
        env: IndexMap<String, Secret>,
        /// A file of further `NAME=value` lines; `env` wins over it.
        env_file: Option<String>,
        /// Its working directory.
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http(Remote),
    /// The older HTTP with server-sent events.
    Sse(Remote),
    /// WebSocket.
    WebSocket(Remote),
}

/// Address and headers of a server on the network. Printed without what may be secret.
#[derive(Clone)]
pub struct Remote {
    /// Where it is, as written.
    pub url: String,
    /// Headers sent with each request.
    pub headers: IndexMap<String, Secret>,
    /// What the references in its address and headers may name, before anything else is asked.
    pub env: IndexMap<String, Secret>,
}

impl Transport {
    /// The name used in configs and in status.
    pub fn name(&self) -> &'static str {
        match self {
            Transport::Stdio { .. } => "stdio",
            Transport::Http(_) => "http",
            Transport::Sse(_) => "sse",
            Transport::WebSocket(_) => "websocket",
        }
    }
}

/// What of our environment a child process inherits, besides its own `env`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InheritEnv {
    /// A short list that programs need and that holds no secrets.
    Safe,
    /// Everything.
    All,
    /// Nothing.
    None,
}

impl InheritEnv {
    /// The name used in configs.
    pub fn name(self) -> &'static str {
        match self {
            InheritEnv::Safe => "safe",
            InheritEnv::All => "all",
            InheritEnv::None => "none",
        }
    }
}

/// Which managers get a connection of their own to a shared server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolate {
    /// None: they share one.
    None,
    /// Each: an agent session has its own, for servers that keep state.
    Session,
}

/// How a server is asked whether it is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthProbe {
    /// By `ping`, then by its tool list; by the list alone where the protocol has no ping.
    Auto,
    /// By `ping` alone.
    Ping,
    /// By its tool list alone.
    ListTools,
}

/// How long a shared connection outlives the last manager that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    /// For a time; zero ends it with its last manager.
    For(Duration),
    /// As long as the process.
    Always,
}
