//! Owns the first words with a server: `initialize`, and the whole tool list. What it does not accept of them is marked as
//! incurable: the same server would say the same again.

use std::collections::HashSet;

use bytes::Bytes;
use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Session;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::redact::Mask;
use crate::wire::Wire;

const PAGE_LIMIT: usize = 100;
const TOOL_LIMIT: usize = 10_000;

/// What a server said of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Greeting {
    pub(crate) protocol_version: String,
    pub(crate) server_name: Option<String>,
    pub(crate) server_version: Option<String>,
    pub(crate) instructions: Option<String>,
    has_tools: bool,
}

/// Shakes hands.
pub(crate) async fn greet(session: &Session) -> Result<Greeting> {
    let params = InitializeRequestParams::new(
        ClientCapabilities::default(),
        Implementation::new("mcpool", env!("CARGO_PKG_VERSION")),
    )
    .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let params = serde_json::to_value(params)
        .map_err(|error| refused(&format!("initialize cannot be written: {error}")))?;
    let answer = session.request("initialize", &params).await.map_err(not_an_mcp_server)?;
    // Only the first value: see `message::quick_answer`.
    let answer = Value::deserialize(&mut serde_json::Deserializer::from_slice(&answer))
        .map_err(|error| refused(&format!("the answer to initialize cannot be read: {error}")))?;
    let greeting = read_greeting(&answer, &session.mask())?;
    if let Some(Wire::Http(link)) = session.wire() {
        link.speak(&greeting.protocol_version);
    }
    session.tell("notifications/initialized", &json!({})).await.map_err(not_an_mcp_server)?;
    if let Some(Wire::Http(link)) = session.wire() {
        link.listen();
    }
    Ok(greeting)
}

fn read_greeting(answer: &Value, mask: &Mask) -> Result<Greeting> {
    let text = |value: &Value| value.as_str().map(|text| mask.prose(text).into_owned());
    let version = answer["protocolVersion"].as_str().unwrap_or_default();
    let known = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .any(|known| known.as_str() == version && known.has_initialize());
    if !known {
        let version = mask.text(version);
        let what = format!("it speaks protocol version \"{version}\", which is unknown");
        return Err(refused(&what).quoting(&version));
    }
    Ok(Greeting {
        protocol_version: version.to_owned(),
        server_name: text(&answer["serverInfo"]["name"]),
        server_version: text(&answer["serverInfo"]["version"]),
        instructions: text(&answer["instructions"]),
        has_tools: answer["capabilities"]["tools"].is_object(),
    })
}

/// All pages of the tool list, each tool as the server wrote it.
pub(crate) async fn list_tools(session: &Session, greeting: &Greeting) -> Result<Vec<Bytes>> {
    if !greeting.has_tools {
        return Ok(Vec::new());
    }
    #[derive(Deserialize)]
    struct Page<'a> {
        #[serde(borrow)]
        tools: Vec<&'a RawValue>,
        #[serde(default, rename = "nextCursor")]
        next_cursor: Option<String>,
    }
    let mut tools = Vec::new();
    let mut params = json!({});
    let mut seen = HashSet::new();
    for _ in 0..PAGE_LIMIT {
        let answer = session.request("tools/list", &params).await.map_err(not_an_mcp_server)?;
        // Only the first value: see `message::quick_answer`.
        let page = Page::deserialize(&mut serde_json::Deserializer::from_slice(&answer)).map_err(
            |error| {
                let why = error.to_string();
                let why = session.mask().text(&why).into_owned();
                refused(&format!("its tool list cannot be read: {why}")).quoting(&why)
            },
        )?;
        tools.extend(page.tools.iter().map(|tool| answer.slice_ref(tool.get().as_bytes())));
        if tools.len() > TOOL_LIMIT {
            return Err(over_limit(&format!("more than {TOOL_LIMIT} tools")));
        }
        match page.next_cursor {
            None => return Ok(tools),
            Some(cursor) if !seen.insert(cursor.clone()) => {
                return Err(refused("its tool list repeats a cursor"));
            }
            Some(cursor) => params = json!({"cursor": cursor}),
        }
    }
    Err(over_limit(&format!("more than {PAGE_LIMIT} pages of tools")))
}

/// A refused control request means that the handshake failed, whatever a refused call would mean.
fn not_an_mcp_server(error: Error) -> Error {
    match error.kind() {
        ErrorKind::ToolFailed | ErrorKind::ProtocolError => {
            error.into_connect(ErrorKind::HandshakeFailed)
        }
        ErrorKind::ConnectionLost | ErrorKind::ToolUnavailable | ErrorKind::ToolRejected => {
            error.into_connect(ErrorKind::ConnectFailed)
        }
        // An answer over a limit; a limit of ours would have kept the request from leaving.
        kind @ ErrorKind::LimitExceeded if error.executed() == Some(Executed::Yes) => {
            error.into_connect(kind).incurable()
        }
        kind => error.into_connect(kind),
    }
}

fn refused(what: &str) -> Error {
    Error::new(ErrorKind::HandshakeFailed, format!("Cannot speak with the server: {what}"))
        .incurable()
}

fn over_limit(what: &str) -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("The server lists {what}")).incurable()
}
