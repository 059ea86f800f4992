//! Owns what can be chosen about a manager, in Rust and as the JSON that other languages hand over.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::approval::{ApprovalPolicy, OnApproval};
use crate::call::Retry;
use crate::catalog::{DriftPolicy, Naming};
use crate::config::ToolFilter;
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::{HostEnv, WrittenHostEnv};
use crate::pool::Pool;
use crate::result::Spill;
use crate::trust::Trust;

/// Options of a manager; the defaults are good.
#[derive(Clone)]
pub struct ManagerOptions {
    /// How tools are named.
    pub naming: Naming,
    /// How many servers connect at the same time. When not set, 64 remote ones, and as many programs as the machine can
    /// start: by its cores and by how busy it is.
    pub connect_concurrency: Option<usize>,
    /// How long `connect_all` waits before the cache stands in for servers that are late.
    pub gate: Duration,
    /// What `connect_all` does about late servers of which the cache knows nothing.
    pub pending_without_cache: PendingWithoutCache,
    /// How long a call waits for a server that is being restarted.
    pub restart_wait: Duration,
    /// Which calls are sent again when their connection is lost.
    pub retry: Retry,
    /// Where tool lists are kept between runs.
    pub cache: CacheOption,
    /// Whether a config file is followed as it changes; see [`crate::Manager::open`].
    pub watch: bool,
    /// Who decides whether a project's definition may start a program.
    pub trust: Trust,
    /// Whether a header or variable whose value is the name of a set variable gets that variable's value.
    pub bare_env_names: bool,
    /// Home, platform and environment that values are looked up in.
    pub host_env: HostEnv,
    /// Which tools of all servers are offered, besides what each definition says.
    pub tools: ToolFilter,
    /// What becomes of a tool that is no longer as it was when it was first seen.
    pub drift: DriftPolicy,
    /// Which calls need a person's word.
    pub approval: ApprovalPolicy,
    /// Who is asked about calls that need a person's word. Without anybody, they are sent all the same.
    pub on_approval: Option<OnApproval>,
    /// How long an answer about a call is waited for.
    pub approval_timeout: Duration,
    /// Whether results for a model are marked as untrusted output of their tool.
    pub wrap: bool,
    /// What becomes of the part of a result that is cut away.
    pub spill: Spill,
    /// Whether the begin and the end of each call is an event.
    pub call_events: bool,
    /// What of calls becomes spans and metrics where the user has a provider for them; see [`crate::Manager::telemetry`].
    pub telemetry: Telemetry,
    /// Whose connections are shared; the process-wide pool when not set.
    pub pool: Option<Pool>,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        ManagerOptions {
            naming: Naming::default(),
            connect_concurrency: None,
            gate: Duration::from_millis(250),
            pending_without_cache: PendingWithoutCache::default(),
            restart_wait: Duration::from_secs(5),
            retry: Retry::default(),
            cache: CacheOption::default(),
            watch: false,
            trust: Trust::default(),
            bare_env_names: false,
            host_env: HostEnv::process(),
            tools: ToolFilter::default(),
            drift: DriftPolicy::default(),
            approval: ApprovalPolicy::default(),
            on_approval: None,
            approval_timeout: Duration::from_secs(300),
            wrap: true,
            spill: Spill::default(),
            call_events: false,
            telemetry: Telemetry::default(),
            pool: None,
        }
    }
}

/// What telemetry says of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telemetry {
    /// Nothing.
    Off,
    /// Of a failure, its codes.
    #[default]
    Codes,
    /// Of a failure, its message too, which may hold words of the server or its URL; masked as everywhere.
    ErrorMessages,
}

/// What `connect_all` does about a late server of which the cache knows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingWithoutCache {
    /// Waits for it, within the server's own timeout.
    #[default]
    Wait,
    /// Returns without it; its tools come with `tools_changed`.
    Skip,
}

/// Where tool lists are kept between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheOption {
    /// In the user's cache directory.
    #[default]
    User,
    /// Below this directory.
    At(PathBuf),
    /// Nowhere.
    Off,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    connect_concurrency: Option<usize>,
    gate_ms: Option<u64>,
    pending_without_cache: Option<PendingWithoutCache>,
    restart_wait_ms: Option<u64>,
    retry: Option<Retry>,
    cache_dir: Option<CacheDir>,
    watch: Option<bool>,
    trust: Option<TrustPolicy>,
    bare_env_names: Option<bool>,
    host_env: Option<WrittenHostEnv>,
    enabled_tools: Option<Vec<String>>,
    disabled_tools: Option<Vec<String>>,
    drift: Option<DriftPolicy>,
    approval: Option<ApprovalPolicy>,
    /// A function, which JSON cannot say: whatever stands here is none.
    on_approval: Option<serde::de::IgnoredAny>,
    approval_timeout_ms: Option<u64>,
    wrap: Option<bool>,
    spill: Option<Spill>,
    call_events: Option<bool>,
    telemetry: Option<WrittenTelemetry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum TrustPolicy {
    Stored,
    Strict,
    All,
    None,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CacheDir {
    At(PathBuf),
    Wanted(bool),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenTelemetry {
    Wanted(bool),
    With(TelemetryDetail),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum TelemetryDetail {
    ErrorMessages,
}

impl ManagerOptions {
    /// Reads `{"gate_ms": 250, "cache_dir": "…" or false, …}`; what is left out or null is the default.
    pub fn from_json(text: &str) -> Result<Self> {
        let written: Written = serde_json::from_str(text).map_err(|error| {
            let text =
                format!("The manager's options cannot be used: {}", crate::redact::reason(&error));
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        if written.on_approval.is_some() {
            let text = "The manager's options cannot be used: \"on_approval\" must be a function";
            return Err(Error::new(ErrorKind::ConfigInvalid, text));
        }
        let default = ManagerOptions::default();
        Ok(ManagerOptions {
            connect_concurrency: written.connect_concurrency,
            gate: written.gate_ms.map_or(default.gate, Duration::from_millis),
            pending_without_cache: written.pending_without_cache.unwrap_or_default(),
            restart_wait: written
                .restart_wait_ms
                .map_or(default.restart_wait, Duration::from_millis),
            retry: written.retry.unwrap_or_default(),
            cache: match written.cache_dir {
                None | Some(CacheDir::Wanted(true)) => CacheOption::User,
                Some(CacheDir::Wanted(false)) => CacheOption::Off,
                Some(CacheDir::At(dir)) => CacheOption::At(dir),
            },
            watch: written.watch.unwrap_or_default(),
            trust: match written.trust {
                None | Some(TrustPolicy::Stored) => Trust::Stored,
                Some(TrustPolicy::Strict) => Trust::Strict,
                Some(TrustPolicy::All) => Trust::All,
                Some(TrustPolicy::None) => Trust::None,
            },
            bare_env_names: written.bare_env_names.unwrap_or_default(),
            host_env: written.host_env.map(Into::into).unwrap_or_default(),
            tools: ToolFilter {
                enabled: written.enabled_tools,
                disabled: written.disabled_tools.unwrap_or_default(),
            },
            drift: written.drift.unwrap_or_default(),
            approval: written.approval.unwrap_or_default(),
            approval_timeout: written
                .approval_timeout_ms
                .map_or(default.approval_timeout, Duration::from_millis),
            wrap: written.wrap.unwrap_or(default.wrap),
            spill: written.spill.unwrap_or_default(),
            call_events: written.call_events.unwrap_or_default(),
            telemetry: match written.telemetry {
                None | Some(WrittenTelemetry::Wanted(true)) => Telemetry::Codes,
                Some(WrittenTelemetry::Wanted(false)) => Telemetry::Off,
                Some(WrittenTelemetry::With(TelemetryDetail::ErrorMessages)) => {
                    Telemetry::ErrorMessages
                }
            },
            ..default
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_the_default() {
        let options = ManagerOptions::from_json(r#"{"gate_ms": 7, "retry": null}"#).unwrap();
        assert_eq!(options.gate, Duration::from_millis(7));
        assert_eq!((options.retry, options.connect_concurrency), (Retry::Never, None));
    }

    #[test]
    fn telemetry_is_off_or_on_or_says_more() {
        let telemetry = |text: &str| ManagerOptions::from_json(text).map(|read| read.telemetry);
        assert_eq!(telemetry("{}").unwrap(), Telemetry::Codes);
        assert_eq!(telemetry(r#"{"telemetry": true}"#).unwrap(), Telemetry::Codes);
        assert_eq!(telemetry(r#"{"telemetry": false}"#).unwrap(), Telemetry::Off);
        let with = r#"{"telemetry": "error_messages"}"#;
        assert_eq!(telemetry(with).unwrap(), Telemetry::ErrorMessages);
        assert!(telemetry(r#"{"telemetry": "everything"}"#).is_err());
    }

    #[test]
    fn the_cache_is_somewhere_or_nowhere() {
        let cache = |text: &str| ManagerOptions::from_json(text).unwrap().cache;
        assert_eq!(cache(r#"{"cache_dir": "/x"}"#), CacheOption::At("/x".into()));
        assert_eq!(cache(r#"{"cache_dir": false}"#), CacheOption::Off);
        assert_eq!(cache("{}"), CacheOption::User);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for text in [
            r#"{"gate": 7}"#,
            r#"{"gate_ms": -1}"#,
            r#"{"retry": "always"}"#,
            r#"{"approval": "sometimes"}"#,
            r#"{"on_approval": true}"#,
            "[]",
        ] {
            let error = ManagerOptions::from_json(text).err().unwrap();
            assert_eq!(error.code(), "CONFIG_INVALID", "{text}");
        }
    }
}
