//! Owns the types of the events: each has a sequence number, a time and a server. Readers get them through `stream`.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::scan::Signal;
use crate::similar::did_you_mean;
use crate::status::{Reason, State};
use crate::task::TaskStatus;

mod queue;
mod stream;

pub(crate) use stream::EventLog;
pub use stream::Events;

/// One event.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// Increases by one with each event of a manager.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// The server it is about; empty for all servers.
    pub server: String,
    /// Whose connection it is about, if that is not the manager's own identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A server's state changed.
    Status {
        /// The new state.
        state: State,
        /// What went wrong, if anything.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<crate::Error>,
        /// Why an attempt is made or scheduled.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
        /// Attempts since the server was last stable.
        attempt: u32,
        /// When the next automatic attempt is due, in milliseconds from now.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_retry_ms: Option<u64>,
    },
    /// A server's tools in the catalog changed, or became live or deferred.
    ToolsChanged {
        /// How many tools it has now.
        tool_count: usize,
    },
    /// The server sent a log message, or mcpool logged something about it.
    Log {
        /// Who logged it.
        origin: LogOrigin,
        /// The severity, as the server names it.
        level: String,
        /// The part of the server that logged it.
        #[serde(skip_serializing_if = "Option::is_none")]
        logger: Option<String>,
        /// The message.
        data: serde_json::Value,
    },
    /// A reload changed the servers of the manager.
    ConfigChanged {
        /// New servers.
        added: Vec<String>,
        /// Removed servers.
        removed: Vec<String>,
        /// Servers that were replaced by another definition of the same name.
        restarted: Vec<String>,
        /// Servers whose settings changed while they kept running.
        updated: Vec<String>,
    },
    /// A tool differs from when it was first seen.
    ToolDrift {
        /// The tool's name on its server.
        tool: String,
        /// The pinned fingerprint.
        pinned: String,
        /// The current fingerprint.
        fingerprint: String,
        /// The differences, one for each part.
        changes: Vec<DriftChange>,
        /// Whether the tool is blocked for it.
        blocked: bool,
    },
    /// A skill differs from when it was first seen.
    SkillDrift {
        /// Its address.
        skill: String,
        /// The pinned fingerprint.
        pinned: String,
        /// The current fingerprint.
        fingerprint: String,
        /// The differences, as paths into the entry of the skill.
        changes: Vec<DriftChange>,
        /// Whether the skill is blocked for it.
        blocked: bool,
    },
    /// A call started or finished. Only sent if the manager's options ask for it.
    Call {
        /// Started or finished.
        phase: CallPhase,
        /// The number of the call in its manager; the same for both events.
        call: u64,
        /// The tool's name on its server.
        tool: String,
        /// The redacted arguments, when the call starts.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<serde_json::Value>,
        /// The duration, when the call finishes.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<f64>,
        /// Whether the tool reports a failure, if it answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        /// Why there is no answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<crate::Error>,
        /// The caller cancelled the call: there is neither an answer nor an error.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cancelled: bool,
    },
    /// A call with a progress callback made progress.
    Progress {
        /// The tool's name on its server.
        tool: String,
        /// The progress so far.
        #[serde(flatten)]
        progress: crate::Progress,
    },
    /// A call waits for a task, or that task has another status.
    Task {
        /// The tool's name on its server.
        tool: String,
        /// The task's id, for the option `resume_task` of a later call.
        task_id: String,
        /// How far it is.
        status: TaskStatus,
        /// What the server says about that.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A server's text tries to give instructions to a model.
    Injection {
        /// Which text it is.
        place: InjectionPlace,
        /// The tool's name on its server; `None` for a server's instructions and for a skill.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// The address of the skill, if it is the text of one.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill: Option<String>,
        /// What was found.
        signals: Vec<Signal>,
    },
    /// A server requires authentication.
    AuthRequired {
        /// The server's answer.
        error: crate::Error,
    },
    /// A server's list of resources or of resource templates changed.
    ResourcesChanged,
    /// A resource that the manager has subscribed to changed.
    ResourceUpdated {
        /// Its address.
        uri: String,
    },
    /// A server's list of prompts changed.
    PromptsChanged,
    /// A person has finished on the page of an elicitation.
    ElicitationComplete {
        /// The id from its request.
        elicitation_id: String,
    },
    /// This reader was too slow and lost events; `seq` is the number of the last lost one.
    Lost {
        /// How many events were lost.
        count: u64,
    },
}

impl EventKind {
    /// Every event type: the values of `type`.
    pub const TYPES: &'static [&'static str] = &[
        "status",
        "tools_changed",
        "tool_drift",
        "skill_drift",
        "call",
        "progress",
        "task",
        "log",
        "injection",
        "auth_required",
        "config_changed",
        "resources_changed",
        "resource_updated",
        "prompts_changed",
        "elicitation_complete",
        "lost",
    ];

    /// Refuses a type that no event has.
    #[doc(hidden)]
    pub fn check_type(name: &str) -> Result<()> {
        if Self::TYPES.contains(&name) {
            return Ok(());
        }
        let hint = match did_you_mean(name, Self::TYPES.iter().copied()) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("the events are {}", Self::TYPES.join(", ")),
        };
        let text = format!("There is no event \"{name}\"");
        Err(Error::new(ErrorKind::InvalidArguments, text).with_hint(hint))
    }

    /// The event's type, one of [`EventKind::TYPES`].
    pub fn name(&self) -> &'static str {
        match self {
            EventKind::Status { .. } => "status",
            EventKind::ToolsChanged { .. } => "tools_changed",
            EventKind::ToolDrift { .. } => "tool_drift",
            EventKind::SkillDrift { .. } => "skill_drift",
            EventKind::Call { .. } => "call",
            EventKind::Progress { .. } => "progress",
            EventKind::Task { .. } => "task",
            EventKind::Log { .. } => "log",
            EventKind::Injection { .. } => "injection",
            EventKind::AuthRequired { .. } => "auth_required",
            EventKind::ConfigChanged { .. } => "config_changed",
            EventKind::ResourcesChanged => "resources_changed",
            EventKind::ResourceUpdated { .. } => "resource_updated",
            EventKind::PromptsChanged => "prompts_changed",
            EventKind::ElicitationComplete { .. } => "elicitation_complete",
            EventKind::Lost { .. } => "lost",
        }
    }
}

/// One changed part of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DriftChange {
    /// A JSON pointer into the tool's entry, such as `/inputSchema/properties/path`.
    pub path: String,
    /// The previous value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<serde_json::Value>,
    /// The new value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<serde_json::Value>,
}

/// The phase of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallPhase {
    /// The call was submitted.
    Started,
    /// The call ended, with any outcome.
    Finished,
}

/// The kind of a server's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionPlace {
    /// A tool's result.
    Result,
    /// A tool's description or schema.
    Description,
    /// A server's instructions.
    Instructions,
    /// The entry of a skill.
    Skill,
}

/// How severe the log messages of a server are at least, from all to only the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// For debugging.
    Debug,
    /// What goes on.
    Info,
    /// What is worth noting.
    Notice,
    /// What may become a problem.
    Warning,
    /// Failures.
    Error,
    /// Failures of a part.
    Critical,
    /// What somebody has to do something about at once.
    Alert,
    /// The server cannot be used.
    Emergency,
}

/// Who wrote a log message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogOrigin {
    /// The server, by `notifications/message`.
    Server,
    /// This library, about the server.
    Mcpool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One event of each type. A new type must be added here, to the list and to the languages.
    fn one_of_each() -> Vec<EventKind> {
        let (tool, none) = (String::new, Vec::new);
        let error = crate::Error::new(crate::ErrorKind::AuthRequired, "");
        vec![
            EventKind::Status {
                state: State::Idle,
                error: None,
                reason: None,
                attempt: 0,
                next_retry_ms: None,
            },
            EventKind::ToolsChanged { tool_count: 0 },
            EventKind::ToolDrift {
                tool: tool(),
                pinned: tool(),
                fingerprint: tool(),
                changes: Vec::new(),
                blocked: false,
            },
            EventKind::SkillDrift {
                skill: tool(),
                pinned: tool(),
                fingerprint: tool(),
                changes: Vec::new(),
                blocked: false,
            },
            EventKind::Call {
                phase: CallPhase::Started,
                call: 1,
                tool: tool(),
                arguments: None,
                duration_ms: None,
                is_error: None,
                error: None,
                cancelled: false,
            },
            EventKind::Progress {
                tool: tool(),
                progress: crate::Progress { progress: 0.0, total: None, message: None },
            },
            EventKind::Task {
                tool: tool(),
                task_id: tool(),
                status: TaskStatus::Working,
                message: None,
            },
            EventKind::Log {
                origin: LogOrigin::Mcpool,
                level: tool(),
                logger: None,
                data: serde_json::Value::Null,
            },
            EventKind::Injection {
                place: InjectionPlace::Result,
                tool: None,
                skill: None,
                signals: Vec::new(),
            },
            EventKind::AuthRequired { error },
            EventKind::ConfigChanged {
                added: none(),
                removed: none(),
                restarted: none(),
                updated: none(),
            },
            EventKind::ResourcesChanged,
            EventKind::ResourceUpdated { uri: tool() },
            EventKind::PromptsChanged,
            EventKind::ElicitationComplete { elicitation_id: tool() },
            EventKind::Lost { count: 1 },
        ]
    }

    #[test]
    fn the_list_of_types_matches_the_events() {
        let all = one_of_each();
        assert_eq!(all.iter().map(EventKind::name).collect::<Vec<_>>(), EventKind::TYPES);
        for kind in all {
            let name = kind.name();
            assert_eq!(serde_json::to_value(kind).unwrap()["type"], name);
        }
    }
}
