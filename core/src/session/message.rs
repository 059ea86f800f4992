//! Owns the format of JSON-RPC messages: writing ours, and reading only as much of the server's as routing needs.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wire::OutgoingMessage;

#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(default)]
    pub(super) jsonrpc: Option<IgnoredAny>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct RpcErrorShape<'a> {
    pub(super) code: i64,
    #[serde(borrow, default)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) data: Option<&'a RawValue>,
}

/// How many bytes of a method name are kept; every known method is shorter.
const METHOD: usize = 200;

/// A method name, cut to the limit, as written; `None` if it is not a string.
pub(super) fn method_name(json: &RawValue) -> Option<Cow<'_, str>> {
    let written = json.get().strip_prefix('"')?.strip_suffix('"')?;
    if written.len() > METHOD {
        let end = (0..=METHOD).rev().find(|&at| written.is_char_boundary(at)).unwrap_or(0);
        return Some(format!("{}…", &written[..end]).into());
    }
    match written.contains('\\') {
        true => crate::json_string::unescape(json.get()),
        false => Some(written.into()),
    }
}

/// Calls the function with each message of a batch while reading it, so that millions of them need no list. Returns
/// false if the batch cannot be read to its end.
pub(super) fn each_of_batch<'a>(batch: &'a [u8], take: impl FnMut(&'a RawValue)) -> bool {
    struct Each<F>(F);
    impl<'a, F: FnMut(&'a RawValue)> Visitor<'a> for Each<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a batch")
        }

        fn visit_seq<A: SeqAccess<'a>>(mut self, mut items: A) -> Result<(), A::Error> {
            while let Some(item) = items.next_element::<&RawValue>()? {
                // Skips what cannot be a message.
                if item.get().starts_with('{') {
                    (self.0)(item);
                }
            }
            Ok(())
        }
    }
    let mut reader = serde_json::Deserializer::from_slice(batch);
    (&mut reader).deserialize_seq(Each(take)).and_then(|()| reader.end()).is_ok()
}

/// An answer that lacks only `jsonrpc`. It has no other members, so that it cannot be a line of a log: a result that says
/// something, or an error with all that JSON-RPC asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BareAnswer<'a> {
    #[serde(borrow)]
    pub(super) id: &'a RawValue,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> BareAnswer<'a> {
    pub(super) fn read(message: &'a [u8]) -> Option<Self> {
        let answer: BareAnswer<'_> = serde_json::from_slice(message).ok()?;
        let is_answer = match (answer.result, answer.error) {
            (Some(result), None) => {
                let members = result.get().strip_prefix('{').map(str::trim_ascii_start);
                members.is_some_and(|members| !members.starts_with('}'))
            }
            (None, Some(error)) => serde_json::from_str::<RpcErrorShape<'_>>(error.get())
                .is_ok_and(|error| error.message.is_some()),
            _ => false,
        };
        is_answer.then_some(answer)
    }
}

/// The error of a JSON-RPC answer that names no request.
pub(super) fn error_without_id(message: &[u8]) -> Option<&str> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(rename = "jsonrpc")]
        _jsonrpc: IgnoredAny,
        id: Option<IgnoredAny>,
        result: Option<IgnoredAny>,
        #[serde(borrow)]
        error: &'a RawValue,
    }
    let answer: Answer<'_> = serde_json::from_slice(message).ok()?;
    (answer.id.is_none() && answer.result.is_none()).then(|| answer.error.get())
}

/// The size of a `tools/call` line without tool, arguments and meta, at most.
const FRAME: usize = 150;

/// A `tools/call` request. `tool` is a JSON string and `arguments` a JSON object, both compact. The progress token is
/// the id. `standing` has the `_meta` entries of every request, each with a comma after it.
pub(super) fn tools_call(
    id: u64,
    tool: &str,
    arguments: &[u8],
    meta: Option<&[u8]>,
    standing: &[u8],
) -> OutgoingMessage {
    let entries = meta.and_then(|meta| meta.trim_ascii_end().strip_suffix(b"}")).unwrap_or(b"{");
    let size = FRAME + tool.len() + arguments.len() + entries.len() + standing.len();
    let mut line = Vec::with_capacity(size);
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    push(&mut line, &id);
    line.extend_from_slice(b",\"method\":\"tools/call\",\"params\":{\"name\":");
    line.extend_from_slice(tool.as_bytes());
    line.extend_from_slice(b",\"arguments\":");
    line.extend_from_slice(arguments);
    line.extend_from_slice(b",\"_meta\":");
    line.extend_from_slice(entries);
    let first = entries.trim_ascii_end().ends_with(b"{");
    line.extend_from_slice(if first { b"" } else { b"," });
    // Ours are written last, so that they override those from the caller.
    line.extend_from_slice(standing);
    line.extend_from_slice(b"\"progressToken\":");
    push(&mut line, &id);
    line.extend_from_slice(b"}}}\n");
    OutgoingMessage::from_line(line)
}

/// A question about a task in place of a call, with the metadata of the call.
pub(super) fn tasks_get(
    id: u64,
    task_id: &str,
    meta: Option<&[u8]>,
    standing: &[u8],
) -> OutgoingMessage {
    let mut params = serde_json::json!({"taskId": task_id});
    if let Some(meta) = meta.and_then(|meta| serde_json::from_slice(meta).ok()) {
        params["_meta"] = meta;
    }
    request(id, "tasks/get", &params, standing)
}

/// A call that asks for a task, as in 2025-11-25.
pub(super) fn as_task(call: OutgoingMessage) -> OutgoingMessage {
    call.rewritten(|line| {
        let end = line.len() - b"}}\n".len();
        [&line[..end], b",\"task\":{}", &line[end..]].concat()
    })
}

/// Any other request. `params` is an object; `standing` as in [`tools_call`].
pub(super) fn request(
    id: u64,
    method: &str,
    params: &serde_json::Value,
    standing: &[u8],
) -> OutgoingMessage {
    let Some(entries) = standing.strip_suffix(b",") else {
        return serialized(
            &serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
        );
    };
    let mut params = params.clone();
    let meta = params.as_object_mut().and_then(|params| params.remove("_meta"));
    let (mut own, mut members) = (Vec::new(), Vec::with_capacity(64));
    meta.filter(|meta| meta.is_object()).iter().for_each(|meta| push(&mut own, meta));
    // Those of the caller come first, so that ours override them.
    let own = own.strip_prefix(b"{").and_then(|own| own.strip_suffix(b"}")).unwrap_or(b"");
    push(&mut members, &params);
    let members = members.strip_prefix(b"{").unwrap_or(b"}");
    let mut line = Vec::with_capacity(FRAME + method.len() + entries.len() + members.len());
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    push(&mut line, &id);
    line.extend_from_slice(b",\"method\":");
    push(&mut line, &method);
    line.extend_from_slice(b",\"params\":{\"_meta\":{");
    line.extend_from_slice(own);
    line.extend_from_slice(if own.is_empty() { b"" } else { b"," });
    line.extend_from_slice(entries);
    line.extend_from_slice(if members == b"}" { b"}" } else { b"}," });
    line.extend_from_slice(members);
    line.extend_from_slice(b"}\n");
    OutgoingMessage::from_line(line)
}

pub(super) fn notification(method: &str, params: &serde_json::Value) -> OutgoingMessage {
    serialized(&serde_json::json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// A reply to the server; `id` is the server's id as written, `body` is `"result":…` or `"error":…`.
pub(super) fn answer(id: &str, body: &str) -> OutgoingMessage {
    let mut line = Vec::with_capacity(64 + body.len());
    let _ = writeln!(line, "{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}");
    OutgoingMessage::from_line(line)
}

fn serialized(message: &serde_json::Value) -> OutgoingMessage {
    let mut line = Vec::with_capacity(256);
    push(&mut line, message);
    line.push(b'\n');
    OutgoingMessage::from_line(line)
}

fn push(line: &mut Vec<u8>, value: &impl Serialize) {
    // Maps with string keys, strings and numbers always serialise, and a Vec takes every write.
    let _ = serde_json::to_writer(line, value);
}

/// The object at the start of an answer, and nothing after it: see [`quick_answer`]. If it is not an object, the
/// error does not repeat the value, because it may be long.
pub(super) fn read_object<'a, S: DeserializeSeed<'a>>(
    answer: &'a [u8],
    seed: S,
) -> Result<S::Value, String> {
    if !answer.trim_ascii_start().starts_with(b"{") {
        return Err("it is not an object".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_slice(answer);
    seed.deserialize(&mut reader).map_err(|error| error.to_string())
}

/// The id and result of an answer in one of the two usual layouts, found without scanning the result. The returned text
/// *begins* with the result; more members may follow, so the reader must stop at its end.
pub(super) fn quick_answer(message: &[u8]) -> Option<(u64, &[u8])> {
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
    if let Some(rest) = message.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let result = rest[digits..].strip_prefix(b",\"result\":")?;
        return Some((number(&rest[..digits])?, result));
    }
    let result = message.strip_prefix(b"{\"result\":")?;
    let rest = message.strip_suffix(b"}")?;
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, id) = rest.split_at(rest.len() - digits);
    rest.ends_with(b"},\"jsonrpc\":\"2.0\",\"id\":").then_some((number(id)?, result))
}

/// Whether the brackets of a message nest deeper than `limit`.
pub(super) fn is_deeper_than(message: &[u8], limit: usize) -> bool {
    // Most messages are too short, or have too few brackets, to need the full scan.
    if message.len() <= limit || opening_brackets(message) <= limit {
        return false;
    }
    let mut depth = 0;
    let mut at = 0;
    while let Some(&byte) = message.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at += length_of_text(&message[at..]),
            _ => {}
        }
    }
    false
}

/// How many opening brackets there are, in strings too. Written so that the compiler can vectorise it: a large result
/// costs one pass at memory speed.
fn opening_brackets(message: &[u8]) -> usize {
    let in_chunk = |chunk: &[u8]| -> u8 {
        // Sets the one bit in which `[` and `{` differ.
        chunk.iter().map(|byte| u8::from(byte | 0x20 == b'{')).sum()
    };
    message.chunks(u8::MAX as usize).map(|chunk| usize::from(in_chunk(chunk))).sum()
}

/// The length of a JSON string after its opening quote, including the closing one.
pub(super) fn length_of_text(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &rest[at..]) {
        at += found + 1;
        if rest[at - 1] == b'"' {
            return at;
        }
        at = (at + 1).min(rest.len());
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_deeper_than(nested(256).as_bytes(), 256));
        assert!(is_deeper_than(nested(257).as_bytes(), 256));
        assert!(!is_deeper_than(format!("{:?}", nested(1000)).as_bytes(), 256));
        assert!(!is_deeper_than("[],".repeat(1000).as_bytes(), 256));
        assert!(!is_deeper_than(br#"["\\\"[[[[[["]"#, 2));
        assert!(is_deeper_than(br#"["\\\\",[["#, 2));
        assert!(!is_deeper_than(b"[[\"[\\", 2));
    }

    #[test]
    fn a_call_is_one_valid_line() {
        let line = tools_call(7, "\"a\\nb\"", b"{\"x\":1}", None, b"").into_line();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"a\\nb\",\"arguments\":{\"x\":1},\"_meta\":{\"progressToken\":7}}}\n"
        );
    }

    #[test]
    fn meta_is_kept_as_written_and_joined_by_the_token() {
        let text = |meta: &str| {
            let call = tools_call(7, "\"t\"", b"{}", Some(meta.as_bytes()), b"");
            String::from_utf8(call.into_line()).unwrap()
        };
        assert!(
            text(r#"{"n":1180591620717411303424}"#)
                .ends_with("\"_meta\":{\"n\":1180591620717411303424,\"progressToken\":7}}}\n")
        );
        assert!(text(r#"{"a":{}}"#).ends_with("\"_meta\":{\"a\":{},\"progressToken\":7}}}\n"));
        assert!(text("{}").ends_with("\"_meta\":{\"progressToken\":7}}}\n"));
    }

    #[test]
    fn the_longest_call_is_written_without_growing() {
        let meta = b"{\"a\":1}";
        let (tool, arguments) = ("\"t\"", b"{}");
        let standing = b"\"b\":2,";
        let line = tools_call(u64::MAX, tool, arguments, Some(meta), standing).into_line();
        let parts = tool.len() + arguments.len() + meta.len() - 1 + standing.len();
        assert_eq!(line.capacity(), FRAME + parts);
    }

    #[test]
    fn the_standing_entries_are_in_the_meta_of_every_request() {
        let meta_of = |message: OutgoingMessage| {
            let message: serde_json::Value = serde_json::from_slice(&message.into_line()).unwrap();
            message["params"].clone()
        };
        let standing = br#""v":"1","c":{},"#;
        let call = |meta: Option<&[u8]>| meta_of(tools_call(7, "\"t\"", b"{}", meta, standing));
        let ours = serde_json::json!({"v": "1", "c": {}, "progressToken": 7});
        assert_eq!(call(None)["_meta"], ours);
        assert_eq!(call(Some(b"{\"v\":\"0\"}"))["_meta"], ours, "the caller's is overridden");
        let list = |params| meta_of(request(7, "tools/list", &params, standing));
        let meta = serde_json::json!({"v": "1", "c": {}});
        assert_eq!(list(serde_json::json!({})), serde_json::json!({"_meta": meta}));
        let paged = serde_json::json!({"cursor": "c"});
        assert_eq!(list(paged), serde_json::json!({"_meta": meta, "cursor": "c"}));
    }

    #[test]
    fn usual_answers_are_found_quickly_and_others_not() {
        let found = |text: &'static str| {
            quick_answer(text.as_bytes()).map(|(id, result)| (id, result.first().copied()))
        };
        assert_eq!(found(r#"{"jsonrpc":"2.0","id":12,"result":{}}"#), Some((12, Some(b'{'))));
        assert_eq!(found(r#"{"result":{},"jsonrpc":"2.0","id":12}"#), Some((12, Some(b'{'))));
        for other in [
            r#"{"jsonrpc":"2.0","id":12,"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":"12","result":{}}"#,
            r#"{"result":{"id":12}}"#,
            r#"{"jsonrpc":"2.0","method":"x","params":{"id":1}}"#,
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn an_error_without_an_id_is_distinguished_from_other_objects() {
        let error = r#"{"code":1,"message":"m"}"#;
        for answer in [
            format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#),
            format!(r#"{{"error":{error},"jsonrpc":"2.0"}}"#),
        ] {
            assert_eq!(error_without_id(answer.as_bytes()), Some(error), "{answer}");
        }
        for other in [
            format!(r#"{{"level":50,"error":{error}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":3,"error":{error}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":null,"result":{{}},"error":{error}}}"#),
            r#"{"jsonrpc":"2.0","id":null,"result":{}}"#.to_owned(),
        ] {
            assert_eq!(error_without_id(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn an_answer_without_a_version_is_distinguished_from_a_line_of_a_log() {
        for answer in [
            r#"{"id":3,"result":{"content":[]}}"#,
            r#"{"result": { "tools":[]}, "id":"3"}"#,
            r#"{"id":3,"error":{"code":-1,"message":"m"}}"#,
        ] {
            assert!(BareAnswer::read(answer.as_bytes()).is_some(), "{answer}");
        }
        for other in [
            r#"{"id":3}"#,
            r#"{"id":3,"result":{}}"#,
            r#"{"id":3,"result":{ }}"#,
            r#"{"id":3,"result":"ok"}"#,
            r#"{"id":3,"error":{"code":1}}"#,
            r#"{"id":3,"error":"no"}"#,
            r#"{"level":30,"id":3,"result":{"content":[]}}"#,
            r#"{"id":3,"result":{"a":1},"error":{"code":1,"message":"m"}}"#,
            r#"{"id":3,"method":"GET","result":{"a":1}}"#,
        ] {
            assert!(BareAnswer::read(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn a_method_name_is_unescaped_and_cut() {
        let name = |json: &str| {
            let json = RawValue::from_string(json.to_owned()).unwrap();
            method_name(&json).map(Cow::into_owned)
        };
        assert_eq!(name("\"ping\"").unwrap(), "ping");
        assert_eq!(name(r#""tools\/list""#).unwrap(), "tools/list");
        assert_eq!(name("7"), None);
        let long = name(&format!("\"{}\"", "é".repeat(1 << 20))).unwrap();
        assert!(long.len() < METHOD + 5, "{}", long.len());
    }

    #[test]
    fn a_broken_batch_is_read_up_to_the_break() {
        let read = |text: &str| {
            let mut seen = Vec::new();
            let whole = each_of_batch(text.as_bytes(), |item| seen.push(item.get().to_owned()));
            (seen, whole)
        };
        let two = vec!["{\"a\":1}".to_owned(), "{}".to_owned()];
        assert_eq!(read("[{\"a\":1}, 7, {} ]"), (two.clone(), true));
        assert_eq!(read("[{\"a\":1},{},"), (two, false));
        assert!(!read("[] []").1);
    }

    #[test]
    fn the_metadata_of_a_caller_is_sent_beside_ours() {
        let params = serde_json::json!({"_meta": {"traceparent": "t"}, "uri": "a:b"});
        let line = request(7, "resources/read", &params, b"\"ours\":1,").into_line();
        let sent: serde_json::Value = serde_json::from_slice(&line).unwrap();
        let meta = serde_json::json!({"traceparent": "t", "ours": 1});
        assert_eq!(sent["params"], serde_json::json!({"_meta": meta, "uri": "a:b"}));
    }
}
