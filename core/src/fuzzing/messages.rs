//! The properties of what servers send: lines, events, frames, JSON-RPC messages, results, and the documents of a sign-in.

use serde_json::Value;

use crate::oauth::endpoints_of;
use crate::result::Origin;
use crate::scan::{TAG, wrapper_tags};
use crate::session::{RoutedRequests, route};
use crate::wire::parsing;

/// Small, so that short inputs go over it.
const LIMIT: usize = 256;

/// The stream in an input, cut as its first eight bytes say.
fn cut(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let (sizes, stream) = data.split_first_chunk::<8>()?;
    let (mut chunks, mut rest) = (Vec::new(), stream);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            return Some((stream, chunks));
        }
        let (chunk, after) = rest.split_at(usize::from(size % 64 + 1).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    None
}

/// A program's output contains the same lines however it arrives.
pub fn lines(data: &[u8]) {
    let Some((stream, chunks)) = cut(data) else { return };
    assert_eq!(parsing::lines(&chunks, LIMIT), parsing::lines(&[stream], LIMIT));
}

/// An event stream contains the same events however it arrives.
pub fn events(data: &[u8]) {
    let Some((stream, chunks)) = cut(data) else { return };
    assert_eq!(parsing::events(&chunks, LIMIT), parsing::events(&[stream], LIMIT));
}

/// A WebSocket contains the same messages however its bytes arrive, none over the limit.
pub fn frames(data: &[u8]) {
    let Some((stream, chunks)) = cut(data) else { return };
    assert_eq!(parsing::websocket(&chunks, LIMIT), parsing::websocket(&[stream], LIMIT));
}

/// Any message ends at most the requests that it answers, and an answer with the id of a request ends it.
pub fn messages(data: &[u8]) {
    let RoutedRequests { ended, open } = route(data);
    let Ok(Value::Object(message)) = serde_json::from_slice(data) else { return };
    let is_answer = message.contains_key("jsonrpc")
        && !message.contains_key("method")
        && (message.contains_key("result") || message.contains_key("error"));
    let id = message.get("id").and_then(Value::as_u64);
    if let (true, Some(id)) = (is_answer, id) {
        assert!(!open.contains(&id), "request {id} still waits");
        assert!(ended.iter().all(|ended| *ended == id), "{ended:?} ended with {id}");
    }
}

/// Any result has a text for a model: within the limit, and with no tag of ours but those around it.
pub fn results(data: &[u8]) {
    let Some((&limit, rest)) = data.split_first() else { return };
    let Ok(json) = str::from_utf8(rest) else { return };
    if !serde_json::from_str::<Value>(json).is_ok_and(|json| json.is_object()) {
        return;
    }
    let limit = usize::from(limit) + 1;
    let shown = Origin::from_parts(("a\"b>", json, limit, true)).result(json.to_owned());
    let text = shown.for_model();
    assert_eq!(wrapper_tags(text).count(), 2, "{text}");
    assert!(text.ends_with(&format!("\n</{TAG}>")), "{text}");
    // The tags, which name the tool, and the notice of a cut.
    let most = limit + json.len() + 300;
    assert!(text.chars().count() <= most, "{} characters of {limit}", text.chars().count());
    let plain = Origin::from_parts(("s", "t", limit, false)).result(json.to_owned());
    let kept = plain.for_model().chars().count();
    assert!(kept <= limit + 100, "{kept} characters of {limit}");
}

/// Any document of a sign-in is read, and no address in it is accepted that a public server must not name.
pub fn metadata(data: &[u8]) {
    let Ok(document) = serde_json::from_slice::<Value>(data) else { return };
    for url in endpoints_of(&document) {
        assert_eq!(url.scheme(), "https", "{url}");
        assert!(url.username().is_empty() && url.password().is_none(), "{url}");
        let host = url.host().expect("a host");
        let is_local = match host {
            url::Host::Ipv4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
            url::Host::Ipv6(ip) => ip.is_loopback() || ip.is_unique_local(),
            url::Host::Domain(name) => name.trim_end_matches('.') == "localhost",
        };
        assert!(!is_local, "{url}");
    }
}
