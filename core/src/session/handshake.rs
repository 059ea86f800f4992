//! Owns what a server says of itself, as the answer to `initialize` or to `server/discover`. Which of them is asked is in
//! `negotiate`.
//! Invariant: a member that cannot be read counts as missing. An answer that is not accepted is marked as incurable: the
//! same server would give the same answer again. Of a long answer only the used parts are read, off the runtime's workers.

use std::marker::PhantomData;

use rmcp::model::ProtocolVersion;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::Session;
use super::message::read_object;
use super::stateless::implementation;
use super::text::TextReader;
use crate::client_info::ClientInfo;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::runtime;

/// The two ways to begin with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// A handshake opens a session: versions up to 2025-11-25.
    Initialize,
    /// Every request says all that it needs: versions from 2026-07-28.
    Stateless,
}

impl Era {
    pub(crate) fn other(self) -> Self {
        match self {
            Era::Initialize => Era::Stateless,
            Era::Stateless => Era::Initialize,
        }
    }

    /// The era of a version, if that is known.
    pub(crate) fn of_version(version: &str) -> Option<Self> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == version);
        known.map(|known| if known.has_initialize() { Era::Initialize } else { Era::Stateless })
    }
}

/// What a server says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshake {
    pub(crate) protocol_version: String,
    pub(crate) server_name: Option<String>,
    pub(crate) server_version: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(super) has_tools: bool,
    /// Whether it announces changes of its tools.
    pub(crate) announces_tools: bool,
    pub(crate) capabilities: ServerCapabilities,
}

/// What a server offers besides tools.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerCapabilities {
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) skills: bool,
    /// Whether calls of tools can ask for tasks.
    pub(super) task_calls: bool,
    /// Whether it announces changes of their lists.
    pub(super) announces_resources: bool,
    pub(super) announces_prompts: bool,
}

impl Handshake {
    pub(crate) fn era(&self) -> Era {
        Era::of_version(&self.protocol_version).unwrap_or(Era::Initialize)
    }
}

/// Asks for a session with a handshake, in this version or the newest that has one. The answer may name a version that
/// has none.
pub(super) async fn initialize(
    session: &Session,
    client: &ClientInfo,
    version: Option<&str>,
) -> Result<Handshake> {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    let asked = known.clone().find(|known| Some(known.as_str()) == version);
    let asked = asked.unwrap_or(&ProtocolVersion::LATEST_WITH_INITIALIZE);
    let params = json!({
        "protocolVersion": asked,
        "capabilities": session.subscribers.capabilities(),
        "clientInfo": implementation(client),
    });
    let answer = session.request_with(None, "initialize", &params).await?;
    let texts = session.text_reader();
    runtime::read_off_worker(answer.len(), move || read_initialize(&answer, &texts)).await
}

fn read_initialize(answer: &[u8], texts: &TextReader) -> Result<Handshake> {
    let answer: ServerAnswer<'_> = read_object(answer, PhantomData)
        .map_err(|why| refused(&format!("the answer to initialize cannot be read: {why}")))?;
    let version = answer.protocol_version.and_then(|json| texts.text(json)).unwrap_or_default();
    if Era::of_version(&version).is_none() {
        let what = format!("it speaks protocol version \"{version}\", which is unknown");
        return Err(refused(&what).quoting(&version));
    }
    Ok(answer.into_handshake(version, texts))
}

/// The members of an answer about a server that we use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerAnswer<'a> {
    #[serde(borrow, default)]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) supported_versions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    server_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, default)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

impl ServerAnswer<'_> {
    pub(super) fn into_handshake(self, protocol_version: String, texts: &TextReader) -> Handshake {
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
            #[serde(borrow, default)]
            resources: Option<&'a RawValue>,
            #[serde(borrow, default)]
            prompts: Option<&'a RawValue>,
            #[serde(borrow, default)]
            tasks: Option<&'a RawValue>,
            #[serde(borrow, default)]
            extensions: Option<&'a RawValue>,
        }
        #[derive(Deserialize, Default)]
        struct Tasks<'a> {
            #[serde(borrow, default)]
            requests: Option<&'a RawValue>,
        }
        #[derive(Deserialize, Default)]
        struct TaskRequests<'a> {
            #[serde(borrow, default)]
            tools: Option<&'a RawValue>,
        }
        #[derive(Deserialize, Default)]
        struct TaskTools<'a> {
            #[serde(borrow, default)]
            call: Option<&'a RawValue>,
        }
        #[derive(Deserialize, Default)]
        struct Extensions<'a> {
            #[serde(borrow, default, rename = "io.modelcontextprotocol/skills")]
            skills: Option<&'a RawValue>,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase")]
        struct ListCapability {
            #[serde(default)]
            list_changed: bool,
        }
        #[derive(Deserialize, Default)]
        struct Meta<'a> {
            #[serde(borrow, default, rename = "io.modelcontextprotocol/serverInfo")]
            server_info: Option<&'a RawValue>,
        }
        let info = self.server_info.or_else(|| member::<Meta<'_>>(self.meta).server_info);
        let info: Info<'_> = member(info);
        let Capabilities { tools, resources, prompts, tasks, extensions } =
            member(self.capabilities);
        let tasks = member::<Tasks<'_>>(tasks).requests;
        let tasks = member::<TaskTools<'_>>(member::<TaskRequests<'_>>(tasks).tools).call;
        let Extensions { skills } = member(extensions);
        let has = |it: Option<&RawValue>| it.is_some_and(|json| json.get().starts_with('{'));
        let announces = |it: Option<&RawValue>| member::<ListCapability>(it).list_changed;
        let text = |json: Option<&RawValue>| texts.prose(json?);
        Handshake {
            protocol_version,
            server_name: text(info.name),
            server_version: text(info.version),
            instructions: text(self.instructions),
            has_tools: has(tools),
            announces_tools: announces(tools),
            capabilities: ServerCapabilities {
                resources: has(resources),
                prompts: has(prompts),
                skills: has(skills),
                task_calls: has(tasks),
                announces_resources: announces(resources),
                announces_prompts: announces(prompts),
            },
        }
    }
}

/// The parts of a member; all missing if it has the wrong type.
fn member<'a, T: Deserialize<'a> + Default>(json: Option<&'a RawValue>) -> T {
    json.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default()
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

pub(super) fn refused(what: &str) -> Error {
    Error::new(ErrorKind::HandshakeFailed, format!("Cannot speak with the server: {what}"))
        .incurable()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Mask;

    fn texts(limit: usize) -> TextReader {
        TextReader::new(Mask::default(), limit)
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
}
