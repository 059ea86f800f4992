//! Binds the values of a definition: references expanded, the program found, the environment, URL and headers ready to
//! use, and all secrets in the mask.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use url::Url;

use super::command::{CommandOutputs, HEADERS_HELPER, command_of, without_escape};
use super::command_line;
use super::environment::{find_file, find_program, inherited, without_earlier_values};
use super::expand::{Expander, Field, LookupScope, path_beside_file, path_in, unescaped};
use super::files::{Files, has_variables};
use super::warnings::Warnings;
use super::{
    AllowedAddresses, HttpDialect, PemFile, ProgramTarget, Target, TlsFiles, env_file, invalid,
    text_file,
};
use crate::caller::ConnectionHeaders;
use crate::config::{AuthConfig, InheritEnv, Level, Remote, Scope, TlsConfig};
use crate::error::{Error, ErrorKind, Message, Result, Stage};
use crate::file_system::NOT_FOUND;
use crate::headers::{bind_headers, is_framing};
use crate::host_env::Platform;
use crate::process::Launch;
use crate::redact::{self, Secret};

/// A stdio definition as written.
pub(super) struct WrittenStdio<'a> {
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a IndexMap<String, Secret>,
    pub(super) env_file: &'a Option<String>,
    pub(super) cwd: &'a Option<String>,
}

/// Binds the values of one definition.
pub(super) struct Binder<'a> {
    scope: &'a Scope,
    expander: Expander<'a>,
    outputs: CommandOutputs,
}

/// A stdio definition with its references expanded.
pub(super) struct ExpandedStdio {
    command: String,
    args: Vec<String>,
    cwd: Option<PathBuf>,
    own: IndexMap<String, String>,
    from_file: Vec<(String, String)>,
}

impl<'a> Binder<'a> {
    pub(super) fn new(
        scope: &'a Scope,
        outputs: CommandOutputs,
        warnings: &'a mut Warnings,
    ) -> Self {
        let mut files = Files::default();
        let variables = read_variables(scope, &mut files, warnings);
        Binder { scope, expander: Expander::new(scope, variables, files, warnings), outputs }
    }

    pub(super) fn scope(&self) -> &'a Scope {
        self.scope
    }

    pub(super) fn warn(&mut self, text: &str) {
        self.expander.warnings.push(text);
    }

    pub(super) fn add_secret(&mut self, value: &str) {
        self.expander.add_secret(value);
    }

    pub(super) fn sent_lookup(&self) -> LookupScope {
        self.expander.sent_lookup()
    }

    pub(super) fn expand(&mut self, field: Field<'_>, text: &str) -> Result<String> {
        self.expander.expand(field, text)
    }

    /// The files that were read.
    pub(super) fn take_files(&mut self) -> Files {
        self.expander.take_files()
    }

    pub(super) fn expand_stdio(
        &mut self,
        server: &str,
        written: WrittenStdio<'_>,
    ) -> Result<ExpandedStdio> {
        let scope = self.scope;
        let own = self.entries(Field::new("env", LookupScope::Outside), written.env)?;
        self.expander.set_own(own.clone());
        let plain = |name| Field::new(name, LookupScope::All);
        let command = self.expander.expand(plain("command"), written.command)?;
        if command.is_empty() {
            let text = "stdio server requires \"command\" field";
            return Err(Error::new(ErrorKind::ConfigInvalid, text).with_server(server));
        }
        let args = written.args.iter().map(|arg| self.expander.expand(plain("args"), arg));
        let args = args.collect::<Result<Vec<_>>>()?;
        let cwd = self.path(plain("cwd"), written.cwd)?;
        let cwd = cwd.or(match scope.level {
            Level::Project => scope.directory.clone(),
            Level::Explicit | Level::User => None,
        });
        let env_file = self.path(plain("envFile"), written.env_file)?;
        let from_file = match (env_file, written.env_file) {
            (Some(file), Some(written)) => {
                let text = self.expander.read_file(&file, written);
                text.and_then(|text| env_file::entries(&text))
                    .map_err(|problem| unreadable_env_file(written, &problem))?
            }
            _ => Vec::new(),
        };
        Ok(ExpandedStdio { command, args, cwd, own, from_file })
    }

    pub(super) fn bind_stdio(
        &mut self,
        server: &Arc<str>,
        inherit_env: InheritEnv,
        written: WrittenStdio<'_>,
        auth: Option<&AuthConfig>,
    ) -> Result<ProgramTarget> {
        let (scope, command_as_written) = (self.scope, written.command);
        let ExpandedStdio { command, args, cwd, own, from_file } =
            self.expand_stdio(server, written)?;
        let login = self.bind_given_login(auth)?;
        let mut values = self.expander.take_mask_builder();
        values.args(&args);
        own.iter().for_each(|(name, value)| values.variable(name, value));
        from_file.iter().for_each(|(name, value)| values.variable(name, value));
        let mut env = inherited(inherit_env, scope);
        values.inherited(&env);
        env.extend(from_file.into_iter().map(|(name, value)| (name.into(), value.into())));
        env.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
        let platform = Platform::current();
        let env = without_earlier_values(env, platform);
        let program = if platform.is_path(&command) {
            let path = path_in(scope, &command);
            // A missing program is reported when it is started.
            match find_file(path.clone(), &env, platform) {
                None if command_line::is_one(&command) && !path.exists() => {
                    return Err(not_found(command_as_written));
                }
                found => found.unwrap_or(path),
            }
        } else {
            let base = search_base(scope, &cwd);
            find_program(&command, &env, base.as_deref(), platform)
                .ok_or_else(|| not_found(command_as_written))?
        };
        let mask = values.build();
        let launch = Launch { server: server.clone(), program, args, env, cwd, mask };
        Ok(ProgramTarget { launch, login })
    }

    pub(super) fn bind_remote(
        &mut self,
        server: &Arc<str>,
        remote: &Remote,
        tls: Option<&TlsConfig>,
        auth: Option<&AuthConfig>,
        schemes: &[&str],
    ) -> Result<Target> {
        let own = match self.scope.level {
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
            let text = format!("\"url\" must be a {schemes} URL");
            Error::new(ErrorKind::ConfigInvalid, text).with_server(server)
        })?;
        let tls = tls.map(|tls| self.bind_tls(server, tls)).transpose()?;
        let headers = self.sent_headers(&remote.headers);
        let mut headers = self.entries(Field::new("headers", lookup), &headers)?;
        self.add_helped(&mut headers);
        let mut bound = bind_headers(headers.clone()).map_err(|problem| invalid(&problem))?;
        let sign_in = self.bind_auth(auth, &url, &mut bound)?;
        let mut values = self.expander.take_mask_builder();
        values.url(&url);
        own.iter().for_each(|(name, value)| values.variable(name, value));
        headers.iter().for_each(|(name, value)| values.header(name, value));
        let mask = values.build();
        let shown = mask.text(&redact::url(&remote.url)).into_owned();
        let (server, headers) = (server.clone(), bound);
        let addresses = AllowedAddresses::for_scope(self.scope);
        let dialect = HttpDialect::Streamable;
        let caller = Arc::<ConnectionHeaders>::default();
        Ok(Target { server, url, dialect, addresses, headers, caller, sign_in, tls, shown, mask })
    }

    /// Reads the files. Those of a project that is not trusted are not read: a certificate tells the server who we are.
    fn bind_tls(&mut self, server: &str, tls: &TlsConfig) -> Result<TlsFiles> {
        if self.scope.is_restricted() {
            let text = format!(
                "Refused to use the \"tls\" files of server \"{server}\" because its project is not trusted"
            );
            let error = Error::new(ErrorKind::Untrusted, text).naming_server(server);
            return Err(error.with_hint("mcpool trust"));
        }
        if tls.cert.is_some() != tls.key.is_some() {
            let text = "\"tls\" needs both \"cert\" and \"key\", or neither";
            return Err(Error::new(ErrorKind::ConfigInvalid, text).with_server(server));
        }
        self.read_tls(server, tls)
    }

    pub(super) fn read_tls(&mut self, server: &str, tls: &TlsConfig) -> Result<TlsFiles> {
        let ca = self.pem_file(server, "tls.ca", &tls.ca)?;
        let cert = self.pem_file(server, "tls.cert", &tls.cert)?;
        let key = self.pem_file(server, "tls.key", &tls.key)?;
        Ok(TlsFiles { ca, client: cert.zip(key) })
    }

    fn pem_file(
        &mut self,
        server: &str,
        field: &'static str,
        written: &Option<String>,
    ) -> Result<Option<PemFile>> {
        let Some(written) = written else { return Ok(None) };
        let path = self.expander.expand(Field::new(field, LookupScope::All), written)?;
        if path.is_empty() {
            return Ok(None);
        }
        let path = path_beside_file(self.scope, &path);
        match self.expander.read_file(&path, written) {
            Ok(text) => {
                // The file of a certificate may contain its key too.
                if field == "tls.key" || text.contains("PRIVATE KEY") {
                    self.expander.mark_private(&path);
                }
                Ok(Some(PemFile { field, text: Secret::new(text) }))
            }
            Err(problem) => {
                let path = match has_variables(written) {
                    true => redact::text(written).to_string(),
                    false => path.display().to_string(),
                };
                let text = Message::new(format!("\"{field}\""))
                    .detail(&format!(" ({path})"))
                    .text(&format!(" cannot be used: {}", problem.text()));
                // Not an error of the definition: a file that is being renewed may be missing for a moment.
                let error = Error::new(ErrorKind::ConnectFailed, text).with_server(server);
                Err(error.with_stage(Stage::Resolve))
            }
        }
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

    /// Adds what the command for headers has printed; it wins over what is written.
    fn add_helped(&mut self, headers: &mut IndexMap<String, String>) {
        let Some(output) = self.command_output(HEADERS_HELPER, "") else { return };
        let Ok(printed) = serde_json::from_str::<IndexMap<String, String>>(&output) else {
            let text = "is left out: its command printed no JSON object of texts";
            return self.warn(&format!("\"{HEADERS_HELPER}\" {text}"));
        };
        for (name, value) in printed {
            if is_framing(&name) {
                let text = "is left out: how a message is framed is not for a definition to say";
                self.warn(&format!("\"{HEADERS_HELPER}\": {name} {text}"));
                continue;
            }
            headers.retain(|written, _| !written.eq_ignore_ascii_case(&name));
            headers.insert(name, value);
        }
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
    fn path(&mut self, field: Field<'_>, written: &Option<String>) -> Result<Option<PathBuf>> {
        let Some(written) = written else { return Ok(None) };
        let path = self.expander.expand(field, written)?;
        Ok((!path.is_empty()).then(|| path_in(self.scope, &path)))
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
fn not_found(command_as_written: &str) -> Error {
    let command = format!("Command \"{}\"", redact::text(command_as_written));
    let text = Message::default().command(&command).text(" was not found");
    let error = Error::new(ErrorKind::ConnectFailed, text)
        .with_stage(Stage::Spawn)
        .caused_by(&std::io::Error::from_raw_os_error(NOT_FOUND));
    match command_line::advice(command_as_written) {
        Some(advice) => error.with_hint(advice),
        None => error.with_hint("is it installed, and on the PATH that the server gets?"),
    }
}

fn unreadable_env_file(written: &str, problem: &text_file::TextFileError) -> Error {
    let (shown, why) = (redact::text(written), problem.text());
    Error::new(ErrorKind::ConfigIo, format!("The env file \"{shown}\" cannot be read: {why}"))
}

/// The variables of the scope's file; empty if the file does not exist.
fn read_variables(
    scope: &Scope,
    files: &mut Files,
    warnings: &mut Warnings,
) -> HashMap<String, String> {
    let Some(path) = &scope.variables else { return HashMap::new() };
    match files.read(path, "").and_then(|text| env_file::entries(&text)) {
        Ok(entries) => entries.into_iter().collect(),
        Err(text_file::TextFileError::Missing) => HashMap::new(),
        Err(problem) => {
            let (path, why) = (path.display(), problem.text());
            warnings.push(&format!("the variables of {path} are not used: {why}"));
            HashMap::new()
        }
    }
}
