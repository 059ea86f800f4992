//! Owns reading the body of a response with an error status: it is the answer to our request, or text about the
//! refusal. Reads are bounded in size, in time and by the link's memory.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::exchange::{content_encoding, content_type};
use super::memory_budget::MemoryBudget;
use crate::error::RpcError;
use crate::http_client::Response;
use crate::wire::network::events::EventStream;
use crate::wire::{our_number, without_bom};

/// How much of a text is read, and how long that may take.
const WORDS: usize = 64 << 10;
const READING: Duration = Duration::from_secs(1);
/// How long the body of a possible answer may pause.
const SILENCE: Duration = Duration::from_secs(10);

pub(super) enum Body {
    /// The answer to our request.
    Answer(Bytes),
    /// Any other text.
    Words(Bytes),
    /// It could not be read to its end; it may contain the answer.
    Unread,
}

impl Body {
    /// Reads the body of a response to request `id`; an answer may have up to `limit` bytes, and must fit into `memory`.
    pub(super) async fn read(
        response: Response,
        id: Option<u64>,
        limit: usize,
        memory: &MemoryBudget,
    ) -> Body {
        let Some(id) = id else {
            // No answer is expected; only the text that may be about the session is needed.
            return match response.status() {
                StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED => {
                    Body::Words(read_words(response).await)
                }
                _ => Body::Words(Bytes::new()),
            };
        };
        if content_encoding(&response).is_some() {
            // We did not ask for an encoding, so this is a page of a gateway in front of the server.
            return match response.status() {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Body::Words(Bytes::new()),
                _ => Body::Unread,
            };
        }
        let kind = content_type(&response);
        if kind.starts_with("text/event-stream") {
            read_events(response, id, limit, memory).await
        } else if kind.starts_with("application/json") {
            match read_whole(response, limit, memory).await {
                Some(body) => Body::from_text(body, id, limit),
                None => Body::Unread,
            }
        } else {
            Body::from_text(read_words(response).await, id, limit)
        }
    }

    fn from_text(body: Bytes, id: u64, limit: usize) -> Body {
        match without_bom(&body).trim_ascii_start().first() {
            Some(b'{' | b'[') => Body::from_json(body, id),
            _ => Body::from_events(body, id, limit),
        }
    }

    fn from_json(body: Bytes, id: u64) -> Body {
        match answers(&body, id) {
            Some(Answers::Yes) => Body::Answer(body),
            Some(Answers::No) => Body::Words(body),
            Some(Answers::Perhaps) | None => Body::Unread,
        }
    }

    /// It may be an event stream, whatever its content type.
    fn from_events(body: Bytes, id: u64, limit: usize) -> Body {
        let mut events = EventStream::new(limit);
        for data in events.feed(&body).chain(events.feed(b"\n\n")) {
            match data.map(|data| Body::from_json(data, id)) {
                Some(Body::Words(_)) => {}
                Some(found) => return found,
                None => return Body::Unread,
            }
        }
        Body::Words(body)
    }

    /// The server's text in place of an answer.
    pub(super) fn words(&self) -> &[u8] {
        match self {
            Body::Answer(body) | Body::Words(body) => body,
            Body::Unread => b"",
        }
    }
}

async fn read_whole(mut response: Response, limit: usize, memory: &MemoryBudget) -> Option<Bytes> {
    let mut reservation = memory.reserve();
    let mut whole = Vec::new();
    while let Some(chunk) = timeout(SILENCE, response.chunk()).await.ok()?.ok()? {
        let length = whole.len() + chunk.len();
        if length > limit || !reservation.resize(length) {
            return None;
        }
        whole.extend_from_slice(&chunk);
    }
    Some(whole.into())
}

/// Reads events until one of them is the answer.
async fn read_events(mut response: Response, id: u64, limit: usize, memory: &MemoryBudget) -> Body {
    let mut reservation = memory.reserve();
    let mut events = EventStream::new(limit);
    let mut first = Bytes::new();
    let mut raw = Vec::new();
    let mut length = 0;
    loop {
        let chunk = match timeout(SILENCE, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            // It may be JSON, whatever its content type.
            Ok(Ok(None)) if first.is_empty() => return Body::from_json(raw.into(), id),
            Ok(Ok(None)) => return Body::Words(first),
            Ok(Err(_)) | Err(_) => return Body::Unread,
        };
        length += chunk.len();
        raw.extend_from_slice(&chunk[..chunk.len().min(WORDS - raw.len())]);
        for data in events.feed(&chunk) {
            let Some(data) = data else { return Body::Unread };
            match Body::from_json(data, id) {
                Body::Words(words) if first.is_empty() => first = words,
                Body::Words(_) => {}
                found => return found,
            }
        }
        if length > limit || !reservation.resize(first.len() + raw.len() + events.kept()) {
            return Body::Unread;
        }
    }
}

/// The server's text, as far as it arrives soon.
async fn read_words(mut response: Response) -> Bytes {
    let mut words = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            words.extend_from_slice(&chunk[..chunk.len().min(WORDS - words.len())]);
            if words.len() == WORDS {
                return;
            }
        }
    };
    let _ = timeout(READING, reading).await;
    words.into()
}

/// Whether a message answers a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answers {
    No,
    /// It has the request's id, but not the form of an answer.
    Perhaps,
    Yes,
}

/// Whether the body answers request `id`; `None` if it looks like JSON and cannot be read.
fn answers(body: &[u8], id: u64) -> Option<Answers> {
    let body = without_bom(body).trim_ascii_start();
    match body.first() {
        Some(b'[') => {
            let batch: Vec<&RawValue> = serde_json::from_slice(body).ok()?;
            let mut found = Answers::No;
            for message in batch.iter().filter(|message| message.get().starts_with('{')) {
                found = match (message_answers(message.get().as_bytes(), id)?, found) {
                    (Answers::Yes, _) | (_, Answers::Yes) => Answers::Yes,
                    (Answers::Perhaps, _) | (_, Answers::Perhaps) => Answers::Perhaps,
                    _ => Answers::No,
                };
            }
            Some(found)
        }
        Some(b'{') => message_answers(body, id),
        _ => Some(Answers::No),
    }
}

/// Same, for one message, valid or not: the session reports what is wrong with it.
fn message_answers(message: &[u8], id: u64) -> Option<Answers> {
    let Shape { has_jsonrpc, has_method, ids } = serde_json::from_slice(message).ok()?;
    let is_ours = |written: &String| our_number(written) == Some(id);
    let is_nearly_ours =
        |written: &String| written.trim_matches('"').trim().parse() == Ok(id as f64);
    Some(if has_method || !ids.iter().any(is_nearly_ours) {
        Answers::No
    } else if has_jsonrpc && ids.iter().all(is_ours) {
        Answers::Yes
    } else {
        Answers::Perhaps
    })
}

/// The members of a message that matter here, including duplicates.
#[derive(Default)]
struct Shape {
    has_jsonrpc: bool,
    has_method: bool,
    ids: Vec<String>,
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Shape, A::Error> {
                let mut shape = Shape::default();
                while let Some(key) = members.next_key::<String>()? {
                    if key == "id" {
                        shape.ids.push(members.next_value::<&RawValue>()?.get().to_owned());
                        continue;
                    }
                    members.next_value::<IgnoredAny>()?;
                    shape.has_jsonrpc |= key == "jsonrpc";
                    shape.has_method |= key == "method";
                }
                Ok(shape)
            }
        }
        from.deserialize_map(Members)
    }
}

/// The JSON-RPC error in a refusal.
pub(super) fn rpc_error(words: &[u8]) -> Option<RpcError> {
    #[derive(Deserialize)]
    struct Refusal {
        #[serde(rename = "jsonrpc")]
        _jsonrpc: IgnoredAny,
        error: Shape,
    }
    #[derive(Deserialize)]
    struct Shape {
        code: i64,
        #[serde(default)]
        message: String,
        #[serde(default)]
        data: Option<serde_json::Value>,
    }
    let words = without_bom(words);
    if words.len() > WORDS {
        return None;
    }
    let Refusal { error: Shape { code, message, data }, .. } =
        serde_json::from_slice(words).ok()?;
    Some(RpcError { code, message, data })
}

/// Whether a refusal is about our session. The protocol requires a 404; servers that send 400 say it only in the text.
pub(super) fn denies_session(words: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Refusal {
        error: Words,
    }
    #[derive(Deserialize)]
    struct Words {
        message: String,
    }
    let words = &words[..words.len().min(WORDS)];
    let text = match serde_json::from_slice::<Refusal>(without_bom(words)) {
        Ok(refusal) => refusal.error.message,
        Err(_) => String::from_utf8_lossy(words).into_owned(),
    };
    let text = text.to_ascii_lowercase();
    text.contains("session")
        && ["unknown", "invalid", "expired", "not found", "missing", "no valid"]
            .iter()
            .any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_our_id() {
        for answer in [
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"7","error":{"code":1,"message":"session expired"}}"#,
            r#" [{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":7,"result":{}}]"#,
            "\u{feff}{\"id\":7,\"jsonrpc\":\"2.0\"}",
            r#"{"jsonrpc":"2.0","id":7,"result":null}"#,
        ] {
            assert_eq!(answers(answer.as_bytes(), 7), Some(Answers::Yes), "{answer}");
        }
        for other in [
            "",
            "session expired, id 7",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"7"}}"#,
            r#"{"jsonrpc":"2.0","id":8,"result":{"id":7}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}"#,
        ] {
            assert_eq!(answers(other.as_bytes(), 7), Some(Answers::No), "{other}");
        }
        for odd in [
            r#"{"id":7,"error":"no"}"#,
            r#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"id":8,"result":{}}"#,
            r#"[{"id":7,"result":{}}]"#,
        ] {
            assert_eq!(answers(odd.as_bytes(), 7), Some(Answers::Perhaps), "{odd}");
        }
        for broken in ["{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{", "[", "{\"id\":7"] {
            assert_eq!(answers(broken.as_bytes(), 7), None, "{broken}");
        }
    }

    #[test]
    fn an_event_stream_with_another_content_type_is_read() {
        let read =
            |body: &'static str| Body::from_text(Bytes::from_static(body.as_bytes()), 7, 1000);
        let answer = read("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
        assert!(matches!(answer, Body::Answer(answer) if answer.ends_with(b"\"result\":{}}")));
        assert!(matches!(read("data: {\"id\":7,\"result\":{}}\n\n"), Body::Unread));
        assert!(matches!(read("data: {\"jsonrpc\":\"2.0\",\"id\":8}\n\n"), Body::Words(_)));
        assert!(matches!(read("session expired"), Body::Words(_)));
    }

    #[test]
    fn the_error_of_a_refusal_is_kept_if_it_is_one_of_json_rpc() {
        let found = rpc_error(
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-3,"message":"m","data":[1]}}"#,
        );
        let data = Some(serde_json::json!([1]));
        assert_eq!(found, Some(RpcError { code: -3, message: "m".into(), data }));
        for other in
            ["no", r#"{"error":{"code":1,"message":"m"}}"#, r#"{"jsonrpc":"2.0","error":"m"}"#]
        {
            assert_eq!(rpc_error(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_forgotten_session_is_recognised_by_its_text() {
        for words in [
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Missing session ID"}}"#,
            "Session not found",
            "INVALID OR EXPIRED SESSION",
            r#"{"error":"unknown sessionId"}"#,
        ] {
            assert!(denies_session(words.as_bytes()), "{words}");
        }
    }

    #[test]
    fn other_refusals_are_not_about_the_session() {
        for words in [
            "",
            "invalid request",
            "the session is fine",
            r#"{"error":{"message":"invalid arguments","data":{"tool":"session"}}}"#,
        ] {
            assert!(!denies_session(words.as_bytes()), "{words}");
        }
    }
}
