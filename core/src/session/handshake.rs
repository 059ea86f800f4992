//! Owns the handshake with a server (`initialize`) and fetching the whole tool list. An answer that is not accepted is
//! marked as incurable: the same server would give the same answer again.
//! Invariant: of a long answer only the used parts are read, off the runtime's workers, and nothing keeps the whole
//! answer in memory.

use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;
use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;

use super::text::TextReader;
use super::{Session, message};
use crate::client_info::ClientInfo;
use crate::config::Limits;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::runtime;

const PAGE_LIMIT: usize = 100;
const TOOL_LIMIT: usize = 10_000;

/// What a server says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshake {
    pub(crate) protocol_version: String,
    pub(crate) server_name: Option<String>,
    pub(crate) server_version: Option<String>,
    pub(crate) instructions: Option<String>,
    has_tools: bool,
    /// Whether it announces changes of its tools.
    pub(crate) announces_tools: bool,
}

/// Does the handshake with the server.
pub(crate) async fn initialize(session: &Session, client: &ClientInfo) -> Result<Handshake> {
    let mut info = Implementation::new(client.name(), client.version());
    info.title = client.title().map(str::to_owned);
    let params = InitializeRequestParams::new(ClientCapabilities::default(), info)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let params = serde_json::to_value(params)
        .map_err(|error| refused(&format!("initialize cannot be written: {error}")))?;
    let answer = session.request("initialize", &params).await.map_err(connect_error)?;
    let texts = session.text_reader();
    let handshake =
        runtime::read_off_worker(answer.len(), move || read_initialize(&answer, &texts)).await?;
    let wire = session.connected_wire()?;
    wire.announce_version(&handshake.protocol_version);
    let initialized = message::notification("notifications/initialized", &json!({}));
    wire.send_and_confirm(initialized).await.map_err(connect_error)?;
    wire.listen();
    Ok(handshake)
}

fn read_initialize(answer: &[u8], texts: &TextReader) -> Result<Handshake> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer<'a> {
        #[serde(borrow, default)]
        protocol_version: Option<&'a RawValue>,
        #[serde(borrow, default)]
        server_info: Option<&'a RawValue>,
        #[serde(borrow, default)]
        capabilities: Option<&'a RawValue>,
        #[serde(borrow, default)]
        instructions: Option<&'a RawValue>,
    }
    #[derive(Deserialize, Default)]
    struct Info<'a> {
        #[serde(borrow, default)]
        name: Option<&'a RawValue>,
        #[serde(borrow, default)]
        version: Option<&'a RawValue>,
    }
    #[derive(Deserialize, Default)]
    struct Capabilities<'a> {
        #[serde(borrow, default)]
        tools: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ToolsCapability {
        #[serde(default)]
        list_changed: bool,
    }
    let answer: Answer<'_> = read_object(answer)
        .map_err(|why| refused(&format!("the answer to initialize cannot be read: {why}")))?;
    // A member of the wrong type counts as missing.
    let info =
        answer.server_info.and_then(|json| serde_json::from_str::<Info<'_>>(json.get()).ok());
    let info = info.unwrap_or_default();
    let capabilities = answer.capabilities.map(RawValue::get);
    let capabilities =
        capabilities.and_then(|json| serde_json::from_str::<Capabilities<'_>>(json).ok());
    let tools = capabilities.unwrap_or_default().tools;
    let list_changed =
        tools.and_then(|json| serde_json::from_str::<ToolsCapability>(json.get()).ok());
    let text = |json: Option<&RawValue>| texts.prose(json?);
    let version = answer.protocol_version.and_then(|json| texts.text(json)).unwrap_or_default();
    let known = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .any(|known| known.as_str() == version && known.has_initialize());
    if !known {
        let what = format!("it speaks protocol version \"{version}\", which is unknown");
        return Err(refused(&what).quoting(&version));
    }
    Ok(Handshake {
        protocol_version: version,
        server_name: text(info.name),
        server_version: text(info.version),
        instructions: text(answer.instructions),
        has_tools: tools.is_some_and(|tools| tools.get().starts_with('{')),
        announces_tools: list_changed.is_some_and(|tools| tools.list_changed),
    })
}

/// All pages of the tool list, each tool as the server wrote it.
pub(crate) async fn list_tools(session: &Session, handshake: &Handshake) -> Result<Vec<Bytes>> {
    if !handshake.has_tools {
        return Ok(Vec::new());
    }
    let limits = session.limits;
    let (mut tools, mut bytes) = (Vec::new(), 0);
    let mut params = json!({});
    let mut seen = HashSet::new();
    for _ in 0..PAGE_LIMIT {
        let answer = session.request("tools/list", &params).await.map_err(connect_error)?;
        let texts = session.text_reader();
        let page =
            runtime::read_off_worker(answer.len(), move || read_page(answer, &texts, &limits));
        let page = page.await?;
        bytes += page.tools.iter().map(Bytes::len).sum::<usize>();
        tools.extend(page.tools);
        if tools.len() > TOOL_LIMIT {
            return Err(over_limit(&format!("more than {TOOL_LIMIT} tools")));
        }
        if bytes > limits.tool_list_bytes {
            let limit = limits.tool_list_bytes;
            return Err(over_limit(&format!("tools whose definitions are over {limit} bytes"))
                .with_hint(
                    "raise \"toolListBytes\" in the server's \"limits\" if you want them all",
                ));
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

struct Page {
    tools: Vec<Bytes>,
    next_cursor: Option<String>,
}

fn read_page(answer: Bytes, texts: &TextReader, limits: &Limits) -> Result<Page> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        tools: Entries<'a>,
        #[serde(borrow, default, rename = "nextCursor")]
        next_cursor: Option<&'a RawValue>,
    }
    let unreadable = |why: &str| {
        let why = texts.plain(why);
        refused(&format!("its tool list cannot be read: {why}")).quoting(&why)
    };
    let page: Answer<'_> = read_object(&answer).map_err(|why| unreadable(&why))?;
    let next_cursor = match page.next_cursor.map(RawValue::get) {
        // The cursor is sent back unchanged, so it cannot be cut.
        Some(cursor) if cursor.len() > limits.text_bytes => {
            let limit = limits.text_bytes;
            return Err(over_limit(&format!("tools with a cursor of over {limit} bytes")));
        }
        Some(cursor) => Some(
            serde_json::from_str::<String>(cursor)
                .map_err(|_| unreadable("its cursor is not a string"))?,
        ),
        None => None,
    };
    let entries = page.tools.0;
    // A slice keeps the whole answer alive, so small parts are copied.
    let used: usize = entries.iter().map(|tool| tool.get().len()).sum();
    let copies = used < answer.len() / 2;
    let tools = entries.iter().map(|tool| match tool.get().as_bytes() {
        tool if copies => Bytes::copy_from_slice(tool),
        tool => answer.slice_ref(tool),
    });
    Ok(Page { tools: tools.collect(), next_cursor })
}

/// The object at the start of an answer, and nothing after it: see `message::quick_answer`. If it is not an object, the
/// error does not repeat the value, because it may be long.
fn read_object<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, String> {
    if !answer.trim_ascii_start().starts_with(b"{") {
        return Err("it is not an object".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_slice(answer);
    T::deserialize(&mut reader).map_err(|error| error.to_string())
}

/// The entries of one page; one more than the limit if there are too many.
struct Entries<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tools")
            }

            // The value may be long, and the usual error would repeat it.
            fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Self::Value, E> {
                Err(E::custom("it is a string in place of a list"))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while list.len() <= TOOL_LIMIT {
                    match items.next_element()? {
                        Some(item) => list.push(item),
                        None => return Ok(list),
                    }
                }
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(list)
            }
        }
        deserializer.deserialize_seq(List).map(Entries)
    }
}

/// The error of an attempt, from the error of one of its requests: a refused control request is a failed handshake,
/// although a refused call has another meaning.
pub(crate) fn connect_error(error: Error) -> Error {
    match error.kind() {
        ErrorKind::ToolFailed | ErrorKind::ProtocolError => {
            error.into_connect(ErrorKind::HandshakeFailed)
        }
        ErrorKind::ConnectionLost | ErrorKind::ToolUnavailable | ErrorKind::ToolRejected => {
            error.into_connect(ErrorKind::ConnectFailed)
        }
        // The answer exceeded a limit; with a limit on our side the request would not have been sent.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Mask;

    fn texts(limit: usize) -> TextReader {
        TextReader::new(Mask::default(), limit)
    }

    fn page(json: String) -> Result<Page> {
        let limits = Limits { text_bytes: 100, ..Limits::default() };
        read_page(json.into(), &texts(limits.text_bytes), &limits)
    }

    #[test]
    fn the_readable_parts_of_a_handshake_are_read() {
        let read = |json: &str| read_initialize(json.as_bytes(), &texts(50));
        let long = "x".repeat(1000);
        let handshake = read(&format!(
            r#"{{"protocolVersion":"2025-06-18","serverInfo":{{"name":"n","version":"{long}"}},"instructions":"{long}","capabilities":{{"tools":{{}}}}}},"id":1"#
        ));
        let handshake = handshake.unwrap();
        assert_eq!(handshake.server_name.as_deref(), Some("n"));
        assert!(handshake.server_version.is_some_and(|text| text.len() < 100));
        assert!(handshake.instructions.is_some_and(|text| text.len() < 100));
        assert!(handshake.has_tools);
        let odd = r#"{"protocolVersion":"2025-06-18","serverInfo":"n","instructions":7,"capabilities":[]}"#;
        let odd = read(odd).unwrap();
        assert_eq!((odd.server_name, odd.instructions, odd.has_tools), (None, None, false));
        for unknown in
            ["{}".to_owned(), format!(r#"{{"protocolVersion":"{long}"}}"#), format!("\"{long}\"")]
        {
            let error = read(&unknown).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::HandshakeFailed);
            assert!(error.message().len() < 300, "{error}");
        }
    }

    #[test]
    fn a_small_tool_does_not_keep_a_large_page_alive() {
        let tool = r#"{"name":"t"}"#;
        let apart = |json: String| {
            let answer = Bytes::from(json);
            let range = answer.as_ptr_range();
            let page = read_page(answer.clone(), &texts(100), &Limits::default()).unwrap();
            assert_eq!(page.tools, [tool]);
            !range.contains(&page.tools[0].as_ptr())
        };
        assert!(apart(format!(r#"{{"tools":[{tool}],"more":"{}"}}"#, "x".repeat(1000))));
        assert!(!apart(format!(r#"{{"tools":[{tool}]}}"#)));
    }

    #[test]
    fn the_error_of_an_invalid_page_is_short() {
        let long = "x".repeat(10_000);
        for (json, kind) in [
            (format!(r#"{{"tools":"{long}"}}"#), ErrorKind::HandshakeFailed),
            (format!("\"{long}\""), ErrorKind::HandshakeFailed),
            (r#"{"tools":[],"nextCursor":7}"#.to_owned(), ErrorKind::HandshakeFailed),
            (format!(r#"{{"tools":[],"nextCursor":"{long}"}}"#), ErrorKind::LimitExceeded),
        ] {
            let error = page(json).err().unwrap();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().len() < 300, "{error}");
        }
        let many = format!(r#"{{"tools":[{}0]}}"#, "0,".repeat(1_000_000));
        assert_eq!(page(many).unwrap().tools.len(), TOOL_LIMIT + 1);
    }
}
