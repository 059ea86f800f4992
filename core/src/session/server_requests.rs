//! Owns what we say when the server asks or tells: pings are answered, what we did not offer is refused.

use rmcp::model::ErrorCode;
use serde::Deserialize;
use serde_json::Value;

use super::message;
use crate::event::{EventKind, LogOrigin};
use crate::redact::Mask;

/// The answer to a request of the server; `id` is its id as it wrote it.
pub(super) fn reply(method: &str, id: &str) -> Vec<u8> {
    match method {
        "ping" => message::answer(id, "\"result\":{}"),
        _ => {
            let words = Value::String(format!("This client does not offer {method}"));
            let code = ErrorCode::METHOD_NOT_FOUND.0;
            message::answer(id, &format!("\"error\":{{\"code\":{code},\"message\":{words}}}"))
        }
    }
}

/// The event for a `notifications/message`.
pub(super) fn log(params: &str, mask: &Mask) -> Option<EventKind> {
    #[derive(Deserialize)]
    struct Params {
        level: String,
        #[serde(default)]
        logger: Option<String>,
        #[serde(default)]
        data: Value,
    }
    let Params { level, logger, data } = serde_json::from_str(params).ok()?;
    Some(EventKind::Log {
        origin: LogOrigin::Server,
        level: mask.text(&level).into_owned(),
        logger: logger.map(|logger| mask.text(&logger).into_owned()),
        data: mask.json(data),
    })
}
