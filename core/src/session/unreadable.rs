//! Owns recognising unreadable answers: broken ones, and ones of which only the beginning and the end are known.
//! Invariant: a log line that mentions an answer is never taken for one; keys count only at their place in an answer.

use super::message::length_of_text;

/// An unreadable answer, of which only the request may be known.
pub(super) struct UnreadableAnswer {
    /// The request that it belongs to, if it is visible.
    pub(super) id: Option<u64>,
}

impl UnreadableAnswer {
    /// From a whole line.
    pub(super) fn in_line(line: &[u8]) -> Option<UnreadableAnswer> {
        UnreadableAnswer::find(line, line)
    }

    /// From the beginning and the end of a line. The end is empty until it arrives.
    pub(super) fn find(head: &[u8], tail: &[u8]) -> Option<UnreadableAnswer> {
        let head = head.trim_ascii_start();
        // The first of a batch.
        let head = head.strip_prefix(b"[").unwrap_or(head).trim_ascii_start();
        let object = head.strip_prefix(b"{")?;
        let (mut id, mut is_jsonrpc, mut has_outcome) = (None, false, false);
        for (key, value) in own_members(object) {
            match key {
                b"method" | b"params" => return None,
                b"jsonrpc" => is_jsonrpc = true,
                b"result" | b"error" => has_outcome = true,
                b"id" => id = id.or_else(|| number(value)),
                _ => {}
            }
        }
        let last = last_members(tail);
        if has_key(last, b"\"jsonrpc\"") {
            is_jsonrpc = true;
            id = id.or_else(|| ids_in(last).last());
        }
        has_outcome |= has_key(tail, b"\"result\"") || has_key(tail, b"\"error\"");
        (is_jsonrpc && has_outcome).then_some(UnreadableAnswer { id })
    }
}

/// The elements of a batch that is not valid JSON as a whole. A line that only begins with a bracket has none.
pub(super) fn elements(batch: &[u8]) -> Vec<&[u8]> {
    let inside = batch.strip_prefix(b"[").unwrap_or_default().trim_ascii_start();
    if !inside.starts_with(b"{") {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut start = Some(0);
    walk(inside, |depth, at, byte| {
        if depth == 0 && matches!(byte, b',' | b']') {
            found.extend(start.map(|start| inside[start..at].trim_ascii()));
            start = (byte == b',').then_some(at + 1);
        }
    });
    found.extend(start.map(|start| inside[start..].trim_ascii()));
    found
}

/// The keys of an object after its opening bracket, each with the text after its colon, as far as the text goes.
fn own_members(object: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut members = Vec::new();
    walk(object, |depth, at, byte| {
        if depth == 0 && byte == b'"' {
            let text = &object[at + 1..];
            let (key, rest) = text.split_at(length_of_text(text));
            if let Some(value) = rest.trim_ascii_start().strip_prefix(b":") {
                members.push((key.strip_suffix(b"\"").unwrap_or(key), value.trim_ascii_start()));
            }
        }
    });
    members
}

/// Visits the bytes of a JSON text outside of strings, until the bracket that contains the text closes. Of a string
/// only the opening quote is visited, and of the closing brackets only the last one.
fn walk(text: &[u8], mut visit: impl FnMut(usize, usize, u8)) {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'{' | b'[' => {
                visit(depth, at, byte);
                depth += 1;
            }
            b'}' | b']' if depth == 0 => return visit(depth, at, byte),
            b'}' | b']' => depth -= 1,
            b'"' => {
                visit(depth, at, byte);
                at += length_of_text(&text[at + 1..]);
            }
            _ => visit(depth, at, byte),
        }
        at += 1;
    }
}

/// The members without brackets at the end of a message: those of the outermost object, however broken the text before
/// them is.
fn last_members(tail: &[u8]) -> &[u8] {
    let tail = tail.trim_ascii_end();
    let Some(tail) = tail.strip_suffix(b"}") else { return b"" };
    let bracket = tail.iter().rposition(|byte| b"{}[]".contains(byte));
    &tail[bracket.map_or(0, |at| at + 1)..]
}

fn has_key(text: &[u8], quoted: &[u8]) -> bool {
    values_of(text, quoted).next().is_some()
}

fn ids_in(text: &[u8]) -> impl Iterator<Item = u64> + '_ {
    values_of(text, b"\"id\"").filter_map(number)
}

/// The text after this key, wherever it is.
fn values_of<'a>(text: &'a [u8], quoted: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + 'a {
    memchr::memmem::find_iter(text, quoted).filter_map(move |at| {
        let value = text[at + quoted.len()..].trim_ascii_start().strip_prefix(b":")?;
        Some(value.trim_ascii_start())
    })
}

/// Some servers write the number back as a string. An id that only begins with digits is not ours.
fn number(value: &[u8]) -> Option<u64> {
    let (value, is_quoted) = match value.strip_prefix(b"\"") {
        Some(text) => (text, true),
        None => (value, false),
    };
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_whole = match value.get(digits) {
        Some(b'"') => is_quoted,
        after => !is_quoted && after.is_none_or(|byte| b",} \t\r\n".contains(byte)),
    };
    std::str::from_utf8(&value[..digits]).ok().filter(|_| is_whole)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `None` if it is not an answer, otherwise the id that was found.
    fn unreadable(line: &[u8]) -> Option<Option<u64>> {
        UnreadableAnswer::in_line(line).map(|answer| answer.id)
    }

    #[test]
    fn an_id_that_only_begins_with_a_number_is_not_that_number() {
        for id in ["12.5", "12e3", "\"12f0-a9\"", "\"12", "12x", "[12]", "-12"] {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"result\":{{}},\"id\":{id}}}");
            assert_eq!(unreadable(line.as_bytes()), Some(None), "{line}");
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}");
            assert_eq!(unreadable(line.as_bytes()).flatten(), None, "{line}");
        }
    }

    #[test]
    fn a_broken_answer_is_known_by_its_own_members() {
        for line in [
            &b"{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{\"text\":\"\xff\"}}"[..],
            b"{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{\"rows\":[{\"id\":3},{\"te",
            b"{ \"id\" : \"12\", \"jsonrpc\": \"2.0\", \"error\" : {\"id\":3}",
            b"{\"result\":{\"id\":3,\"text\":\"\xff {[\"},\"jsonrpc\":\"2.0\",\"id\":12}",
            b"{\"result\":{\"a\":1,\"jsonrpc\":\"2.0\",\"id\":12}",
            b"{\"result\":{\"rows\":[{\"id\":3}],\"id\":12,\"jsonrpc\":\"2.0\"}",
            b"[{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{",
        ] {
            assert_eq!(unreadable(line), Some(Some(12)), "{}", String::from_utf8_lossy(line));
        }
        let cut = b"{\"jsonrpc\":\"2.0\",\"result\":{\"rows\":[{\"id\":3}";
        assert_eq!(unreadable(cut), Some(None));
    }

    #[test]
    fn a_line_that_only_mentions_an_answer_is_not_an_answer() {
        for line in [
            "DEBUG recv {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
            "[info] {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
            "{\"level\":30,\"id\":3",
            "{\"level\":30,\"sent\":{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"te",
            "{\"level\":30,\"text\":\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":3,\\\"result\\\":",
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"result\",\"params\":{\"result\":",
            "{\"jsonrpc\":\"2.0\",\"params\":{\"result\":1,\"id\":3",
            "{'jsonrpc': '2.0', 'id': 3, 'result': {}}",
            "{",
            "",
        ] {
            assert_eq!(unreadable(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn the_beginning_and_the_end_of_a_long_line_are_enough() {
        let find = |head: &str, tail: &str| {
            UnreadableAnswer::find(head.as_bytes(), tail.as_bytes()).map(|answer| answer.id)
        };
        assert_eq!(find("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"t\":\"x", ""), Some(Some(3)));
        assert_eq!(find("{\"result\":{\"t\":\"x", ""), None);
        let last = "x\"}]},\"jsonrpc\":\"2.0\",\"id\":3}";
        assert_eq!(find("{\"result\":{\"t\":\"x", last), Some(Some(3)));
        assert_eq!(find("{\"jsonrpc\":\"2.0\",\"result\":{\"id\":4,\"x", "x\"}}"), Some(None));
        assert_eq!(find("{\"level\":30,\"text\":\"x", "x\",\"id\":3}"), None);
        assert_eq!(
            find("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"id\":3,\"x", last),
            None
        );
    }

    #[test]
    fn a_broken_batch_is_cut_where_its_elements_end() {
        let texts = |batch: &[u8]| -> Vec<String> {
            let elements = elements(batch).into_iter();
            elements.map(|element| String::from_utf8_lossy(element).into_owned()).collect()
        };
        assert_eq!(
            texts(b"[{\"a\":[1,2],\"b\":\",]\"} , {\"c\":\xff},3]"),
            ["{\"a\":[1,2],\"b\":\",]\"}", "{\"c\":\u{fffd}}", "3"]
        );
        assert_eq!(texts(b"[{\"a\":1},{\"b\":"), ["{\"a\":1}", "{\"b\":"]);
        assert_eq!(texts(b"[{\"a\":1}] {\"b\":2}"), ["{\"a\":1}"]);
        for line in ["[]", "[info] {\"a\":1}", "[1, {\"a\":1}"] {
            assert!(texts(line.as_bytes()).is_empty(), "{line}");
        }
    }
}
