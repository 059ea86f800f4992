//! Owns the options of a manager: one table, from which the struct, its defaults, its setters and its reading derive.
//! Leaves how tables work to [`crate::options`], and the options of discovery to `discover/options`.
//! The Python types, the TypeScript types and the tables in the docs are generated from it; see `generated`.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::approval::{ApprovalPolicy, OnApproval};
use crate::auth_prompt::OnAuth;
use crate::call::Retry;
use crate::caller::{DefaultHeaders, Identity, OnIdentity};
use crate::camel_case::camel_case;
use crate::catalog::{DriftPolicy, Naming};
use crate::config::{Declared, ToolFilter, is_field};
use crate::discover::DiscoverOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::login_store::LoginStore;
use crate::options::{Language, OptionInfo, Options, Written, options, without_unit};
use crate::pool::Pool;
use crate::result::Spill;
use crate::server_request::{ClientFeatures, OnElicitation, OnSampling, Root, Roots};
use crate::trust::Trust;

#[cfg(test)]
mod generated;
mod host_questions;
mod values;

options! {
    /// Options of a manager; the defaults are good.
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct ManagerOptions of "a manager" {
        /// How tools are named: "plain" gives mcp_server_tool, "letters" the same with digits replaced, "double" gives
        /// mcp__server__tool, "raw" gives server.tool. A function of server and tool gives any other name.
        naming: Naming = Naming::Plain,
        /// How many servers connect at the same time. The default is 64 remote ones, and as many programs as the machine
        /// can start.
        connect_concurrency: Option<usize> = None,
        /// How long `connect_all` waits for late servers whose tools are in the cache.
        gate: Duration = Duration::from_millis(250),
        /// Whether `connect_all` waits for late servers whose tools are not in the cache.
        pending_without_cache: PendingWithoutCache = PendingWithoutCache::Wait,
        /// How long a call waits for a server that is being restarted; 0 means not at all.
        restart_wait: Duration = Duration::from_secs(5),
        /// Which calls are sent again when their connection is lost. "safe" means those of read-only and idempotent tools.
        retry: Retry = Retry::Never,
        /// Where tool lists are kept between runs. The default is $MCPOOL_CACHE_DIR, or the user's cache directory; false means
        /// nowhere.
        cache_dir: CacheDir = CacheDir::User,
        /// Whether changes of the config files are applied as they happen.
        watch: bool = false,
        /// What a project's definitions may do. "stored" is what the user has trusted, "strict" the same for remote servers
        /// too, "all" trusts everything, "none" nothing. A function is asked about what the user has not trusted yet.
        trust: Trust = Trust::Stored,
        /// Whether a header or variable whose value is the name of a set variable gets that variable's value.
        bare_env_names: bool = false,
        /// Globs over raw and catalog names: only these tools are offered.
        enabled_tools: Option<Vec<String>> = None,
        /// Globs over raw and catalog names: these tools are not offered, even if they are enabled.
        disabled_tools: Vec<String> = Vec::new(),
        /// What happens to a tool that is no longer as it was when it was first seen.
        drift: DriftPolicy = DriftPolicy::Warn,
        /// Which tools need a person's approval. "annotations" means those that are not read-only.
        approval: ApprovalPolicy = ApprovalPolicy::Always,
        /// The user or tenant that calls are made for. Managers of different identities share no connection.
        identity: Option<Identity> = None,
        /// Headers for calls to remote servers, which replace those of their definitions. A text is for all servers; an
        /// object under the name of a server is for that one. Headers that say who calls, such as Authorization, are for
        /// one server and need an `identity`.
        headers: Option<DefaultHeaders> = None,
        /// A function that is asked for whom a call is made, if the call does not say it. It returns an identity, headers,
        /// both or neither.
        on_identity: Option<OnIdentity> = None,
        /// A function that is asked to sign in to a server: it opens or shows the page. It may return the URL that the
        /// browser was sent back to, for machines without a browser.
        on_auth: Option<OnAuth> = None,
        /// A function that keeps logins in place of files: it is asked to load, to save and to remove texts by their keys.
        login_store: Option<LoginStore> = None,
        /// Whether a sign-in is begun for a server that wants one: a client is registered if needed, and the page to open is
        /// named. Otherwise only `authorize` begins one.
        begin_auth: bool = true,
        /// A function that is asked about each call that needs approval. Without it, such calls are sent unasked.
        on_approval: Option<OnApproval> = None,
        /// How long a call waits for an approval.
        approval_timeout: Duration = Duration::from_secs(300),
        /// A function that samples a message from a model for a server that asks for one. It returns the message, or only its
        /// text; nothing refuses. Without it, servers are told that there is no sampling.
        on_sampling: Option<OnSampling> = None,
        /// A function that asks a person for what a server wants to know: with a form, or on a page of the server. Without it,
        /// servers are told that nobody can be asked.
        on_elicitation: Option<OnElicitation> = None,
        /// The directories that the work is about, as paths or file addresses. Servers that ask for roots get them.
        roots: Option<Vec<Root>> = None,
        /// How long a server waits for the answer of `on_sampling` and `on_elicitation`. A call that has caused the request
        /// does not time out meanwhile.
        server_request_timeout: Duration = Duration::from_secs(300),
        /// Whether structured results are compared with the `outputSchema` of their tool. One that does not match is
        /// `PROTOCOL_ERROR`.
        check_output: bool = false,
        /// Whether results for a model are marked as untrusted output of their tool.
        wrap: bool = true,
        /// What happens to the part of a result that is cut. "file" keeps the whole in a file that only the user can read.
        spill: Spill = Spill::None,
        /// Whether the begin and the end of each call are events.
        call_events: bool = false,
        /// Whether calls become spans and metrics where OpenTelemetry has a provider. "error_messages" adds the messages of
        /// errors, which may hold words of the server; otherwise spans have only their codes.
        telemetry: Telemetry = Telemetry::Codes,
        /// Environment, home and platform in place of the process's own.
        host_env: HostEnv = HostEnv::process(),
        /// The pool whose connections are shared. The default is the pool of the process.
        pool: Option<Pool> = None,
    }
}

/// Refuses names that no option of a manager has. A field of a server is told where it belongs.
fn check_names<'a>(
    written: &Written,
    known: impl Iterator<Item = &'a OptionInfo> + Clone,
) -> Result<()> {
    let is_unit_only = |name: &str| known.clone().any(|it| it.name == without_unit(name));
    let field = written.unknown_name(known.clone()).filter(|name| !is_unit_only(name));
    let field = field.map(|name| camel_case(without_unit(name))).filter(|name| is_field(name));
    written.check_names(known).map_err(|error| match field {
        Some(field) => error.with_hint(format!(
            "\"{field}\" is a field of a server: write it into the definition, where times are in milliseconds"
        )),
        None => error,
    })
}

/// The option that only managers on files have.
const WATCH: &str = "watch";

impl ManagerOptions {
    /// Reads the options of a manager on a config, such as `{"cache_dir": false}`; what is left out or null is the default.
    #[doc(hidden)]
    pub fn from_json(text: &str, language: Language) -> Result<Self> {
        let mut written = Written::parse(Self::OWNER, text, language)?;
        if written.take(WATCH) {
            let text = "The option \"watch\" needs a manager that is made from files";
            return Err(Error::new(ErrorKind::ConfigInvalid, text)
                .with_hint("open the file, or use discovery"));
        }
        check_names(&written, Self::OPTIONS.iter().filter(|option| option.name != WATCH))?;
        written.options().and_then(Self::checked)
    }

    /// Reads the options of a manager on a file.
    #[doc(hidden)]
    pub fn for_file(text: &str, language: Language) -> Result<Self> {
        let written = Written::parse(Self::OWNER, text, language)?;
        check_names(&written, Self::OPTIONS.iter())?;
        written.options().and_then(Self::checked)
    }

    /// Reads the options of a manager that is made by discovery, which are those of both.
    #[doc(hidden)]
    pub fn for_discovery(text: &str, language: Language) -> Result<(DiscoverOptions, Self)> {
        let written = Written::parse("discovery and a manager", text, language)?;
        check_names(&written, DiscoverOptions::OPTIONS.iter().chain(Self::OPTIONS))?;
        Ok((written.options()?, written.options().and_then(Self::checked)?))
    }

    /// Refuses options that contradict each other.
    fn checked(self) -> Result<Self> {
        let credential = self.headers.as_ref().and_then(DefaultHeaders::credential);
        match credential.filter(|_| self.identity.is_none()) {
            Some(name) => {
                let text =
                    format!("The header \"{name}\" of a manager says who calls, but not for whom");
                Err(Error::new(ErrorKind::ConfigInvalid, text).with_hint(
                    "set \"identity\" too: managers of different identities share no connection",
                ))
            }
            None => Ok(self),
        }
    }

    /// Warnings about options that have no effect on these servers.
    pub(super) fn warnings<'a>(
        &self,
        servers: impl Iterator<Item = (&'a String, &'a Declared)> + Clone,
    ) -> Vec<String> {
        let named = self.headers.iter().flat_map(DefaultHeaders::servers);
        let in_vain = named.filter_map(|name| {
            let declared = servers.clone().find(|(server, _)| *server == name);
            let why = match declared.map(|(_, declared)| &declared.config) {
                None => "is not there",
                Some(Ok(config)) if config.transport.starts_program() => {
                    "is a program and takes no headers"
                }
                Some(_) => return None,
            };
            Some(format!("The option \"headers\" names server \"{name}\", which {why}"))
        });
        self.tool_filter().glob_warnings().into_iter().chain(in_vain).collect()
    }

    /// What the program offers to servers.
    pub(super) fn client_features(&self) -> ClientFeatures {
        let roots = Roots::default();
        if let Some(offered) = &self.roots {
            roots.set(offered.clone());
        }
        ClientFeatures {
            on_sampling: self.on_sampling.clone(),
            on_elicitation: self.on_elicitation.clone(),
            roots,
            limit: self.server_request_timeout,
        }
    }

    /// Which tools of all servers are offered, besides what each definition says.
    pub(super) fn tool_filter(&self) -> ToolFilter {
        ToolFilter { enabled: self.enabled_tools.clone(), disabled: self.disabled_tools.clone() }
    }
}

/// What telemetry says of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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
#[non_exhaustive]
pub enum PendingWithoutCache {
    /// Waits for it, within the server's own timeout.
    #[default]
    Wait,
    /// Returns without it; its tools come with `tools_changed`.
    Skip,
}

/// Where tool lists are kept between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheDir {
    /// In the user's cache directory.
    #[default]
    User,
    /// Below this directory.
    At(PathBuf),
    /// Nowhere.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(text: &str) -> Result<ManagerOptions> {
        ManagerOptions::from_json(text, Language::Python)
    }

    fn node(text: &str) -> Result<ManagerOptions> {
        ManagerOptions::from_json(text, Language::Node)
    }

    #[test]
    fn what_is_left_out_is_the_default() {
        let options = python(r#"{"gate": 0.007, "retry": null}"#).unwrap();
        assert_eq!(options.gate, Duration::from_millis(7));
        assert_eq!((options.retry, options.connect_concurrency), (Retry::Never, None));
    }

    #[test]
    fn times_are_seconds_in_python_and_milliseconds_in_node() {
        for options in [python(r#"{"restart_wait": 1.5}"#), node(r#"{"restartWaitMs": 1500}"#)] {
            assert_eq!(options.unwrap().restart_wait, Duration::from_millis(1500));
        }
    }

    #[test]
    fn setters_take_what_the_fields_hold() {
        let options = ManagerOptions::default().connect_concurrency(3).gate(Duration::ZERO);
        assert_eq!((options.connect_concurrency, options.gate), (Some(3), Duration::ZERO));
    }

    #[test]
    fn telemetry_is_off_or_on_or_says_more() {
        let telemetry = |text: &str| python(text).map(|read| read.telemetry);
        assert_eq!(telemetry("{}").unwrap(), Telemetry::Codes);
        assert_eq!(telemetry(r#"{"telemetry": true}"#).unwrap(), Telemetry::Codes);
        assert_eq!(telemetry(r#"{"telemetry": false}"#).unwrap(), Telemetry::Off);
        let with = r#"{"telemetry": "error_messages"}"#;
        assert_eq!(telemetry(with).unwrap(), Telemetry::ErrorMessages);
        assert!(telemetry(r#"{"telemetry": "everything"}"#).is_err());
    }

    #[test]
    fn the_cache_is_somewhere_or_nowhere() {
        let cache = |text: &str| python(text).unwrap().cache_dir;
        assert_eq!(cache(r#"{"cache_dir": "/x"}"#), CacheDir::At("/x".into()));
        assert_eq!(cache(r#"{"cache_dir": false}"#), CacheDir::Off);
        assert_eq!(cache("{}"), CacheDir::User);
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_name() {
        for (text, said) in [
            (r#"{"gate": -1}"#, "The option \"gate\" of a manager must be a number of seconds"),
            (r#"{"retry": "always"}"#, "must be \"never\" or \"safe\""),
            (r#"{"approval": 1}"#, "must be \"always\", \"annotations\" or \"never\""),
            (r#"{"on_approval": true}"#, "\"on_approval\" of a manager must be a function"),
            (r#"{"pool": {}}"#, "\"pool\" of a manager must be a Pool"),
            (r#"{"connect_concurrency": 1.5}"#, "must be a whole number, 0 or more"),
            (r#"{"naming": "shouting"}"#, "must be \"plain\", \"letters\", \"double\", \"raw\""),
            (r#"{"enabled_tools": "a"}"#, "must be a list of texts"),
            (r#"{"gate": 1e400}"#, "The option \"gate\" of a manager must be a number of seconds"),
            (r#"{"cache_dir": true}"#, "\"cache_dir\" of a manager must be a path or false"),
            (r#"{"host_env": {"planet": 1}}"#, "unknown field \"planet\""),
            (r#"{"host_env": {"evn": {}}}"#, "unknown field \"evn\", did you mean \"env\"?"),
            (r#"{"host_env": {"env": 3}}"#, "\"env\": a number in place of an object"),
            (r#"{"host_env": {"env": {"A": 1}}}"#, "\"env.A\": a number in place of a string"),
            (r#"{"gate": {"\u0000noJson":"a timedelta"}}"#, "a number of seconds, not a timedelta"),
            (
                r#"{"headers":{"\u0000noJson":"a set"}}"#,
                "an object whose values are texts, not a set",
            ),
            (r#"{"watch": true}"#, "needs a manager that is made from files"),
            ("[]", "must be an object"),
        ] {
            let error = python(text).err().unwrap();
            assert_eq!(error.code(), "CONFIG_INVALID", "{text}");
            assert!(error.message().contains(said), "{text}: {}", error.message());
        }
    }

    #[test]
    fn a_host_environment_is_an_object() {
        for text in [r#"{"host_env": []}"#, r#"{"host_env": [null, "/me", null]}"#] {
            let error = python(text).err().unwrap();
            let said =
                "\"host_env\" of a manager must be an object of env, home and platform: a list";
            assert!(error.message().contains(said), "{text}: {}", error.message());
        }
    }

    fn hint<T>(options: Result<T>) -> String {
        options.err().and_then(|error| error.hint().map(str::to_owned)).unwrap()
    }

    #[test]
    fn only_usable_options_are_suggested_and_each_once() {
        let unknown = r#"{"zzzzzzzzzzzzzzzz": 1}"#;
        let count =
            |hint: String, name: &str| hint.split([' ', ',']).filter(|it| *it == name).count();
        assert_eq!(count(hint(python(unknown)), "watch"), 0);
        let of_file = hint(ManagerOptions::for_file(unknown, Language::Python));
        assert_eq!(count(of_file, "watch"), 1);
        let of_discovery = hint(ManagerOptions::for_discovery(unknown, Language::Node));
        assert_eq!(count(of_discovery, "hostEnv"), 1);
    }

    #[test]
    fn an_old_name_is_told_the_new_one() {
        assert_eq!(hint(python(r#"{"surroundings": {}}"#)), "did you mean \"host_env\"?");
        assert_eq!(hint(node(r#"{"surroundings": {}}"#)), "did you mean \"hostEnv\"?");
    }

    #[test]
    fn a_wrong_name_is_told_the_right_one() {
        assert_eq!(hint(python(r#"{"gate_ms": 7}"#)), "did you mean \"gate\", in seconds?");
        assert_eq!(hint(node(r#"{"gate": 7}"#)), "did you mean \"gateMs\", in milliseconds?");
        assert_eq!(hint(python(r#"{"cachedir": "x"}"#)), "did you mean \"cache_dir\"?");
        for text in [r#"{"tool_timeout": 5}"#, r#"{"toolTimeoutMs": 5}"#] {
            let of_server = "\"toolTimeout\" is a field of a server: write it";
            assert!(hint(python(text)).starts_with(of_server), "{}", hint(python(text)));
            assert!(hint(node(text)).starts_with(of_server), "{}", hint(node(text)));
        }
        assert!(hint(python(r#"{"timeout": 5}"#)).starts_with("\"timeout\" is a field of"));
        assert!(hint(python(r#"{"zzzzzzzzzzzzzzzz": 1}"#)).starts_with("the options are naming, "));
    }

    #[test]
    fn discovery_takes_its_own_options_and_those_of_a_manager() {
        let text =
            r#"{"projectConfig": false, "gateMs": 7, "hostEnv": {"home": "/me"}, "watch": true}"#;
        let (discover, manager) = ManagerOptions::for_discovery(text, Language::Node).unwrap();
        assert!(!discover.project_config && manager.watch);
        assert_eq!(discover.host_env, manager.host_env);
        assert!(ManagerOptions::for_discovery(r#"{"colour": 1}"#, Language::Node).is_err());
    }
}
