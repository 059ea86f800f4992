//! Owns the pages that a server wants a person to visit before it takes a call (error -32042, with a handshake): the
//! person is asked about each. The call has failed, and can be repeated when the pages are done.
//! Invariant: pages are asked about as any elicitation is: web addresses only, shown and never opened, few at a time.

use serde_json::Value;

use super::Session;
use super::server_requests::answer;
use crate::error::{Error, Executed};
use crate::result::ManagerId;
use crate::server_request::Feature;

const PAGES_REQUIRED: i64 = -32042;
/// How many pages one refusal may name.
const MOST_PAGES: usize = 8;

impl Session {
    /// Asks the manager of a call, if it is one, about the pages that its error names.
    pub(super) fn ask_for_pages(&self, error: Error, manager: Option<ManagerId>) -> Error {
        let rpc = error.rpc().filter(|rpc| rpc.code == PAGES_REQUIRED && manager.is_some());
        let Some(rpc) = rpc else { return error };
        let named = rpc.data.as_ref().and_then(|data| data.get("elicitations"));
        let pages = named.and_then(Value::as_array).into_iter().flatten();
        let pages = pages.filter(|page| page.get("mode").is_some_and(|mode| mode == "url"));
        for page in pages.take(MOST_PAGES) {
            let Some(asked) = self.subscribers.answering(Feature::Elicitation, manager) else {
                break;
            };
            let (session, server) = (self.me.clone(), self.server.to_string());
            let params: Box<str> = page.to_string().into();
            // No id of a server is written like this.
            let key = format!("page {}", self.next_id());
            let own_key = key.clone();
            let task = async move {
                let _ = answer(Feature::Elicitation, asked, server, params).await;
                if let Some(session) = session.upgrade() {
                    session.open_requests.end(&own_key);
                }
            };
            self.open_requests.spawn(&key, self.limits.server_requests, task);
        }
        error
            .with_executed(Executed::No)
            .with_hint("the server wants a page to be visited first; call again when that is done")
    }
}
