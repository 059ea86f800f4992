//! Owns what a project's definition may not loosen, trusted or not: a later change of these fields asks nobody again.
//! Invariant: every field of a definition is decided here; one that protects the host is never looser than its default.

use std::fmt::Display;
use std::time::Duration;

use super::{Limits, MAX_RESULT_CHARS, RestartPolicy, ServerConfig};

/// The shortest time between two pings.
const SHORTEST_PING_INTERVAL: Duration = Duration::from_secs(1);

impl ServerConfig {
    /// Takes back what a project may not say; returns a warning for each field.
    pub(super) fn bound_to_project(&mut self) -> Vec<String> {
        let ServerConfig {
            // They decide what is started, dialled or sent, and are part of what the user trusts.
            transport: _,
            tls: _,
            headers_helper: _,
            auth: _,
            inherit_env: _,
            shared_identity: _,
            scope: _,
            // Bounded by each manager while the definition is not trusted.
            timeout: _,
            // They concern only calls of this server, which the caller bounds and can cancel.
            tool_timeout: _,
            request_timeout: _,
            // They start no more than the user has trusted, and keep one connection of it.
            enabled: _,
            shared: _,
            lazy: _,
            isolate: _,
            keep_alive: _,
            idle_shutdown: _,
            health_probe: _,
            protocol: _,
            // They can only reduce: without them there is no bound, and all tools are offered.
            max_concurrency: _,
            tools: _,
            requires_approval,
            restart,
            ping_interval,
            max_result_chars,
            limits,
        } = self;
        let mut warnings = Vec::new();
        if !*requires_approval {
            *requires_approval = true;
            warnings.push(
                "a project cannot do without approval; \"requiresApproval\" stays true".to_owned(),
            );
        }
        let slower = restart.at_most_as_often_as(&RestartPolicy::relentless());
        if *restart != slower {
            *restart = slower;
            warnings.push(
                "a project cannot have restarts more often than relentless; \"restart\" waits longer"
                    .to_owned(),
            );
        }
        if let Some(every) = ping_interval.as_mut().filter(|it| **it < SHORTEST_PING_INTERVAL) {
            *every = SHORTEST_PING_INTERVAL;
            warnings.push(not_beyond("pingInterval", "below", SHORTEST_PING_INTERVAL.as_millis()));
        }
        warnings.extend(lowered("maxResultChars", max_result_chars, MAX_RESULT_CHARS));
        warnings.extend(bound_limits(limits));
        warnings
    }
}

fn bound_limits(limits: &mut Limits) -> impl Iterator<Item = String> {
    let most = Limits::default();
    let Limits {
        message_bytes,
        json_depth,
        server_requests,
        reply_bytes,
        text_bytes,
        tool_bytes,
        tool_list_bytes,
    } = limits;
    let lowered = [
        lowered("limits.messageBytes", message_bytes, most.message_bytes),
        lowered("limits.jsonDepth", json_depth, most.json_depth),
        lowered("limits.serverRequests", server_requests, most.server_requests),
        lowered("limits.replyBytes", reply_bytes, most.reply_bytes),
        lowered("limits.textBytes", text_bytes, most.text_bytes),
        lowered("limits.toolBytes", tool_bytes, most.tool_bytes),
        lowered("limits.toolListBytes", tool_list_bytes, most.tool_list_bytes),
    ];
    lowered.into_iter().flatten()
}

fn lowered(field: &str, value: &mut usize, most: usize) -> Option<String> {
    let is_over = *value > most;
    *value = most.min(*value);
    is_over.then(|| not_beyond(field, "above", most))
}

fn not_beyond(field: &str, beyond: &str, bound: impl Display) -> String {
    format!("a project cannot set \"{field}\" {beyond} {bound}; {bound} is used")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::config::{Declared, Level, Limits, RestartPolicy, Scope, ServerConfig, Source};

    fn read(settings: Value, level: Level) -> (ServerConfig, Vec<String>) {
        let mut definition = settings;
        definition["command"] = json!("x");
        let (scope, mut warnings) = (Scope { level, ..Scope::default() }, Vec::new());
        let declared = Declared::read("n", definition, Source::code(), scope, &mut warnings);
        (declared.config.unwrap(), warnings)
    }

    #[test]
    fn a_project_raises_no_bound_that_protects_the_host() {
        let fields = Limits::default().with_all_raised();
        let wanted = json!({"limits": fields, "maxResultChars": 200_000, "pingInterval": 1});
        let (config, warnings) = read(wanted.clone(), Level::Project);
        let usual = read(json!({}), Level::User).0;
        assert_eq!(config.limits, usual.limits);
        assert_eq!(config.max_result_chars, usual.max_result_chars);
        assert_eq!(config.ping_interval.unwrap().as_secs(), 1);
        let names = fields.as_object().unwrap().keys().map(|field| format!("limits.{field}"));
        for field in names.chain(["maxResultChars".into(), "pingInterval".into()]) {
            let refusal = format!("a project cannot set \"{field}\"");
            let named = warnings.iter().filter(|it| it.contains(&refusal)).count();
            assert_eq!(named, 1, "{field}: {warnings:?}");
        }
        let (own, warnings) = read(wanted, Level::User);
        assert_eq!(own.max_result_chars, 200_000, "the user's own may");
        assert!(warnings.iter().all(|it| !it.contains("project")), "{warnings:?}");
        assert!(own.limits.message_bytes > usual.limits.message_bytes);
    }

    #[test]
    fn a_project_may_lower_them() {
        let wanted =
            json!({"limits": {"messageBytes": 5000}, "maxResultChars": 10, "restart": "bounded"});
        let (config, warnings) = read(wanted, Level::Project);
        assert_eq!((config.limits.message_bytes, config.max_result_chars), (5000, 10));
        assert_eq!((config.restart, warnings), (RestartPolicy::bounded(), vec![]));
    }

    #[test]
    fn a_project_restarts_no_more_often_than_by_default() {
        for restart in [
            json!({"delays": [0], "forever": true}),
            json!({"delays": [0, 100], "forever": true}),
            json!({"delays": vec![0; 64]}),
        ] {
            let (config, warnings) = read(json!({"restart": restart}), Level::Project);
            assert!(warnings.len() <= 2 && warnings.iter().any(|it| it.contains("relentless")));
            for restarts in 0..64 {
                let usual = RestartPolicy::relentless().delay(restarts);
                assert!(config.restart.delay(restarts) >= usual, "{restart}, {restarts}");
            }
        }
        for restart in ["relentless", "bounded", "once", "never"] {
            assert_eq!(read(json!({"restart": restart}), Level::Project).1, [""; 0]);
        }
    }

    impl Limits {
        fn with_all_raised(self) -> Value {
            let Limits {
                message_bytes,
                json_depth,
                server_requests,
                reply_bytes,
                text_bytes,
                tool_bytes,
                tool_list_bytes,
            } = self;
            json!({
                "messageBytes": message_bytes + 1,
                "jsonDepth": json_depth + 1,
                "serverRequests": server_requests + 1,
                "replyBytes": reply_bytes + 1,
                "textBytes": text_bytes + 1,
                "toolBytes": tool_bytes + 1,
                "toolListBytes": tool_list_bytes + 1,
            })
        }
    }
}
