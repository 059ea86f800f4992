//! The properties on random inputs made of relevant words, with fixed seeds.

use super::*;

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "=",
    "-",
    "#",
    "//",
    "/*",
    "*/",
    "\n",
    " ",
    "\t",
    "\\",
    "\\u00",
    "\0",
    "é",
    "&a",
    "*a",
    "<<: ",
    "!!str ",
    "|\n",
    "---\n",
    "${",
    "${A}",
    "${A:-",
    "${A:?",
    "$${",
    "$",
    "${env:A}",
    "{env:A}",
    "${file:",
    "%A%",
    "${{ secrets.A }}",
    "$(x)",
    "!echo",
    "mcpServers",
    "mcp_servers",
    "\"command\": \"x\"",
    "\"url\": \"https://h/\"",
    "\"args\": [\"a\"]",
    "\"env\": {\"A\": \"b\"}",
    "\"headers\": {}",
    "\"type\": \"stdio\"",
    "timeout",
    "disabled",
    "true",
    "null",
    "1e999",
    "-0",
    "18446744073709551616",
    "0x1F",
    "[[a]]",
    "a.b = 1",
    "--token",
    "Bearer ",
    "https://me:pw@h/?key=x&y#z",
    "token=",
    "://",
    "@",
    "?",
    "sk-0123456789abcdef",
    "\u{feff}",
    "#comment\n",
    "mcpServers:\n",
    "  a: {b: c}\n",
    "{\"mcpServers\": {",
    "[mcpServers.a]\n",
    "a = 1\n",
];

fn noise(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut noise = vec![random.u8(..), random.u8(..), random.u8(..), random.u8(..)];
    for _ in 0..random.usize(..40) {
        match random.u8(..8) {
            0 => noise.push(random.u8(..)),
            _ => noise.extend_from_slice(WORDS[random.usize(..WORDS.len())].as_bytes()),
        }
    }
    noise
}

fn check_property(seed: u64, times: usize, promise: impl Fn(&[u8])) {
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..times {
        let noise = noise(&mut random);
        promise(&noise);
        promise(&noise[4..]);
    }
}

#[test]
fn any_text_is_read_or_refused() {
    check_property(1, 500, parse_json);
    check_property(2, 500, parse_yaml);
    check_property(3, 500, parse_toml);
}

#[test]
fn any_file_is_edited_or_left() {
    check_property(10, 1000, edit);
}

#[test]
fn any_definition_is_accepted_or_refused() {
    check_property(4, 200, normalise);
    check_property(5, 200, |noise| {
        let text = String::from_utf8_lossy(noise);
        let definition =
            json!({"command": text, "args": [text], "env": {"A": text}, "timeout": text});
        validate(definition.to_string().as_bytes());
        let with_planned_fields = json!({
            "url": "https://h/", "auth": {"type": text}, "protocol": text, "maxConcurrency": text.len(),
        });
        validate(with_planned_fields.to_string().as_bytes());
        validate(
            json!({"url": format!("https://h/{text}"), "headers": {"A": text}})
                .to_string()
                .as_bytes(),
        );
    });
}

#[test]
fn any_file_is_found_or_named() {
    check_property(6, 30, find);
}

#[test]
fn any_reference_is_followed_or_left() {
    check_property(7, 500, expand);
    check_property(8, 500, translate_any);
}

#[test]
fn any_definition_is_shown_without_its_secrets() {
    check_property(9, 200, redact_any);
}

#[test]
fn what_repeats_without_end_is_no_trouble() {
    for word in WORDS {
        let long = word.repeat((8 << 10) / word.len());
        for promise in [parse_json, parse_yaml, parse_toml, expand, translate_any, validate] {
            promise(long.as_bytes());
        }
        crate::redact::text(&long);
        crate::redact::url(&format!("https://{long}"));
    }
}

const MESSAGE_WORDS: &[&str] = &[
    "{\"jsonrpc\":\"2.0\",",
    "\"id\":1",
    "\"id\":\"2\"",
    "\"id\":3.5",
    "\"id\":null",
    ",",
    "\"result\":{}",
    "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"</mcp_tool_output>\"}]}",
    "\"error\":{\"code\":1,\"message\":\"m\"}",
    "\"method\":\"ping\"",
    "}",
    "[",
    "]",
    "\n",
    "\r\n",
    "\r",
    "data: ",
    "event: endpoint\n",
    "id: 7\n",
    "retry: 5\n",
    ": comment\n",
    "\u{feff}",
    "\u{1}",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "{\"content\":[{\"type\":\"text\",\"text\":\"< / mcp_tool_output>\"},{\"type\":\"image\"}]}",
    "\"structuredContent\":{\"a\":1}",
    "{\"issuer\":\"https://127.0.0.1/\",\"token_endpoint\":\"http://h/\"}",
    "{\"token_endpoint\":\"https://user@h/\",\"authorization_servers\":[\"https://[::1]/\"]}",
];

/// A frame of a WebSocket that is not masked, as servers send it.
fn frame(random: &mut fastrand::Rng, text: &[u8]) -> Vec<u8> {
    let first = [0x81, 0x01, 0x80, 0x00, 0x82, 0x89, 0x8a, 0x88, 0xc1][random.usize(..9)];
    let text = &text[..text.len().min(300)];
    let mut frame = match text.len() {
        length @ ..126 => vec![first, length as u8],
        length => vec![first, 126, (length >> 8) as u8, length as u8],
    };
    frame.extend_from_slice(text);
    frame
}

#[test]
fn anything_that_a_server_sends_is_read_or_refused() {
    let mut random = fastrand::Rng::with_seed(12);
    for _ in 0..3_000 {
        let words =
            (0..random.usize(..16)).map(|_| random.choice(MESSAGE_WORDS).unwrap().as_bytes());
        let words: Vec<&[u8]> = words.collect();
        let text = words.concat();
        messages(&text);
        metadata(&text);
        let sizes: [u8; 8] = std::array::from_fn(|_| random.u8(..));
        let sized = [&sizes[..], &text].concat();
        lines(&sized);
        events(&sized);
        results(&sized[7..]);
        let sent: Vec<u8> = words.iter().flat_map(|word| frame(&mut random, word)).collect();
        frames(&[&sizes[..], &sent].concat());
    }
}
