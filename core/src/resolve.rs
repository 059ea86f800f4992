//! Owns the step from a written definition to something that can be started or dialled: the child's environment, the
//! checked URL, the bound headers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rustix::fs::{Access, access};
use url::Url;

use crate::config::{InheritEnv, Remote, ServerConfig, Transport};
use crate::error::{Error, ErrorKind, Result};
use crate::wire::http::Target;
use crate::wire::process::Launch;

/// What programs need of our environment, and what holds no secrets.
const SAFE: &[&str] =
    &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ"];

/// What a server without a `PATH` gets its program from.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A server, ready to be reached.
pub(crate) enum Resolved {
    Stdio(Launch),
    Http(Target),
}

pub(crate) fn resolve(server: &Arc<str>, config: &ServerConfig) -> Result<Resolved> {
    match &config.transport {
        Transport::Stdio { command, args, env, env_file, cwd } => {
            let inherited = std::env::vars_os().filter(|(name, _)| match config.inherit_env {
                InheritEnv::All => true,
                InheritEnv::None => false,
                InheritEnv::Safe => SAFE.iter().any(|safe| name == safe),
            });
            let from_file = env_file.as_ref().map_or(Ok(Vec::new()), |file| read_env_file(file))?;
            let from_file = from_file.into_iter().map(|(name, value)| (name.into(), value.into()));
            let own = env.iter().map(|(name, value)| (name.into(), value.expose().into()));
            let env: Vec<(OsString, OsString)> = inherited.chain(from_file).chain(own).collect();
            Ok(Resolved::Stdio(Launch {
                server: server.clone(),
                program: find_program(command, &env)?,
                args: args.clone(),
                env,
                cwd: cwd.as_ref().map(Into::into),
            }))
        }
        Transport::Http(remote) => Ok(Resolved::Http(target(remote)?)),
        Transport::Sse(_) | Transport::WebSocket(_) => Err(invalid(&format!(
            "the {} transport is not available in this version",
            config.transport.name()
        ))
        .with_hint("many servers also speak Streamable HTTP: use \"type\": \"http\"")),
    }
}

fn read_env_file(file: &str) -> Result<Vec<(String, String)>> {
    let refused = |error: dotenvy::Error| {
        // What is wrong with a line is told without the line, which may hold a secret.
        let why = match error {
            dotenvy::Error::Io(error) => error.to_string(),
            _ => "a line is not NAME=value".to_owned(),
        };
        Error::new(ErrorKind::ConfigIo, format!("The env file \"{file}\" cannot be read: {why}"))
    };
    let lines = dotenvy::from_path_iter(file).map_err(refused)?;
    lines.map(|line| line.map_err(refused)).collect()
}

/// Where the program is, by the `PATH` that the server gets.
fn find_program(command: &str, env: &[(OsString, OsString)]) -> Result<PathBuf> {
    if command.contains('/') {
        return Ok(command.into());
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
    std::env::split_paths(&path)
        .map(|directory| directory.join(command))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
        .ok_or_else(|| {
            Error::new(ErrorKind::ConnectFailed, format!("Command \"{command}\" was not found"))
                .with_hint("is it installed, and on the PATH that the server gets?")
        })
}

fn target(remote: &Remote) -> Result<Target> {
    let url = Url::parse(&remote.url).map_err(|error| invalid(&format!("\"url\": {error}")))?;
    let mut headers = HeaderMap::new();
    for (name, value) in &remote.headers {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| invalid(&format!("\"{name}\" cannot be the name of a header")))?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| {
            invalid(&format!(
                "the value of header \"{name}\" has characters that no header may have"
            ))
        })?;
        value.set_sensitive(true);
        headers.append(header, value);
    }
    Ok(Target { url, headers })
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::ConfigInvalid, format!("The definition cannot be used: {what}"))
}
