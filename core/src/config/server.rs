//! Declares the fields of a server's definition, one row for each. Reading, writing, comparison, the schema, the types of
//! Python and TypeScript and the table in the docs are derived from the rows.
//! The stage that uses a field implements its meaning.

use std::time::Duration;

use serde_json::Value;

use super::Scope;
use super::auth::{AuthConfig, AuthObject};
use super::codec::{Bound, Count, Interval, Millis, OneOf, Switch, Text, keywords, millis};
use super::enabled::EnabledFields;
use super::field::{Class, Codec, Field, config_fields, fields_of};
use super::keep_alive::{KeepAlive, KeepAliveTime};
use super::limits::{Limits, LimitsObject};
use super::protocol::ProtocolVersionChoice;
use super::reader::FieldReader;
use super::restart::{RestartCodec, RestartPolicy};
use super::shape::{Object, ValueShape};
use super::tls::{TlsConfig, TlsObject};
use super::tools::{ToolFields, ToolFilter};
use super::transport::{TransportConfig, TransportFields};
use crate::error::Result;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const TOOL_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const MAX_RESULT_CHARS: usize = 50_000;

config_fields! {
    /// One server's definition. Its fields are described as they are written in a file.
    #[derive(Clone, Debug)]
    pub struct ServerConfig: with_defaults(transport: TransportConfig) {
        /// How to reach it.
        transport: TransportConfig as TransportFields, Identity;
        /// Its own TLS settings, for a server on the network.
        tls "tls": Option<TlsConfig> as TlsObject = None, Identity, "the system's certificates";
        /// A command that prints further headers as a JSON object, for a server on the network. It runs before each
        /// connect, for 10 s at most.
        headers_helper "headersHelper": Option<String> as Text = None, Identity;
        /// How to sign in.
        auth "auth": Option<AuthConfig> as AuthObject = None, Identity, "signs in if the server asks for it";
        /// Off means: listed, never started.
        enabled: bool as EnabledFields = true, View;
        /// Milliseconds for connect, handshake and the first tool list together.
        timeout "timeout": Duration as Millis = CONNECT_TIMEOUT, Setting;
        /// Milliseconds for one call.
        tool_timeout "toolTimeout": Duration as Millis = TOOL_TIMEOUT, View;
        /// Milliseconds for one request. At least 1.5 times `toolTimeout` and `toolTimeout` + 1000; a smaller value is raised to
        /// that.
        request_timeout "requestTimeout": Duration as RequestTimeout = least_request_timeout(tool_timeout),
            View, "the least";
        /// What of our environment its process inherits: a short list without secrets, all, or nothing.
        inherit_env "inheritEnv": InheritEnv as OneOf<InheritEnv> = InheritEnv::Safe, Identity;
        /// Whether its tools need approval. Somebody is asked if the manager has an approval callback, or if an adapter asks.
        requires_approval "requiresApproval": bool as Switch = true, View;
        /// One connection for all managers of the process.
        shared "shared": bool as Switch = true, Setting;
        /// Started by its first call instead of with the others.
        lazy "lazy": bool as Switch = false, View;
        /// With `session`, each manager has a connection of its own although the server is shared: for servers that keep
        /// state.
        isolate "isolate": Isolate as OneOf<Isolate> = Isolate::None, Setting;
        /// Whether all identities share its connection: for servers without accounts.
        shared_identity "sharedIdentity": bool as Switch = false, Identity;
        /// When it is tried again after a failure: relentless (the default of shared servers), bounded, once (the default
        /// of private ones), never, or the delays written out.
        restart "restart": RestartPolicy as RestartCodec = RestartPolicy::default_of(shared),
            Setting, "`relentless`; `once` without `shared`";
        /// How it is asked whether it is alive.
        health_probe "healthProbe": HealthProbe as OneOf<HealthProbe> = HealthProbe::Auto, Setting;
        /// Milliseconds between questions whether it is alive; off without it.
        ping_interval "pingInterval": Option<Duration> as Interval = None, Setting, "off";
        /// Milliseconds that the connection outlives its last manager, or `always`.
        keep_alive "keepAlive": Option<KeepAlive> as KeepAliveTime = None, Setting, "the pool's";
        /// Milliseconds without a call until it is stopped; the next call starts it again. Off without it.
        idle_shutdown "idleShutdown": Option<Duration> as Interval = None, Setting, "off";
        /// How many calls may be under way at once, of all managers that share the connection; the others wait for their
        /// turn. No bound without it.
        max_concurrency "maxConcurrency": Option<usize> as Bound = None, Setting, "no bound";
        /// How many characters of a result a model gets to see.
        max_result_chars "maxResultChars": usize as Count = MAX_RESULT_CHARS, View;
        /// The version of the protocol to speak; `auto` agrees on one with the server. With `2026-07-28` the server is asked
        /// for that version first. A change takes effect at the next connect.
        protocol "protocol": Option<String> as ProtocolVersionChoice = None, Setting, "`auto`";
        /// Which of its tools are offered.
        tools: ToolFilter as ToolFields = ToolFilter::default(), View;
        /// Bounds on what it may cost; beyond one, the call concerned fails.
        limits "limits": Limits as LimitsObject = Limits::default(), Setting, "each as below";
    }
    beside {
        /// What its values may be looked up in.
        scope: Scope,
    }
}

/// The object of one server.
pub(super) const DEFINITION: Object = Object {
    name: "ServerConfig",
    about: "One server: either a program (`command`) or an address (`url`).",
    rows: ServerConfig::ROWS,
    is_open: false,
};

/// The fields that decide what is started or dialled.
pub(super) fn identity_fields() -> impl Iterator<Item = &'static Field> {
    let rows = ServerConfig::ROWS.iter().filter(|row| row.class == Some(Class::Identity));
    rows.flat_map(|row| row.fields)
}

/// The fields whose texts may refer to variables and files.
pub(super) fn fields_with_references() -> impl Iterator<Item = &'static Field> {
    identity_fields().filter(|field| {
        let text = match field.shape {
            ValueShape::List(inner) | ValueShape::ByName(inner) => *inner,
            shape => shape,
        };
        matches!(text, ValueShape::Text { .. } | ValueShape::LooseText)
    })
}

/// The names of all fields in their one spelling.
pub(crate) fn field_names() -> impl Iterator<Item = &'static str> {
    fields_of(ServerConfig::ROWS).filter(|field| !field.is_deprecated).map(|field| field.name)
}

keywords! {
    /// What of our environment a child process inherits, besides its own `env`.
    pub enum InheritEnv {
        /// A short list that programs need and that holds no secrets.
        Safe "safe",
        /// Everything.
        All "all",
        /// Nothing.
        None "none",
    }
}

keywords! {
    /// Which managers get a connection of their own to a shared server.
    pub enum Isolate {
        /// None: they share one.
        None "none",
        /// Each: an agent session has its own, for servers that keep state.
        Session "session",
    }
}

keywords! {
    /// How a server is asked whether it is alive.
    pub enum HealthProbe {
        /// By `ping`, then by its tool list; by the list alone where the protocol has no ping.
        Auto "auto",
        /// By `ping` alone.
        Ping "ping",
        /// By its tool list alone.
        ListTools "listTools",
    }
}

/// The least time for a request, which includes a call.
fn least_request_timeout(tool_timeout: Duration) -> Duration {
    let half_more = tool_timeout.saturating_add(tool_timeout / 2);
    half_more.max(tool_timeout.saturating_add(Duration::from_secs(1)))
}

/// A time that is never below its default.
struct RequestTimeout;

impl Codec for RequestTimeout {
    type Value = Duration;
    const SHAPE: ValueShape = Millis::SHAPE;

    fn read(reader: &mut FieldReader<'_>, key: &str, least: Duration) -> Result<Duration> {
        let otherwise = format!("{} is used", least.as_millis());
        let written = reader.any_millis(key, &otherwise).map_or(least, Duration::from_millis);
        if written < least {
            let problem = format!("leaves a call of toolTimeout no room; {otherwise}");
            reader.warn_of(key, &problem);
        }
        Ok(written.max(least))
    }

    fn write(value: &Duration) -> Value {
        millis(*value).into()
    }
}
