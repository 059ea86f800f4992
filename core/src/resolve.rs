//! Owns the step from a written definition to something that can be started or dialled: references are expanded, the
//! child's environment is built, the URL is checked, the headers are bound.
//! Invariant: what a definition may read depends on where it was written; warnings show no values.

use std::sync::Arc;

use http::header::USER_AGENT;

use crate::caller::ConnectionHeaders;
use crate::client_info::ClientInfo;
use crate::config::{AuthConfig, ScopeTrust, ServerConfig, TransportConfig};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Secret;
use crate::runtime;

pub(crate) mod address_class;
mod allowed_addresses;
mod auth;
mod bind;
mod command;
mod command_line;
mod env_file;
mod environment;
mod expand;
mod files;
mod reference;
mod target;
pub(crate) mod text_file;
mod warnings;

pub(crate) use allowed_addresses::{AllowedAddresses, RefusedAddress};
pub(crate) use auth::SignIn;
use bind::{Binder, WrittenStdio};
use command::{CommandOutputs, run_commands};
use files::Files;
pub(crate) use files::{ReferencedFile, trust_fingerprint};
pub(crate) use target::{HttpDialect, PemFile, ProgramTarget, Target, TlsFiles};
pub(crate) use warnings::Warning;
use warnings::Warnings;

const HTTP_SCHEMES: &[&str] = &["http", "https"];
const WEBSOCKET_SCHEMES: &[&str] = &["ws", "wss"];
/// Larger texts are expanded off the runtime's worker.
const SMALL_TEXT: usize = 64 << 10;

/// A server that is ready to be started or dialled.
pub(crate) enum Resolved {
    Stdio(ProgramTarget),
    Http(Target),
    WebSocket(Target),
}

impl Resolved {
    /// The same server, dialled for an identity with these headers.
    pub(crate) fn for_caller(self, caller: Arc<ConnectionHeaders>) -> Resolved {
        match self {
            Resolved::Stdio(program) => Resolved::Stdio(program),
            Resolved::Http(target) => Resolved::Http(Target { caller, ..target }),
            Resolved::WebSocket(target) => Resolved::WebSocket(Target { caller, ..target }),
        }
    }

    /// The same server, whose requests name this client unless the definition has a `User-Agent`.
    pub(crate) fn introduced_by(mut self, client: &ClientInfo) -> Resolved {
        if let (Resolved::Http(target) | Resolved::WebSocket(target), Some(agent)) =
            (&mut self, client.user_agent())
        {
            target.headers.entry(USER_AGENT).or_insert(agent);
        }
        self
    }
}

/// The files that become part of what is run: the variables file, the `envFile`, and files that values reference. Runs
/// nothing. A definition that cannot be resolved has the files that were named before the error.
pub(crate) fn referenced_files(config: &ServerConfig) -> Vec<ReferencedFile> {
    let mut warnings = Warnings::new("");
    let mut binder = Binder::new(&config.scope, CommandOutputs::new(), &mut warnings);
    match (&config.transport, &config.tls) {
        (TransportConfig::Stdio { command, args, env, env_file, cwd }, _) => {
            let _ = binder.expand_stdio("", WrittenStdio { command, args, env, env_file, cwd });
        }
        (_, Some(tls)) => drop(binder.read_tls("", tls)),
        (_, None) => return Vec::new(),
    }
    binder.take_files().into_referenced()
}

/// Resolves a server; also returns the warnings about its values. Dropping the future ends the commands that it
/// started.
pub(crate) async fn resolve(
    server: &Arc<str>,
    config: &ServerConfig,
) -> (Result<Resolved>, Vec<Warning>) {
    let mut warnings = Warnings::new(server);
    let outputs = run_commands(config, &mut warnings).await;
    let (server, config, takes_time) = (server.clone(), config.clone(), takes_time(config));
    let work = move || {
        let bound = bind(&server, &config, outputs, &mut warnings);
        let bound = bound.map_err(|error| error.with_server(&server));
        (bound, warnings.into_list())
    };
    if !takes_time {
        return work();
    }
    runtime::handle().spawn_blocking(work).await.unwrap_or_else(|_| {
        let text = "The definition could not be resolved: the process is ending";
        (Err(Error::new(ErrorKind::ConnectFailed, text)), Vec::new())
    })
}

/// All texts of a definition that may contain references.
fn texts(config: &ServerConfig) -> Vec<&str> {
    let mut texts = config.transport.plain_texts();
    texts.extend(config.transport.secrets().map(Secret::expose));
    texts.extend(config.auth.iter().flat_map(AuthConfig::texts));
    texts
}

/// Whether resolving reads files or expands much text.
fn takes_time(config: &ServerConfig) -> bool {
    let env_file = matches!(&config.transport, TransportConfig::Stdio { env_file: Some(_), .. });
    let texts = texts(config);
    env_file
        || config.tls.is_some()
        || config.scope.variables.is_some()
        || texts.iter().any(|text| text.contains("${file:"))
        || texts.iter().map(|text| text.len()).sum::<usize>() > SMALL_TEXT
}

fn bind(
    server: &Arc<str>,
    config: &ServerConfig,
    outputs: CommandOutputs,
    warnings: &mut Warnings,
) -> Result<Resolved> {
    let mut binder = Binder::new(&config.scope, outputs, warnings);
    let (tls, auth) = (config.tls.as_ref(), config.auth.as_ref());
    let resolved = match &config.transport {
        TransportConfig::Stdio { command, args, env, env_file, cwd } => {
            let written = WrittenStdio { command, args, env, env_file, cwd };
            binder.bind_stdio(server, config.inherit_env, written, auth).map(Resolved::Stdio)
        }
        TransportConfig::Http(remote) => {
            let target = binder.bind_remote(server, remote, tls, auth, HTTP_SCHEMES)?;
            Ok(Resolved::Http(target))
        }
        TransportConfig::Sse(remote) => {
            let target = binder.bind_remote(server, remote, tls, auth, HTTP_SCHEMES)?;
            Ok(Resolved::Http(Target { dialect: HttpDialect::Legacy, ..target }))
        }
        TransportConfig::WebSocket(remote) => {
            let target = binder.bind_remote(server, remote, tls, auth, WEBSOCKET_SCHEMES)?;
            Ok(Resolved::WebSocket(target))
        }
    }?;
    if config.transport.starts_program() || tls.is_some() {
        check_trusted(server, config, binder.take_files())?;
    }
    Ok(resolved)
}

/// The prefix of the trusted fingerprint of a definition that its file disables. The user's own list may still enable
/// it.
pub(crate) const SWITCHED_OFF: &str = "off-";

/// Checks that the files that were read are those that the user trusts. They may have changed since the manager
/// decided, and a restart reads them again.
fn check_trusted(server: &str, config: &ServerConfig, files: Files) -> Result<()> {
    let ScopeTrust::As(trusted) = &config.scope.trusted else { return Ok(()) };
    let files = files.into_referenced();
    if trusted.trim_start_matches(SWITCHED_OFF) == trust_fingerprint(config, &files) {
        return Ok(());
    }
    let names: Vec<String> = files.iter().map(ReferencedFile::shown_path).collect();
    let text = format!(
        "Refused to use server \"{server}\" because what it brings is no longer what was trusted ({})",
        names.join(", ")
    );
    Err(Error::new(ErrorKind::Untrusted, text)
        .naming_server(server)
        .with_hint("look at it with \"mcpool trust\", then reload"))
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::ConfigInvalid, format!("The definition cannot be used: {what}"))
}

/// Whether a value is sent to another machine.
#[cfg(any(test, fuzzing))]
pub(crate) enum Sent {
    Yes,
    No,
}

/// Expands the references of one value.
#[cfg(any(test, fuzzing))]
pub(crate) fn expand_value(
    text: &str,
    scope: &crate::config::Scope,
    variables: std::collections::HashMap<String, String>,
    sent: Sent,
) -> Result<String> {
    use expand::{Expander, Field, LookupScope};

    let mut warnings = Warnings::new("n");
    let mut expander = Expander::new(scope, variables, Files::default(), &mut warnings);
    let lookup = match sent {
        Sent::Yes => expander.sent_lookup(),
        Sent::No => LookupScope::All,
    };
    expander.expand(Field::new("args", lookup), text)
}

#[cfg(test)]
mod tests;
