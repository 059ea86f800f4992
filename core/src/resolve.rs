//! Owns the step from a written definition to something that can be started or dialled: references are expanded, the
//! child's environment is built, the URL is checked, the headers are bound.
//! Invariant: what a definition may read depends on where it was written; warnings show no values.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::join_all;
use indexmap::IndexMap;
use rustix::io::Errno;
use url::Url;

use crate::config::{Level, Remote, Scope, ScopeTrust, ServerConfig, Transport};
use crate::error::{Error, ErrorKind, Result, Stage};
use crate::process::Launch;
use crate::redact::{self, Secret};
use crate::runtime;

pub(crate) mod address;
pub(crate) mod addresses;
mod command;
mod env_file;
mod environment;
mod expand;
mod files;
mod headers;
mod reference;
mod target;
pub(crate) mod text_file;
mod warnings;

pub(crate) use addresses::{Addresses, Refused};
use command::{CommandRequest, command_of, without_escape};
use environment::{find_program, inherited};
use expand::{Expander, Field, LookupScope, path_in, unescaped};
use files::Files;
pub(crate) use files::{ReferencedFile, trust_fingerprint};
use headers::{bind_headers, is_framing};
pub(crate) use target::Target;
pub(crate) use warnings::Warning;
use warnings::Warnings;

/// Larger texts are expanded off the runtime's worker.
const SMALL_TEXT: usize = 64 << 10;

/// A server that is ready to be started or dialled.
pub(crate) enum Resolved {
    Stdio(Launch),
    Http(Target),
}

/// The files that become part of what is run: the variables file, the `envFile`, and files that values reference. Runs
/// nothing. A definition that cannot be resolved has the files that were named before the error.
pub(crate) fn referenced_files(config: &ServerConfig) -> Vec<ReferencedFile> {
    let Transport::Stdio { command, args, env, env_file, cwd } = &config.transport else {
        return Vec::new();
    };
    let mut warnings = Warnings::new("");
    let mut values = Values::new(&config.scope, CommandOutputs::new(), &mut warnings);
    let _ = values.stdio("", &config.scope, Stdio { command, args, env, env_file, cwd });
    values.expander.take_files().into_referenced()
}

/// The outputs of commands, by field and entry.
type CommandOutputs = HashMap<(&'static str, String), Secret>;

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
    texts
}

/// Whether resolving reads files or expands much text.
fn takes_time(config: &ServerConfig) -> bool {
    let env_file = matches!(&config.transport, Transport::Stdio { env_file: Some(_), .. });
    let texts = texts(config);
    env_file
        || config.scope.variables.is_some()
        || texts.iter().any(|text| text.contains("${file:"))
        || texts.iter().map(|text| text.len()).sum::<usize>() > SMALL_TEXT
}

/// Runs the commands among the values concurrently.
async fn run_commands(config: &ServerConfig, warnings: &mut Warnings) -> CommandOutputs {
    let entries = |field: &'static str, entries: &'_ IndexMap<String, Secret>| -> Vec<_> {
        let sent = entries.iter().filter(|(name, _)| field != "headers" || !is_framing(name));
        sent.filter_map(|(name, value)| {
            Some(((field, name.clone()), command_of(value.expose())?.to_owned()))
        })
        .collect()
    };
    let mut commands = entries("env", config.transport.env());
    if let Some(remote) = config.transport.remote() {
        commands.extend(entries("headers", &remote.headers));
    }
    let scope = &config.scope;
    if scope.is_restricted() {
        for ((field, name), _) in commands {
            warnings.push(&format!(
                "\"{field}.{name}\" is left out: commands of a project are not run before it is trusted"
            ));
        }
        return CommandOutputs::new();
    }
    let runs = commands.into_iter().map(|(entry, command)| {
        let request = CommandRequest::new(&command, scope);
        async move { (entry, request.output().await) }
    });
    let mut outputs = CommandOutputs::new();
    for ((field, name), outcome) in join_all(runs).await {
        match outcome {
            Ok(value) => drop(outputs.insert((field, name), value)),
            Err(silence) => {
                warnings.push(&format!("\"{field}.{name}\" is left out: {}", silence.text()));
            }
        }
    }
    outputs
}

fn bind(
    server: &Arc<str>,
    config: &ServerConfig,
    outputs: CommandOutputs,
    warnings: &mut Warnings,
) -> Result<Resolved> {
    let scope = &config.scope;
    let mut values = Values::new(scope, outputs, warnings);
    match &config.transport {
        Transport::Stdio { command, args, env, env_file, cwd } => {
            let written = Stdio { command, args, env, env_file, cwd };
            let launch = values.launch(server, config, written)?;
            check_trusted(server, config, values.expander.take_files())?;
            Ok(Resolved::Stdio(launch))
        }
        Transport::Http(remote) => {
            Ok(Resolved::Http(values.target(server, scope, remote, &["http", "https"])?))
        }
        Transport::Sse(_) | Transport::WebSocket(_) => Err(invalid(&format!(
            "the {} transport is not available in this version",
            config.transport.name()
        ))
        .with_hint("many servers also speak Streamable HTTP: use \"type\": \"http\"")),
    }
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
    let names: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
    let text = format!(
        "Refused to start stdio server \"{server}\" because what it brings is no longer what was trusted ({})",
        names.join(", ")
    );
    Err(Error::new(ErrorKind::Untrusted, text)
        .with_hint("look at it with \"mcpool trust\", then reload"))
}

/// The variables of the scope's file; empty if the file does not exist.
fn variables(scope: &Scope, files: &mut Files, warnings: &mut Warnings) -> HashMap<String, String> {
    let Some(path) = &scope.variables else { return HashMap::new() };
    match files.read(path).and_then(|text| env_file::entries(&text)) {
        Ok(entries) => entries.into_iter().collect(),
        Err(text_file::Problem::Missing) => HashMap::new(),
        Err(problem) => {
            let (path, why) = (path.display(), problem.text());
            warnings.push(&format!("the variables of {path} are not used: {why}"));
            HashMap::new()
        }
    }
}

struct Stdio<'a> {
    command: &'a str,
    args: &'a [String],
    env: &'a IndexMap<String, Secret>,
    env_file: &'a Option<String>,
    cwd: &'a Option<String>,
}

struct Values<'a> {
    expander: Expander<'a>,
    outputs: CommandOutputs,
}

/// A stdio definition with its references expanded.
struct ExpandedStdio {
    command: String,
    args: Vec<String>,
    cwd: Option<PathBuf>,
    own: IndexMap<String, String>,
    from_file: Vec<(String, String)>,
}

impl<'a> Values<'a> {
    fn new(scope: &'a Scope, outputs: CommandOutputs, warnings: &'a mut Warnings) -> Self {
        let mut files = Files::default();
        let variables = variables(scope, &mut files, warnings);
        Values { expander: Expander::new(scope, variables, files, warnings), outputs }
    }

    fn stdio(&mut self, server: &str, scope: &Scope, written: Stdio<'_>) -> Result<ExpandedStdio> {
        let own = self.entries(Field::new("env", LookupScope::Outside), written.env)?;
        self.expander.set_own(own.clone());
        let plain = |name| Field::new(name, LookupScope::All);
        let command = self.expander.expand(plain("command"), written.command)?;
        if command.is_empty() {
            let text = format!("Server \"{server}\": stdio server requires \"command\" field");
            return Err(Error::new(ErrorKind::ConfigInvalid, text));
        }
        let args = written.args.iter().map(|arg| self.expander.expand(plain("args"), arg));
        let args = args.collect::<Result<Vec<_>>>()?;
        let cwd = self.path(plain("cwd"), written.cwd, scope)?;
        let cwd = cwd.or(match scope.level {
            Level::Project => scope.directory.clone(),
            Level::Explicit | Level::User => None,
        });
        let env_file = self.path(plain("envFile"), written.env_file, scope)?;
        let from_file = match (env_file, written.env_file) {
            (Some(file), Some(written)) => {
                let text = self.expander.read_file(&file);
                text.and_then(|text| env_file::entries(&text))
                    .map_err(|problem| unreadable_env_file(written, &problem))?
            }
            _ => Vec::new(),
        };
        Ok(ExpandedStdio { command, args, cwd, own, from_file })
    }

    fn launch(
        &mut self,
        server: &Arc<str>,
        config: &ServerConfig,
        written: Stdio<'_>,
    ) -> Result<Launch> {
        let (scope, command_as_written) = (&config.scope, written.command);
        let ExpandedStdio { command, args, cwd, own, from_file } =
            self.stdio(server, scope, written)?;
        let mut values = self.expander.take_mask_builder();
        values.args(&args);
        own.iter().for_each(|(name, value)| values.variable(name, value));
        from_file.iter().for_each(|(name, value)| values.variable(name, value));
        let mut env = inherited(config.inherit_env, scope);
        values.inherited(&env);
        env.extend(from_file.into_iter().map(|(name, value)| (name.into(), value.into())));
        env.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
        let program = if command.contains('/') {
            path_in(scope, &command)
        } else {
            find_program(&command, &env, search_base(scope, &cwd).as_deref()).ok_or_else(|| {
                let text =
                    format!("Command \"{}\" was not found", redact::text(command_as_written));
                Error::new(ErrorKind::ConnectFailed, text)
                    .with_stage(Stage::Spawn)
                    .caused_by(&std::io::Error::from(Errno::NOENT))
                    .with_hint("is it installed, and on the PATH that the server gets?")
            })?
        };
        Ok(Launch { server: server.clone(), program, args, env, cwd, mask: values.build() })
    }

    fn target(
        &mut self,
        server: &Arc<str>,
        scope: &Scope,
        remote: &Remote,
        schemes: &[&str],
    ) -> Result<Target> {
        let own = match scope.level {
            Level::Project => self.literal_entries(&remote.env),
            Level::Explicit | Level::User => {
                self.entries(Field::new("env", LookupScope::Outside), &remote.env)?
            }
        };
        self.expander.set_own(own.clone());
        let lookup = self.expander.sent_lookup();
        let url = self.expander.expand(Field::new("url", lookup), &remote.url)?;
        let url = Url::parse(&url).ok();
        let url = url.filter(|url| schemes.contains(&url.scheme()) && url.has_host());
        let url = url.ok_or_else(|| {
            let schemes = schemes.join("/");
            let text = format!("Server \"{server}\": \"url\" must be a {schemes} URL");
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        let headers = self.sent_headers(&remote.headers);
        let headers = self.entries(Field::new("headers", lookup), &headers)?;
        let mut values = self.expander.take_mask_builder();
        values.url(&url);
        own.iter().for_each(|(name, value)| values.variable(name, value));
        headers.iter().for_each(|(name, value)| values.header(name, value));
        let mask = values.build();
        let shown = mask.text(&redact::url(&remote.url)).into_owned();
        let (server, headers) = (server.clone(), bind_headers(headers)?);
        let addresses = Addresses::open_to(scope);
        Ok(Target { server, url, addresses, headers, shown, mask })
    }

    /// The headers without those that only we may set.
    fn sent_headers(&mut self, written: &IndexMap<String, Secret>) -> IndexMap<String, Secret> {
        let mut sent = written.clone();
        sent.retain(|name, _| {
            if is_framing(name) {
                let text = "is left out: how a message is framed is not for a definition to say";
                self.expander.warnings.push(&format!("\"headers.{name}\" {text}"));
            }
            !is_framing(name)
        });
        sent
    }

    /// Variables or headers: the outputs of commands, the values of bare names, and expanded references.
    fn entries(
        &mut self,
        field: Field<'_>,
        written: &IndexMap<String, Secret>,
    ) -> Result<IndexMap<String, String>> {
        let mut entries = IndexMap::with_capacity(written.len());
        for (name, value) in written {
            let (field, value) = (field.entry(name), value.expose());
            let value = if command_of(value).is_some() {
                match self.command_output(field.name, name) {
                    Some(outputs) => outputs,
                    None => continue,
                }
            } else if let Some(value) = self.expander.bare_name_value(field, value) {
                value
            } else {
                self.expander.expand(field, without_escape(value))?
            };
            entries.insert(name.clone(), value);
        }
        Ok(entries)
    }

    /// The variables of a project's remote server: only commands are evaluated.
    fn literal_entries(&mut self, written: &IndexMap<String, Secret>) -> IndexMap<String, String> {
        let literal = |(name, value): (&String, &Secret)| {
            let value = match command_of(value.expose()) {
                Some(_) => self.command_output("env", name)?,
                None => unescaped(without_escape(value.expose())),
            };
            Some((name.clone(), value))
        };
        written.iter().filter_map(literal).collect()
    }

    /// A command's output is always treated as secret.
    fn command_output(&mut self, field: &'static str, name: &str) -> Option<String> {
        let outputs = self.outputs.get(&(field, name.to_owned()))?.expose().to_owned();
        self.expander.add_secret(&outputs);
        Some(outputs)
    }

    /// An expanded path; `None` if it is empty.
    fn path(
        &mut self,
        field: Field<'_>,
        written: &Option<String>,
        scope: &Scope,
    ) -> Result<Option<PathBuf>> {
        let Some(written) = written else { return Ok(None) };
        let path = self.expander.expand(field, written)?;
        Ok((!path.is_empty()).then(|| path_in(scope, &path)))
    }
}

/// The base of relative entries of `PATH`. The user's own definitions have none without a `cwd`: it would be whichever
/// project we were started in.
fn search_base(scope: &Scope, cwd: &Option<PathBuf>) -> Option<PathBuf> {
    match scope.level {
        Level::User => cwd.clone(),
        Level::Explicit | Level::Project => cwd.clone().or_else(|| std::env::current_dir().ok()),
    }
}

/// Names the file as written, which contains no values.
fn unreadable_env_file(written: &str, problem: &text_file::Problem) -> Error {
    let (shown, why) = (redact::text(written), problem.text());
    Error::new(ErrorKind::ConfigIo, format!("The env file \"{shown}\" cannot be read: {why}"))
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

/// One value with its references expanded.
#[cfg(any(test, fuzzing))]
pub(crate) fn expanded(
    text: &str,
    scope: &Scope,
    variables: HashMap<String, String>,
    sent: Sent,
) -> Result<String> {
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
