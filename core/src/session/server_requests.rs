//! Owns the replies to the server's requests: pings are answered, what we did not offer is refused.

use rmcp::model::ErrorCode;
use serde_json::Value;

use super::message;
use crate::wire::OutgoingMessage;

/// The reply to a request of the server; `id` is the server's id as written.
pub(super) fn reply(method: &str, id: &str) -> OutgoingMessage {
    match method {
        "ping" => message::answer(id, "\"result\":{}"),
        _ => {
            let words = Value::String(format!("This client does not offer {method}"));
            let code = ErrorCode::METHOD_NOT_FOUND.0;
            message::answer(id, &format!("\"error\":{{\"code\":{code},\"message\":{words}}}"))
        }
    }
}
