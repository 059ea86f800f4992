//! Owns the checks of one server, from its definition to its tools; the first that is broken ends them.

use std::time::Instant;

use super::Examined;
use super::finding::{Finding, Verdict};
use super::network;
use crate::cli::advice::{advised, installer};
use crate::cli::shown::{self, quoted, reach, short};
use crate::cli::status::in_ms;
use crate::cli::trust::Known;
use crate::config::{Declared, ServerConfig, Transport};
use crate::error::{Error, ErrorKind};
use crate::manager::Manager;
use crate::redact;
use crate::resolve::{Resolved, resolve};

pub(super) async fn examine(
    manager: &Manager,
    name: &str,
    declared: &Declared,
    known: &Known,
) -> Examined {
    let config = match &declared.config {
        Ok(config) => config,
        Err(error) => {
            let place = declared.source.path.as_deref().map_or("the config".to_owned(), short);
            let invalid = Finding::error("definition", error);
            return Examined::new(name, vec![invalid.or_advice(format!("correct it in {place}"))]);
        }
    };
    if !config.enabled {
        let off = Finding::off("definition", "switched off");
        return Examined::new(name, vec![off.with_advice(format!("mcpool enable {name}"))]);
    }
    let mut findings: Vec<Finding> = bridge(name, declared).into_iter().collect();
    if !known.allows(name, declared) {
        let path = declared.source.path.as_deref().unwrap_or_default();
        let definition = reach(&shown::definition(config));
        let blocked = format!("{} is not trusted; it would start: {definition}", short(path));
        findings.push(
            Finding::warning("trust", blocked)
                .with_advice(format!("if you trust that: mcpool trust {}", quoted(path))),
        );
        return Examined::new(name, findings);
    }
    let resolved = values_and_program(name, config).await;
    findings.extend(resolved);
    if findings.iter().any(|finding| finding.verdict == Verdict::Broken) {
        return Examined::new(name, findings);
    }
    findings.extend(connect(manager, name, declared, config).await);
    Examined::new(name, findings)
}

/// A server that only leads to another one.
fn bridge(name: &str, declared: &Declared) -> Option<Finding> {
    let url = reach(&redact::definition(declared.direct.as_ref()?.to_value()));
    let text = "it goes through mcp-remote, though mcpool can connect directly";
    let advice = format!("mcpool remove {name}; mcpool add {name} --url '{url}'");
    Some(Finding::warning("bridge", text).with_advice(advice))
}

/// What is odd about its values, and where its program is.
async fn values_and_program(name: &str, config: &ServerConfig) -> Vec<Finding> {
    let mut config = config.clone();
    config.scope.trusted = true;
    let (resolved, warnings) = resolve(&name.into(), &config).await;
    let odd = warnings.iter().map(|warning| {
        let finding = Finding::warning("values", warning);
        match warning.contains("is not set") {
            true => finding.with_advice("export that variable, or write ${NAME:-default}"),
            false => finding,
        }
    });
    let mut findings: Vec<Finding> = odd.collect();
    match (resolved, &config.transport) {
        (Ok(Resolved::Stdio(launch)), _) => {
            findings.push(Finding::ok("program", launch.program.display().to_string()));
        }
        (Ok(Resolved::Http(_)), _) => {}
        (Err(error), Transport::Stdio { command, .. })
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
    findings
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
        Err(error) => broken(name, declared, config, error).await,
    };
    // The next ones have the machine to themselves.
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
    let by_hand = format!("run it by hand to see more: {}", reach(&shown::definition(config)));
    let mut findings = vec![match config.transport {
        Transport::Stdio { .. } => failed.or_advice(by_hand),
        _ => failed,
    }];
    if let Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote) =
        &config.transport
        && !signed_out
    {
        findings.extend(network::examine(&remote.url).await);
    }
    findings
}
