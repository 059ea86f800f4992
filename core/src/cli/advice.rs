//! Owns hints for errors of a server that need the definition, or that name commands of this command line. Other hints
//! come with the errors.

use std::path::Path;

use http::StatusCode;
use indexmap::IndexMap;

use super::display::quoted_path;
use crate::config::{Declared, TransportConfig};
use crate::error::{Error, ErrorKind};
use crate::shell;
use crate::similar::did_you_mean;

/// Programs that servers are started with, and how to install them.
const INSTALLERS: &[(&[&str], &str)] = &[
    (&["npx", "node", "npm"], "install Node.js: https://nodejs.org"),
    (&["uvx", "uv"], "install uv: https://docs.astral.sh/uv"),
    (&["docker"], "install Docker: https://docs.docker.com/get-docker"),
    (&["podman"], "install Podman: https://podman.io"),
    (&["bunx", "bun"], "install Bun: https://bun.sh"),
    (&["deno"], "install Deno: https://deno.com"),
    (&["python", "python3", "pipx"], "install Python: https://www.python.org"),
    (&["dnx", "dotnet"], "install .NET: https://dotnet.microsoft.com"),
];

/// The error with a better hint, if there is one.
pub(super) fn advised(name: &str, declared: Option<&Declared>, error: Error) -> Error {
    match advice(name, declared, &error) {
        Some(advice) => error.with_hint(advice),
        None => error,
    }
}

/// The error for an unknown server, with the most similar name. `file` is the config file that was named, if any.
pub(super) fn no_such_server(
    name: &str,
    servers: &IndexMap<String, Declared>,
    file: Option<&Path>,
) -> Error {
    let error = Error::no_such_server(ErrorKind::ServerNotFound, name);
    if let Some(similar) = did_you_mean(name, servers.keys().map(String::as_str)) {
        return error.with_hint(format!("did you mean \"{similar}\"?"));
    }
    let file = file.map(|path| format!(" --config {}", quoted_path(&path.display().to_string())));
    let list = format!("mcpool list{}", file.unwrap_or_default());
    error.with_hint(format!("this shows the servers that there are: {list}"))
}

/// The server's refusal with the name that was meant by `wanted`, or with the command that lists the names.
pub(super) fn meant_name<'a>(
    refusal: Error,
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
    list_command: &str,
) -> Error {
    match did_you_mean(wanted, names) {
        Some(near) => refusal.with_hint(format!("did you mean \"{near}\"?")).quoting(near),
        None => refusal.with_hint(format!("this shows what there is: {list_command}")),
    }
}

fn advice(name: &str, declared: Option<&Declared>, error: &Error) -> Option<String> {
    let config = declared.and_then(|declared| declared.config.as_ref().ok());
    match error.kind() {
        ErrorKind::ConnectTimeout => {
            let now = config.map(|config| format!(" (now {} ms)", config.timeout.as_millis()));
            let now = now.unwrap_or_default();
            Some(format!("if the server is only slow, give it a longer \"timeout\"{now}"))
        }
        ErrorKind::AuthRequired | ErrorKind::AuthFailed => auth_advice(name, declared, error),
        ErrorKind::Untrusted => {
            let path = declared?.source.path.as_deref()?;
            Some(format!("if you trust that file: mcpool trust {}", quoted_path(path)))
        }
        ErrorKind::ConnectFailed | ErrorKind::HandshakeFailed => {
            let TransportConfig::Stdio { command, .. } = &config?.transport else { return None };
            if error.is_program_missing() {
                return installer(command);
            }
            misses_docker(error).then(|| "start Docker: its daemon does not answer".to_owned())
        }
        _ => None,
    }
}

/// What to do about a refused login. A hint that comes with the error is about the definition, which has to change first.
fn auth_advice(name: &str, declared: Option<&Declared>, error: &Error) -> Option<String> {
    let command = |verb, options: &str| server_command(verb, name, declared, options);
    let is_forbidden = error.http_status() == Some(StatusCode::FORBIDDEN.as_u16());
    match (error.auth_scopes(), error.hint()) {
        (Some(""), _) => Some(format!("sign in: {}", command("auth", ""))),
        (Some(scopes), _) => {
            let sign_in = command("auth", &format!("--scope {}", shell::quote(scopes)));
            Some(format!("sign in with more scopes: {sign_in}"))
        }
        (None, Some(_)) => None,
        (None, None) if is_forbidden => {
            Some(format!("sign in as somebody who may use it: {}", command("auth", "")))
        }
        _ => Some(format!("sign in: {}", command("auth", ""))),
    }
}

/// `mcpool VERB NAME`, for the file that declares the server.
pub(super) fn server_command(
    verb: &str,
    name: &str,
    declared: Option<&Declared>,
    options: &str,
) -> String {
    let file = declared.map(|declared| declared.source.command_option()).unwrap_or_default();
    shell::mcpool(verb, name, format!("{options} {file}").trim())
}

/// Whether the program reported that Docker is not running. Its exit code is the same for many failures, so only its
/// output tells.
fn misses_docker(error: &Error) -> bool {
    let stderr = error.stderr().unwrap_or_default();
    stderr.contains("docker daemon") || stderr.contains("Docker daemon")
}

/// How to install a missing program.
pub(super) fn installer(command: &str) -> Option<String> {
    let program = Path::new(command).file_name()?.to_str()?;
    let known = INSTALLERS.iter().find(|(programs, _)| programs.contains(&program));
    known.map(|(_, how)| (*how).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::error::Stage;
    use rustix::io::Errno;
    use serde_json::json;

    fn hint(definition: serde_json::Value, error: Error) -> String {
        let config = Config::from_value(json!({"mcpServers": {"n": definition}})).unwrap();
        let error = error.with_hint("the error's own");
        advised("n", Some(&config.servers["n"]), error).hint().unwrap().to_owned()
    }

    #[test]
    fn a_missing_program_is_told_with_what_brings_it() {
        let told = |command: &str| {
            let missing = Error::new(ErrorKind::ConnectFailed, "no")
                .with_stage(Stage::Spawn)
                .caused_by(&std::io::Error::from(Errno::NOENT));
            hint(json!({"command": command}), missing)
        };
        assert!(told("npx").contains("Node.js"));
        assert!(told("uvx").contains("install uv"));
        assert!(told("docker").contains("install Docker"));
        assert_eq!(told("something"), "the error's own");
    }

    #[test]
    fn what_the_user_can_do_follows_the_kind_of_error() {
        let server = json!({"command": "x", "timeout": 500});
        let told = |kind| hint(server.clone(), Error::new(kind, "no"));
        assert!(told(ErrorKind::ConnectTimeout).contains("now 500 ms"));
        let words = "Cannot connect to the Docker daemon at unix:///x".to_owned();
        let gone = Error::new(ErrorKind::ConnectFailed, "it exited").with_stderr(Some(words));
        assert!(hint(server, gone).starts_with("start Docker"));
    }

    #[test]
    fn a_refused_login_is_told_with_the_command_that_helps() {
        let told = |error: Error| {
            let config = Config::from_value(json!({"mcpServers": {"n": {"url": "https://h/"}}}));
            let advised = advised("n", Some(&config.unwrap().servers["n"]), error);
            advised.hint().unwrap().to_owned()
        };
        let required = || Error::new(ErrorKind::AuthRequired, "no").with_http_status(401);
        let failed = |status| Error::new(ErrorKind::AuthFailed, "no").with_http_status(status);
        assert_eq!(told(required().with_auth_scopes(&[])), "sign in: mcpool auth n");
        let more = required().with_auth_scopes(&["a".to_owned(), "b'".to_owned()]);
        assert!(told(more).ends_with("mcpool auth n --scope \"a b'\""));
        assert!(told(failed(403)).ends_with("mcpool auth n"));
        assert!(told(failed(401)).ends_with("mcpool auth n"));
        assert_eq!(told(required().with_hint("the error's own")), "the error's own");
    }

    #[test]
    fn the_command_names_the_file_that_discovery_does_not_read() {
        let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
        std::fs::write(file.path(), r#"{"mcpServers": {"n": {"url": "https://h/"}}}"#).unwrap();
        let config = Config::from_file(file.path()).unwrap();
        let command = server_command("auth", "n", Some(&config.servers["n"]), "");
        assert_eq!(command, format!("mcpool auth n --config {}", file.path().display()));
    }
}
