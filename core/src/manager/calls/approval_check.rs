//! Owns asking a person before a call is sent: whom, for how long, and what the answer means.
//! Invariant: one question a call, however often it is sent; whoever gives the call up takes the question back.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::server::Server;
use super::super::{Inner, Manager};
use crate::approval::{ApprovalQuestion, Approver, AskFunction, OnApproval, Rule};
use crate::call::{Arguments, CallOptions, OnQuestion, Waiter};
use crate::catalog::{Catalog, Names, Naming, Offer, provider_of};
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::per_process::Local;
use crate::question::Question;
use crate::runtime;
use crate::tool::ServerTool;

/// What stands between a call and its server, where a manager asks.
pub(super) struct ApprovalCheck {
    approver: Approver,
    rule: Rule,
    limit: Duration,
    on_question: Option<OnQuestion>,
    provider: String,
    /// The tool's name in the catalog, where it is known before the server is.
    name: Option<String>,
    manager: Weak<Inner>,
    left: Arc<Notify>,
    passed: AtomicBool,
}

enum Said {
    Yes,
    No,
    Failed,
}

impl Manager {
    /// The rule for the tools of a server, where somebody is asked about them.
    pub(super) fn asks(&self, config: &ServerConfig) -> Option<(&OnApproval, Rule)> {
        let options = &self.0.options;
        let on_approval = options.on_approval.as_ref()?;
        Some((on_approval, Rule { policy: options.approval, wanted: config.requires_approval }))
    }

    pub(super) fn approval_check(
        &self,
        known: &Server,
        config: &ServerConfig,
        options: &mut CallOptions,
    ) -> Option<Box<ApprovalCheck>> {
        let (OnApproval(approver), rule) = self.asks(config)?;
        Some(Box::new(ApprovalCheck {
            approver: approver.clone(),
            rule,
            limit: self.0.options.approval_timeout,
            on_question: options.on_question.take(),
            provider: provider_of(&known.name, &known.declared.source.provider),
            name: None,
            manager: Arc::downgrade(&self.0),
            left: known.left(),
            passed: AtomicBool::new(false),
        }))
    }
}

impl ApprovalCheck {
    /// Looks the tool's name up, on the thread of the caller: a naming function may belong to it.
    pub(super) fn look_up(&mut self, manager: &Manager, tool: &ServerTool) {
        self.name = name_in(&manager.catalog(), tool);
    }

    /// Whether somebody has to be asked before a session that is up may have the call.
    pub(super) fn is_closed_to(&self, tool: &ServerTool, offer: &Offer) -> bool {
        let holds = || offer.trusts_hints(tool);
        !self.has_passed() && self.rule.applies(tool, holds)
    }

    /// Whether the answer was yes.
    pub(super) fn has_passed(&self) -> bool {
        self.passed.load(Ordering::Relaxed)
    }

    /// Asks, and waits for the answer; nothing else is the way through.
    pub(super) async fn pass(
        &self,
        tool: &ServerTool,
        arguments: &Arguments,
        waiter: &Waiter,
        total: Option<Duration>,
    ) -> Result<()> {
        let left = self.left.notified();
        tokio::pin!(left);
        // From here on nobody lets go of the server unheard.
        left.as_mut().enable();
        self.check_held(tool)?;
        let limit = total.unwrap_or(self.limit).min(self.limit);
        let answer = self.put(self.question(tool, arguments)?, waiter);
        let said = tokio::select! {
            said = timeout(limit, answer) => said,
            () = left => return Err(disconnected(tool)),
        };
        match said {
            Ok(Said::Yes) => {
                self.check_held(tool)?;
                self.passed.store(true, Ordering::Relaxed);
                Ok(())
            }
            Ok(Said::No) => Err(refused(tool)),
            Ok(Said::Failed) => Err(failed(tool)),
            Err(_) if limit < self.limit => Err(late_for_the_call(tool)),
            Err(_) => Err(late(tool)),
        }
    }

    fn check_held(&self, tool: &ServerTool) -> Result<()> {
        let manager = self.manager.upgrade().ok_or_else(Error::closed);
        let manager = manager.and_then(|manager| manager.check_open().map(|()| manager));
        let manager = manager.map_err(|error| error.with_executed(Executed::No))?;
        let servers = manager.servers.load();
        match servers.get(tool.server()) {
            // What is offered may be something else since the question was put.
            Some(server) if !server.was_left() => server.offer.check_settled_name(tool.raw_name()),
            _ => Err(disconnected(tool)),
        }
    }

    fn question(&self, tool: &ServerTool, arguments: &Arguments) -> Result<ApprovalQuestion> {
        let arguments = String::from_utf8_lossy(arguments.json()).into_owned();
        let arguments = RawValue::from_string(arguments).map_err(|error| {
            let text = format!("The arguments are not JSON: {error}");
            Error::new(ErrorKind::InvalidArguments, text).with_executed(Executed::No)
        })?;
        Ok(ApprovalQuestion {
            server: tool.server().to_owned(),
            tool: tool.raw_name().to_owned(),
            name: self.name.clone().unwrap_or_else(|| self.name_of(tool)),
            arguments,
            description: tool.description(),
            annotations: tool.annotations().and_then(|json| serde_json::from_str(json).ok()),
            provider: self.provider.clone(),
        })
    }

    /// The name of a tool that became known only now, on a thread of ours, where no naming function may run.
    fn name_of(&self, tool: &ServerTool) -> String {
        let Some(inner) = self.manager.upgrade() else { return tool.raw_name().to_owned() };
        let manager = Manager(Local::new(inner.clone()));
        let known = name_in(&manager.built_catalog(), tool);
        let name = known.or_else(|| match inner.options.naming {
            Naming::Function(_) => {
                name_in(&manager.build_catalog(&Names::new(Naming::Plain)), tool)
            }
            _ => name_in(&manager.catalog(), tool),
        });
        name.unwrap_or_else(|| tool.raw_name().to_owned())
    }

    fn put(
        &self,
        question: ApprovalQuestion,
        waiter: &Waiter,
    ) -> Pin<Box<dyn Future<Output = Said> + Send>> {
        match &self.approver {
            Approver::Function(ask) => Box::pin(ask_function(ask.clone(), question)),
            Approver::Caller => {
                let server = question.server.clone();
                let (question, answer) = Question::new("approval", &question);
                match &self.on_question {
                    Some(tell) => tell(question),
                    None => waiter.ask(question),
                }
                Box::pin(async move { read(&server, answer.await) })
            }
        }
    }
}

/// A task of its own: whoever panics in it has not approved. It ends with the question.
async fn ask_function(ask: AskFunction, question: ApprovalQuestion) -> Said {
    struct Asking(JoinHandle<bool>);
    impl Drop for Asking {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    let mut asking = Asking(runtime::spawn(async move { ask(question).await }));
    match (&mut asking.0).await {
        Ok(true) => Said::Yes,
        Ok(false) => Said::No,
        Err(_) => {
            tracing::warn!("The approval callback panicked: the call is not approved");
            Said::Failed
        }
    }
}

/// `true` and `false` are answers; a text tells what went wrong, and null that somebody has told already.
fn read(server: &str, answer: Option<String>) -> Said {
    match answer.as_deref() {
        Some("true") => Said::Yes,
        Some("false") => Said::No,
        answer => {
            if let Some(problem) = answer.and_then(|json| serde_json::from_str::<String>(json).ok())
            {
                tracing::warn!(
                    server,
                    "The approval callback failed, so the call is not approved: {problem}"
                );
            }
            Said::Failed
        }
    }
}

fn name_in(catalog: &Catalog, tool: &ServerTool) -> Option<String> {
    catalog.of(tool.server(), tool.raw_name()).map(|known| known.name.clone())
}

fn not_sent(kind: ErrorKind, tool: &ServerTool, text: String) -> Error {
    Error::new(kind, text)
        .quoting(tool.raw_name())
        .with_server(tool.server())
        .with_executed(Executed::No)
}

fn refused(tool: &ServerTool) -> Error {
    let text = format!("The call of {} was not approved", named(tool));
    not_sent(ErrorKind::NotApproved, tool, text).with_hint("who was asked about it said no")
}

fn failed(tool: &ServerTool) -> Error {
    let text = format!("The approval callback failed, so {} was not called", named(tool));
    not_sent(ErrorKind::NotApproved, tool, text).with_hint("the log says how it failed")
}

fn late(tool: &ServerTool) -> Error {
    let text = format!("Nobody has approved the call of {} in time", named(tool));
    not_sent(ErrorKind::NotApproved, tool, text)
        .with_hint("the manager's approval timeout says how long an answer is waited for")
}

fn late_for_the_call(tool: &ServerTool) -> Error {
    let text = format!("Nobody has approved the call of {} within its time", named(tool));
    not_sent(ErrorKind::ToolTimeout, tool, text).with_hint("raise the call's total timeout")
}

fn disconnected(tool: &ServerTool) -> Error {
    let text = format!("Server \"{}\" is disconnected", tool.server());
    not_sent(ErrorKind::ToolUnavailable, tool, text)
}

fn named(tool: &ServerTool) -> String {
    format!("tool \"{}\" of server \"{}\"", tool.raw_name(), tool.server())
}
