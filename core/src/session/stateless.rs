//! Owns what every request carries where the protocol has no handshake (2026-07-28): the version, who the client is and
//! what it can do, in `_meta` and, over HTTP, partly in headers.
//! Invariant: the bytes are made once for a session; a call only copies them.

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{ErrorCode, Implementation, ProtocolVersion, TASKS_EXTENSION_ID};
use serde_json::{Value, json};

use super::discover::{is_code, shows_stateless};
use super::{Session, SessionEvent};
use crate::client_info::ClientInfo;
use crate::error::{Error, ErrorKind, Executed};
use crate::event::LogLevel;
use crate::headers::mirrored_value;
use crate::json_string::unescape;
use crate::tool::ServerTool;
use crate::wire::Loss;

/// The version without a handshake that we speak.
pub(super) const STATELESS_VERSION: ProtocolVersion = ProtocolVersion::V_2026_07_28;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const TOOLS_CALL: HeaderValue = HeaderValue::from_static("tools/call");

/// What servers are told about this client.
pub(super) fn implementation(client: &ClientInfo) -> Implementation {
    let mut info = Implementation::new(client.name(), client.version());
    info.title = client.title().map(str::to_owned);
    info
}

/// The metadata of the requests of one session.
pub(super) struct RequestMetadata {
    /// Members of `_meta`, each with a comma after it.
    entries: Vec<u8>,
    version: HeaderValue,
    /// Which log messages the server sends.
    log_level: ArcSwapOption<Vec<u8>>,
}

impl RequestMetadata {
    pub(super) fn new(client: &ClientInfo, capabilities: &Value) -> Self {
        // Only then may a server answer a call with a task.
        let mut capabilities = capabilities.clone();
        capabilities["extensions"][TASKS_EXTENSION_ID] = json!({});
        let to_value = |value: serde_json::Result<Value>| value.unwrap_or_else(|_| json!({}));
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS_VERSION.as_str(),
            "io.modelcontextprotocol/clientInfo": to_value(serde_json::to_value(implementation(client))),
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let mut entries = meta.to_string().into_bytes();
        // The object becomes a list of members.
        entries.remove(0);
        entries.pop();
        entries.push(b',');
        let version = HeaderValue::from_str(STATELESS_VERSION.as_str());
        RequestMetadata {
            entries,
            log_level: ArcSwapOption::empty(),
            version: version.unwrap_or_else(|_| HeaderValue::from_static("")),
        }
    }

    pub(super) fn entries(&self) -> Cow<'_, [u8]> {
        match &*self.log_level.load() {
            None => Cow::Borrowed(&self.entries),
            Some(level) => Cow::Owned([&self.entries[..], level].concat()),
        }
    }

    /// Asks for log messages with every request from now on.
    pub(super) fn set_log_level(&self, level: LogLevel) {
        let entry = format!("\"io.modelcontextprotocol/logLevel\":{},", json!(level));
        self.log_level.store(Some(Arc::new(entry.into_bytes())));
    }

    /// The headers that repeat parts of a request. A name that a header cannot hold is left out.
    pub(super) fn headers(&self, method: &str, name: Option<&str>) -> HeaderMap {
        let method = HeaderValue::from_str(method).ok();
        self.headers_with(method, name.and_then(mirrored_value))
    }

    /// Same for a call, with the arguments that the tool wants to be repeated.
    pub(super) fn call_headers(&self, tool: &ServerTool, arguments: &[u8]) -> HeaderMap {
        // The name that is shown may be masked; the header repeats the one that is sent.
        let name = unescape(tool.name_json()).and_then(|name| mirrored_value(&name));
        let mut headers = self.headers_with(Some(TOOLS_CALL), name);
        for (name, value) in tool.mirrored_arguments(arguments) {
            headers.insert(name, value);
        }
        headers
    }

    fn headers_with(&self, method: Option<HeaderValue>, name: Option<HeaderValue>) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(PROTOCOL_VERSION, self.version.clone());
        headers.extend(method.map(|method| (METHOD, method)));
        headers.extend(name.map(|name| (NAME, name)));
        headers
    }
}

impl Session {
    /// Whether the negotiated protocol has no handshake and no ping.
    pub(crate) fn is_stateless(&self) -> bool {
        self.stateless.get().is_some()
    }

    /// What a refusal by the rules of the protocol leads to. Nothing has run then.
    pub(super) fn after_refusal(&self, error: Error) -> Error {
        let Some(rpc) = error.rpc().filter(|_| self.is_stateless()) else { return error };
        if is_code(rpc.code, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION) && self.mirrors_arguments() {
            let text = "The server does not speak the negotiated version of the protocol any more";
            let lost = Error::new(ErrorKind::ConnectionLost, text)
                .naming_server(&self.server)
                .with_executed(Executed::No)
                .with_rpc(rpc.clone());
            // The next session negotiates anew, and the call is sent again.
            self.retire(lost.clone());
            self.emit(SessionEvent::Lost(lost.clone(), Loss::Expired));
            return lost;
        }
        if is_code(rpc.code, ErrorCode::HEADER_MISMATCH) {
            // The tool may declare other headers now.
            self.note_changed_tools(true);
        }
        if shows_stateless(&error) { error.with_executed(Executed::No) } else { error }
    }

    /// Whether calls repeat some of their arguments in headers.
    pub(crate) fn mirrors_arguments(&self) -> bool {
        self.is_stateless() && self.wire.get().is_some_and(|wire| wire.has_stream_per_request())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_are_members_of_an_object() {
        let client = ClientInfo::new("a \"b\"", "1").expect("a client");
        let metadata = RequestMetadata::new(&client, &json!({}));
        metadata.set_log_level(LogLevel::Warning);
        let members = String::from_utf8(metadata.entries().into_owned()).unwrap();
        let meta: Value = serde_json::from_str(&format!("{{{members}\"x\":1}}")).unwrap();
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "a \"b\"");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
        assert_eq!(meta["io.modelcontextprotocol/logLevel"], "warning");
    }

    #[test]
    fn a_name_cannot_add_a_header() {
        let client = ClientInfo::new("a", "1").expect("a client");
        let headers = RequestMetadata::new(&client, &json!({}))
            .headers("prompts/get", Some("a\r\nX-Evil: 1"));
        assert_eq!(headers.len(), 3);
        assert!(headers[&NAME].to_str().unwrap().starts_with("=?base64?"));
    }
}
