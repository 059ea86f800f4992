//! Owns the question of the protocol without a handshake (`server/discover`), and which versions a server names.
//! Invariant: a list of versions is read without being kept, however long it is. A server is asked at most twice.

use std::fmt;
use std::marker::PhantomData;

use rmcp::model::ErrorCode;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;

use super::Session;
use super::handshake::{Era, Handshake, ServerAnswer, refused};
use super::message::read_object;
use super::stateless::{RequestMetadata, STATELESS_VERSION};
use super::text::TextReader;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime;

/// The answer of a server to the question.
pub(super) enum Discovered {
    /// It speaks the version that we asked in.
    Stateless(Handshake),
    /// It names only versions with a handshake.
    OnlyOlder,
}

/// Asks a server what it is. One that refuses our version, although it names it, is asked once more.
pub(super) async fn discover(session: &Session, metadata: &RequestMetadata) -> Result<Discovered> {
    let params = json!({});
    let ask = || session.request_with(Some(metadata), "server/discover", &params);
    let mut answer = ask().await;
    if let Err(error) = &answer
        && let Some(versions) = supported_in(error)
    {
        if !versions.has_ours {
            return only_older(versions);
        }
        answer = ask().await;
    }
    let answer = answer?;
    let texts = session.text_reader();
    runtime::read_off_worker(answer.len(), move || read_discovered(&answer, &texts)).await
}

fn read_discovered(answer: &[u8], texts: &TextReader) -> Result<Discovered> {
    // A server that does not know the question may answer anything.
    let answer: ServerAnswer<'_> = read_object(answer, PhantomData).map_err(|why| {
        let text = format!("The answer to server/discover cannot be read: {why}");
        Error::new(ErrorKind::ProtocolError, text)
    })?;
    let versions = answer.supported_versions.map(RawValue::get);
    let versions = versions.and_then(|json| serde_json::from_str::<Versions>(json).ok());
    match versions.unwrap_or_default() {
        versions if !versions.has_ours => only_older(versions),
        _ => {
            let version = STATELESS_VERSION.as_str().to_owned();
            Ok(Discovered::Stateless(answer.into_handshake(version, texts)))
        }
    }
}

fn only_older(versions: Versions) -> Result<Discovered> {
    // A server that names nothing may still have a handshake.
    if versions.has_older || !versions.has_any {
        return Ok(Discovered::OnlyOlder);
    }
    Err(refused("it names only protocol versions that are unknown"))
}

/// The versions that a server names when it refuses the one of a request.
fn supported_in(error: &Error) -> Option<Versions> {
    let rpc =
        error.rpc().filter(|rpc| is_code(rpc.code, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION))?;
    let supported = rpc.data.as_ref()?.get("supported")?;
    Versions::deserialize(supported).ok().filter(|versions| versions.has_any)
}

/// Whether a server that answers so speaks a version without a handshake.
pub(super) fn shows_stateless(error: &Error) -> bool {
    let codes = [
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
        ErrorCode::HEADER_MISMATCH,
    ];
    error.rpc().is_some_and(|rpc| codes.into_iter().any(|code| is_code(rpc.code, code)))
}

pub(super) fn is_code(code: i64, expected: ErrorCode) -> bool {
    code == i64::from(expected.0)
}

/// What a list of versions says.
#[derive(Default)]
struct Versions {
    has_ours: bool,
    has_older: bool,
    has_any: bool,
}

impl<'de> Deserialize<'de> for Versions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A version, if it is a known one.
        struct Named(Option<Era>);
        impl<'de> Deserialize<'de> for Named {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                Ok(Named(value.as_str().and_then(Era::of_version)))
            }
        }
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Versions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of versions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Versions, A::Error> {
                let mut versions = Versions::default();
                while let Some(Named(era)) = items.next_element()? {
                    versions.has_any = true;
                    versions.has_ours |= era == Some(Era::Stateless);
                    versions.has_older |= era == Some(Era::Initialize);
                }
                Ok(versions)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Mask;

    fn read(json: &str) -> Result<Discovered> {
        read_discovered(json.as_bytes(), &TextReader::new(Mask::default(), 50))
    }

    #[test]
    fn the_readable_parts_of_an_answer_are_read() {
        let named = read(
            r#"{"supportedVersions":["2030-01-01",7,null,"2026-07-28"],"serverInfo":"x","instructions":7,
                "capabilities":{"tools":{"listChanged":true}},"ttlMs":"soon"}"#,
        );
        let Ok(Discovered::Stateless(handshake)) = named else { panic!("it names our version") };
        assert_eq!(handshake.protocol_version, "2026-07-28");
        assert!(handshake.has_tools && handshake.announces_tools);
        assert_eq!((handshake.server_name, handshake.instructions), (None, None));
        let named = read(
            r#"{"supportedVersions":["2026-07-28"],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"}}}"#,
        );
        let Ok(Discovered::Stateless(handshake)) = named else { panic!("it names our version") };
        assert_eq!(handshake.server_name.as_deref(), Some("n"));
    }

    #[test]
    fn older_versions_lead_to_a_handshake_and_unknown_ones_to_a_refusal() {
        for older in [
            r#"{"supportedVersions":["2030-01-01","2025-06-18"]}"#,
            r#"{"supportedVersions":[]}"#,
            r#"{"supportedVersions":"2026-07-28"}"#,
            "{}",
        ] {
            assert!(matches!(read(older), Ok(Discovered::OnlyOlder)), "{older}");
        }
        let many = vec!["\"2030-01-01\""; 10_000].join(",");
        let unknown = format!(r#"{{"supportedVersions":[{many}]}}"#);
        for answer in [unknown.as_str(), r#"{"supportedVersions":[[[[]]],{"a":1}]}"#] {
            let error = read(answer).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::HandshakeFailed);
            assert!(error.is_incurable() && error.message().len() < 300, "{error}");
        }
        for odd in ["[]", "7", r#"{"_meta":1,"_meta":1}"#] {
            assert_eq!(read(odd).err().unwrap().kind(), ErrorKind::ProtocolError, "{odd}");
        }
        let ours = format!(r#"{{"supportedVersions":[{many},"2026-07-28"]}}"#);
        assert!(matches!(read(&ours), Ok(Discovered::Stateless(_))));
    }
}
