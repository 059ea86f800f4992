//! Owns which headers a definition or a caller may set: all but those that frame the message, which only we set.
//! Invariant: no text here shows the value of a header.

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
}
