//! Owns which headers a definition or a caller may set: all but those that frame the message, which only we set. Also how
//! a header repeats a text of a message.
//! Invariant: no text here shows the value of a header, and no text can end its header.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Headers about the destination, the length and the format of a message.
const FRAMING: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// The protocol's own headers, headers for proxies and of a WebSocket's opening, and HTTP/2 pseudo-headers.
const FRAMING_FAMILIES: &[&str] = &["mcp-", "proxy-", "sec-websocket-", ":"];

/// Whether only we may set this header.
pub(crate) fn is_framing(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    FRAMING.contains(&&*name) || FRAMING_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// The headers of these entries; the error says what is wrong with one of them.
pub(crate) fn bind_headers(
    entries: impl IntoIterator<Item = (String, String)>,
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in entries {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("\"{name}\" cannot be the name of a header"))?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            format!("the value of header \"{name}\" has characters that no header may have")
        })?;
        value.set_sensitive(true);
        headers.append(header, value);
    }
    Ok(headers)
}

/// How a text of a message is marked in a header that cannot hold it as it is.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// A text of a message as the value of a header: as it is, or encoded where a header could not hold it unchanged.
pub(crate) fn mirrored_value(text: &str) -> Option<HeaderValue> {
    let (prefix, suffix) = ENCODED;
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim_ascii().len() == text.len()
        && !(text.starts_with(prefix) && text.ends_with(suffix));
    match is_plain {
        true => HeaderValue::from_str(text).ok(),
        false => HeaderValue::try_from(format!("{prefix}{}{suffix}", STANDARD.encode(text))).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_frames_the_message_is_not_for_a_definition() {
        for name in [
            "Host",
            "hOST",
            "Content-Length",
            "Content-Type",
            "Content-Encoding",
            "Transfer-Encoding",
            "Connection",
            "Keep-Alive",
            "TE",
            "Trailer",
            "Upgrade",
            "Expect",
            "Accept",
            "Accept-Encoding",
            "Last-Event-ID",
            "Mcp-Session-Id",
            "MCP-Protocol-Version",
            "mcp-x",
            "Proxy-Authorization",
            "Proxy-Connection",
            "HTTP2-Settings",
            "Sec-WebSocket-Protocol",
            ":authority",
            ":path",
        ] {
            assert!(is_framing(name), "{name}");
        }
        for name in ["Authorization", "Cookie", "X-Host", "Accept-Language", "X-Mcp-Key", "Origin"]
        {
            assert!(!is_framing(name), "{name}");
        }
    }

    #[test]
    fn a_text_is_repeated_as_it_is_or_encoded() {
        let value = |text: &str| mirrored_value(text).unwrap().to_str().unwrap().to_owned();
        for plain in ["us-west1", "us west 1", "", "=?base64?x", "a?="] {
            assert_eq!(value(plain), plain);
        }
        assert_eq!(value("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
        assert_eq!(value(" padded "), "=?base64?IHBhZGRlZCA=?=");
        assert_eq!(value("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
        assert_eq!(value("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
        for odd in ["a\r\nX: 1", "\u{7f}", "\ta", "a\0"] {
            assert!(value(odd).starts_with("=?base64?"), "{odd:?}");
        }
    }
}
