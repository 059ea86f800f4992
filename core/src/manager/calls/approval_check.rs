//! Owns asking for approval before a call is sent: who is asked, for how long, and what the answer means.
//! Invariant: a call is asked about once, however often it is sent; cancelling the call withdraws the question.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::timeout;

use super::super::server::{Left, Server};
use super::super::{Inner, Manager};
use crate::approval::{ApprovalQuestion, Approver, AskFunction, OnApproval, Rule};
use crate::call::{Arguments, OnQuestion};
use crate::caller::Identity;
use crate::catalog::{Catalog, Naming, Offer, ToolNames, provider_of};
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::fork::ProcessLocal;
use crate::mailbox::Waiter;
use crate::question::Question;
use crate::runtime;
use crate::tool::ServerTool;

/// The approval of one call, if its manager asks for approvals.
pub(super) struct ApprovalCheck {
    approver: Approver,
    rule: Rule,
    limit: Duration,
    on_question: Option<OnQuestion>,
    provider: String,
    identity: Option<Identity>,
    /// The tool's name in the catalog, if it is known before the server is up.
    name: Option<String>,
    manager: Weak<Inner>,
    left: Left,
    approved: AtomicBool,
}

/// The outcome of the question.
enum ApprovalDecision {
    Approved,
    Refused,
    /// The callback failed.
    Failed,
}

impl Manager {
    /// The approval rule for a server's tools, if there is someone to ask.
    pub(super) fn approval_rule(&self, config: &ServerConfig) -> Option<(&OnApproval, Rule)> {
        let options = &self.0.options;
        let on_approval = options.on_approval.as_ref()?;
        Some((on_approval, Rule { policy: options.approval, wanted: config.requires_approval }))
    }

    pub(super) fn approval_check(
        &self,
        server: &Server,
        config: &ServerConfig,
        identity: Option<Identity>,
        on_question: Option<OnQuestion>,
    ) -> Option<Box<ApprovalCheck>> {
        let (OnApproval(approver), rule) = self.approval_rule(config)?;
        Some(Box::new(ApprovalCheck {
            approver: approver.clone(),
            rule,
            limit: self.0.options.approval_timeout,
            on_question,
            provider: provider_of(&server.name, &server.declared.source.provider),
            identity,
            name: None,
            manager: Arc::downgrade(&self.0),
            left: server.left(),
            approved: AtomicBool::new(false),
        }))
    }
}

impl ApprovalCheck {
    /// Looks up the tool's name in the catalog. Runs on the caller's thread, because it may call a naming function.
    pub(super) fn look_up_name(&mut self, manager: &Manager, tool: &ServerTool) {
        self.name = name_in(&manager.catalog(), tool);
    }

    /// Whether the call needs approval before it is sent on a session that is up.
    pub(super) fn is_due(&self, tool: &ServerTool, offer: &Offer) -> bool {
        !self.is_approved() && self.rule.applies(tool, || offer.trusts_hints(tool))
    }

    pub(super) fn is_approved(&self) -> bool {
        self.approved.load(Ordering::Relaxed)
    }

    /// Asks and waits for the answer; anything but an approval is an error.
    pub(super) async fn wait(
        &self,
        tool: &ServerTool,
        arguments: &Arguments,
        waiter: &Waiter,
        total: Option<Duration>,
    ) -> Result<()> {
        self.check_still_held(tool)?;
        let limit = total.unwrap_or(self.limit).min(self.limit);
        let decision = self.ask(self.question(tool, arguments)?, waiter);
        let decision = tokio::select! {
            decision = timeout(limit, decision) => decision,
            () = self.left.wait() => return Err(disconnected(tool)),
        };
        match decision {
            Ok(ApprovalDecision::Approved) => {
                self.check_still_held(tool)?;
                self.approved.store(true, Ordering::Relaxed);
                Ok(())
            }
            Ok(ApprovalDecision::Refused) => Err(refused(tool)),
            Ok(ApprovalDecision::Failed) => Err(failed(tool)),
            Err(_) if limit < self.limit => Err(call_timed_out(tool)),
            Err(_) => Err(approval_timed_out(tool)),
        }
    }

    /// Fails when the manager no longer holds the server or no longer offers the tool.
    fn check_still_held(&self, tool: &ServerTool) -> Result<()> {
        let manager = self.manager.upgrade().ok_or_else(Error::closed);
        let manager = manager.and_then(|manager| manager.check_open().map(|()| manager));
        let manager = manager.map_err(|error| error.with_executed(Executed::No))?;
        let servers = manager.servers.load();
        match servers.get(tool.server()) {
            // The offer may have changed while the question was open.
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
            identity: self.identity.as_ref().map(Identity::to_string),
        })
    }

    /// The name of a tool that became known only now. Runs on one of our threads, where no naming function may be
    /// called.
    fn name_of(&self, tool: &ServerTool) -> String {
        let Some(inner) = self.manager.upgrade() else { return tool.raw_name().to_owned() };
        let manager = Manager(ProcessLocal::new(inner.clone()));
        let known = name_in(&manager.built_catalog(), tool);
        let name = known.or_else(|| match inner.options.naming {
            Naming::Function(_) => {
                name_in(&manager.build_catalog(&ToolNames::new(Naming::Plain)), tool)
            }
            _ => name_in(&manager.catalog(), tool),
        });
        name.unwrap_or_else(|| tool.raw_name().to_owned())
    }

    fn ask(
        &self,
        question: ApprovalQuestion,
        waiter: &Waiter,
    ) -> Pin<Box<dyn Future<Output = ApprovalDecision> + Send>> {
        match &self.approver {
            Approver::Function(ask) => Box::pin(ask_function(ask.clone(), question)),
            Approver::Caller => {
                let server = question.server.clone();
                let (question, answer) = Question::new("approval", &question);
                match &self.on_question {
                    Some(on_question) => on_question(question),
                    None => waiter.ask(question),
                }
                Box::pin(async move { read_answer(&server, answer.await) })
            }
        }
    }
}

/// Asks in its own task, so that a panic is not an approval. Withdrawing the question ends the task.
async fn ask_function(ask: AskFunction, question: ApprovalQuestion) -> ApprovalDecision {
    match runtime::in_own_task(async move { ask(question).await }).await {
        Some(true) => ApprovalDecision::Approved,
        Some(false) => ApprovalDecision::Refused,
        None => {
            tracing::warn!("The approval callback panicked: the call is not approved");
            ApprovalDecision::Failed
        }
    }
}

/// Reads a host's answer: `true` and `false` decide, a text is an error message, null means that the error was logged
/// already.
fn read_answer(server: &str, answer: Option<String>) -> ApprovalDecision {
    match answer.as_deref() {
        Some("true") => ApprovalDecision::Approved,
        Some("false") => ApprovalDecision::Refused,
        answer => {
            if let Some(problem) = answer.and_then(|json| serde_json::from_str::<String>(json).ok())
            {
                tracing::warn!(
                    server,
                    "The approval callback failed, so the call is not approved: {problem}"
                );
            }
            ApprovalDecision::Failed
        }
    }
}

fn name_in(catalog: &Catalog, tool: &ServerTool) -> Option<String> {
    catalog.find(tool.server(), tool.raw_name()).map(|known| known.name.clone())
}

fn not_sent(kind: ErrorKind, tool: &ServerTool, text: String) -> Error {
    Error::new(kind, text)
        .quoting(tool.raw_name())
        .naming_server(tool.server())
        .with_executed(Executed::No)
}

fn refused(tool: &ServerTool) -> Error {
    let text = format!("The call of {} was not approved", named(tool));
    not_sent(ErrorKind::NotApproved, tool, text).with_hint("the approval callback said no")
}

fn failed(tool: &ServerTool) -> Error {
    let text = format!("The approval callback failed, so {} was not called", named(tool));
    not_sent(ErrorKind::NotApproved, tool, text).with_hint("the log says how it failed")
}

fn approval_timed_out(tool: &ServerTool) -> Error {
    let text = format!("Nobody has approved the call of {} in time", named(tool));
    not_sent(ErrorKind::NotApproved, tool, text)
        .with_hint("the manager's approval timeout says how long an answer is waited for")
}

fn call_timed_out(tool: &ServerTool) -> Error {
    let text = format!("Nobody has approved the call of {} within its time", named(tool));
    not_sent(ErrorKind::ToolTimeout, tool, text).with_hint("raise the call's total timeout")
}

fn disconnected(tool: &ServerTool) -> Error {
    Error::disconnected(tool.server()).quoting(tool.raw_name()).with_executed(Executed::No)
}

fn named(tool: &ServerTool) -> String {
    format!("tool \"{}\" of server \"{}\"", tool.raw_name(), tool.server())
}
