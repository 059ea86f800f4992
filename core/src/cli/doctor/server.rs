//! Owns the checks of one server, from its definition to its tools. They end with the first broken one.

use std::time::Instant;

use serde_json::Value;

use super::Examined;
use super::finding::{Finding, Verdict};
use super::login::LoginCheck;
use super::{local, network};
use crate::cli::advice::{advised, installer};
use crate::cli::display::{self, command_or_url, quoted_path, short_path};
use crate::cli::status::in_ms;
use crate::config::{Declared, ProjectEntry, ServerConfig, Source, TransportConfig};
use crate::error::{Error, ErrorKind};
use crate::manager::Manager;
use crate::redact;
use crate::resolve::AllowedAddresses;
use crate::resolve::{ProgramTarget, Resolved, resolve};
use crate::shell;

pub(super) async fn examine(manager: &Manager, name: &str, declared: &Declared) -> Examined {
    let config = match &declared.config {
        Ok(config) => config,
        Err(error) => {
            let place = declared.source.path.as_deref().map_or("the config".to_owned(), short_path);
            let invalid = Finding::error("definition", error);
            return Examined::new(name, vec![invalid.or_advice(format!("correct it in {place}"))]);
        }
    };
    if !config.enabled {
        let off = Finding::off("definition", "switched off");
        let enable = shell::mcpool("enable", name, &declared.source.command_option());
        return Examined::new(name, vec![off.with_advice(enable)]);
    }
    let mut findings: Vec<Finding> = bridge(name, declared).into_iter().collect();
    let admitted = match manager.admitted(name) {
        Ok(admitted) => admitted,
        Err(error) if error.kind() == ErrorKind::Untrusted => {
            findings.push(not_trusted(&declared.source, &redact::definition(config.to_value())));
            return Examined::new(name, findings);
        }
        Err(error) => {
            findings.push(Finding::error("definition", &error));
            return Examined::new(name, findings);
        }
    };
    let (of_values, login) = values_and_program(name, &admitted).await;
    findings.extend(of_values);
    if findings.iter().any(|finding| finding.verdict == Verdict::Broken) {
        return Examined::new(name, findings);
    }
    let connection = connect(manager, name, declared, &admitted).await;
    let of_login = match login {
        Some(login) => login.examine(name, declared, &connection).await,
        None => Vec::new(),
    };
    findings.extend(connection);
    findings.extend(of_login);
    Examined::new(name, findings)
}

/// A project's entry that has no effect on a server of the user before it is trusted.
pub(super) fn examine_held_back(entry: &ProjectEntry) -> Option<Examined> {
    let (users, source) = entry.held_back.as_ref()?.servers.first()?;
    let place = source.path.as_deref().map_or_else(|| source.provider.clone(), short_path);
    let path = entry.source.path.as_deref().unwrap_or_default();
    let name = if entry.name.is_empty() { "lists of servers" } else { &entry.name };
    let text = format!(
        "{} is not trusted; it has no effect on your \"{users}\" of {place}",
        short_path(path)
    );
    let finding = Finding::warning("trust", text)
        .with_advice(format!("to see what it would do: mcpool trust {}", quoted_path(path)));
    Some(Examined::new(name, vec![finding]))
}

fn not_trusted(source: &Source, definition: &Value) -> Finding {
    let path = source.path.as_deref().unwrap_or_default();
    let text = format!(
        "{} is not trusted; it would use: {}",
        short_path(path),
        command_or_url(definition)
    );
    let finding = Finding::warning("trust", text).with_advice(format!(
        "to see all of it, and to trust it: mcpool trust {}",
        quoted_path(path)
    ));
    Finding { code: Some(ErrorKind::Untrusted.code()), ..finding }
}

/// A server that is only a bridge to another one.
fn bridge(name: &str, declared: &Declared) -> Option<Finding> {
    let url = command_or_url(&redact::definition(declared.direct.as_ref()?.to_value()));
    let text = "it goes through mcp-remote, though mcpool can connect directly";
    let finding = Finding::warning("bridge", text);
    // "mcpool add" takes no such name: what follows "--" is a command there.
    if shell::is_option(name) {
        return Some(finding);
    }
    let (name, url) = (shell::quote(name), shell::quote(&url));
    let advice = format!("mcpool remove {name}; mcpool add {name} --url {url}");
    Some(finding.with_advice(advice))
}

/// Warnings about its values, where its program is, and the check of its login.
async fn values_and_program(
    name: &str,
    config: &ServerConfig,
) -> (Vec<Finding>, Option<LoginCheck>) {
    let (resolved, warnings) = resolve(&name.into(), config).await;
    let odd = warnings.into_iter().map(|warning| Finding {
        advice: warning.hint.map(str::to_owned),
        ..Finding::warning("values", warning.text)
    });
    let (mut findings, mut login): (Vec<Finding>, _) = (odd.collect(), None);
    match (resolved, &config.transport) {
        (Ok(Resolved::Stdio(ProgramTarget { launch, .. })), _) => {
            findings.extend(local::finding(config, &launch));
            let program = launch.program.display().to_string();
            findings.push(Finding::ok("program", launch.mask.text(&program)));
        }
        (Ok(Resolved::Http(target) | Resolved::WebSocket(target)), _) => {
            login = LoginCheck::new(target, &config.scope).await;
        }
        (Err(error), TransportConfig::Stdio { command, .. })
            if error.kind() == ErrorKind::ConnectFailed =>
        {
            let error = match installer(command) {
                Some(how) => error.with_hint(how),
                None => error,
            };
            findings.push(Finding::error("program", &error));
        }
        (Err(error), _) => findings.push(Finding::error("values", &error)),
    }
    (findings, login)
}

async fn connect(
    manager: &Manager,
    name: &str,
    declared: &Declared,
    config: &ServerConfig,
) -> Vec<Finding> {
    let began = Instant::now();
    let connected = manager.connect(name).await;
    let ms = began.elapsed().as_secs_f64() * 1000.0;
    let findings = match connected {
        Ok(()) => healthy(manager, name, ms),
        Err(error) if error.kind() == ErrorKind::Untrusted => {
            vec![Finding {
                detail: error.message().to_owned(),
                ..not_trusted(&declared.source, &redact::definition(config.to_value()))
            }]
        }
        Err(error) => broken(name, declared, config, error).await,
    };
    // Closed, so that it does not compete with the next ones.
    let _ = manager.disconnect(name).await;
    findings
}

fn healthy(manager: &Manager, name: &str, ms: f64) -> Vec<Finding> {
    let Some(status) = manager.status().into_iter().find(|status| status.name == name) else {
        return Vec::new();
    };
    let software = [status.server_name, status.server_version];
    let software = software.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let protocol = status.protocol_version.unwrap_or_default();
    let handshake = format!("{software}, protocol {protocol}, in {}", in_ms(ms));
    let tools = match status.tool_count {
        0 => Finding::warning("tools", "it has no tools"),
        1 => Finding::ok("tools", "1 tool"),
        count => Finding::ok("tools", format!("{count} tools")),
    };
    vec![Finding::ok("handshake", handshake), tools]
}

async fn broken(
    name: &str,
    declared: &Declared,
    config: &ServerConfig,
    error: Error,
) -> Vec<Finding> {
    let signed_out = matches!(error.kind(), ErrorKind::AuthRequired | ErrorKind::AuthFailed);
    let error = advised(name, Some(declared), error);
    let failed = Finding::error("connect", &error);
    let by_hand =
        format!("run it by hand to see more: {}", command_or_url(&display::definition(config)));
    let mut findings = vec![match config.transport.starts_program() {
        true => failed.or_advice(by_hand),
        false => failed,
    }];
    if let Some(remote) = config.transport.remote()
        && !signed_out
    {
        findings.extend(
            network::examine(&remote.url, AllowedAddresses::for_scope(&config.scope)).await,
        );
    }
    findings
}
