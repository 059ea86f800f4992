//! Owns which calls need approval, and the question that is asked. `manager/calls/approval_check` asks and waits for
//! the answer.
//! Invariant: a server's hints reduce approvals only if the server gives them now, and gave them when the tool was
//! first seen or the change was accepted.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::tool::ServerTool;

/// Which tools need approval before they are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalPolicy {
    /// All, unless their server's definition says otherwise.
    #[default]
    Always,
    /// All except those that a connected server lists as read-only, and has since they were first seen.
    Annotations,
    /// None.
    Never,
}

/// A call that waits for approval. Nothing is masked: the user must see what is sent.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ApprovalQuestion {
    /// The server.
    pub server: String,
    /// The server's name for the tool.
    pub tool: String,
    /// The tool's name in the catalog.
    pub name: String,
    /// The arguments, a JSON object as it will be sent.
    pub arguments: Box<RawValue>,
    /// The server's description of the tool.
    pub description: String,
    /// The server's hints about the tool.
    pub annotations: Option<Value>,
    /// Where the tool comes from: its server, and the product whose config declares the server.
    pub provider: String,
    /// For whom the call is made, if that is known.
    pub identity: Option<String>,
}

/// Who is asked before a call that needs approval is sent.
#[derive(Clone)]
pub struct OnApproval(pub(crate) Approver);

#[derive(Clone)]
pub(crate) enum Approver {
    Function(AskFunction),
    /// The caller, in another language.
    Caller,
}

pub(crate) type AskFunction = Arc<dyn Fn(ApprovalQuestion) -> Answering + Send + Sync>;
type Answering = Pin<Box<dyn Future<Output = bool> + Send>>;

impl OnApproval {
    /// Asks a function. Its future is dropped when the call is cancelled; a panic is not an approval.
    pub fn new<F>(ask: impl Fn(ApprovalQuestion) -> F + Send + Sync + 'static) -> OnApproval
    where
        F: Future<Output = bool> + Send + 'static,
    {
        OnApproval(Approver::Function(Arc::new(move |question| Box::pin(ask(question)))))
    }

    /// Asks the caller: with a [`crate::host::Letter::Question`], or by [`crate::CallOptions::on_question`].
    #[doc(hidden)]
    pub fn of_caller() -> OnApproval {
        OnApproval(Approver::Caller)
    }
}

impl fmt::Debug for OnApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnApproval")
    }
}

/// The approval rule for the tools of one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) policy: ApprovalPolicy,
    /// What the server's definition says.
    pub(crate) wanted: bool,
}

impl Rule {
    /// Whether a call of the tool needs approval. `holds` returns whether the tool's hints are reliable: its server
    /// gives them now and has not changed them.
    pub(crate) fn applies(self, tool: &ServerTool, holds: impl FnOnce() -> bool) -> bool {
        self.wanted
            && match self.policy {
                ApprovalPolicy::Always => true,
                ApprovalPolicy::Annotations => !(tool.is_read_only() && holds()),
                ApprovalPolicy::Never => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(annotations: &str) -> ServerTool {
        let json = format!(r#"{{"name":"t","annotations":{annotations}}}"#);
        ServerTool::read(&"s".into(), json.into()).unwrap()
    }

    fn needed(policy: ApprovalPolicy, wanted: bool, annotations: &str, live: bool) -> bool {
        Rule { policy, wanted }.applies(&tool(annotations), || live)
    }

    #[test]
    fn a_read_only_tool_is_free_only_while_its_server_says_so() {
        let says = |annotations, live| needed(ApprovalPolicy::Annotations, true, annotations, live);
        assert!(!says(r#"{"readOnlyHint":true}"#, true));
        assert!(says(r#"{"readOnlyHint":true}"#, false));
        assert!(says(r#"{"readOnlyHint":false}"#, true));
        assert!(says(r#"{"readOnlyHint":"true"}"#, true));
        assert!(says(r#"{"idempotentHint":true}"#, true));
        assert!(says("null", true));
    }

    #[test]
    fn the_other_policies_look_at_no_hint() {
        let hint = r#"{"readOnlyHint":true}"#;
        assert!(needed(ApprovalPolicy::Always, true, hint, true));
        assert!(!needed(ApprovalPolicy::Always, false, hint, false));
        assert!(!needed(ApprovalPolicy::Never, true, hint, false));
        assert!(!needed(ApprovalPolicy::Annotations, false, "{}", false));
    }
}
