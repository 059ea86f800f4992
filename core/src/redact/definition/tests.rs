//! Which parts of a definition are shown.

use serde_json::json;

use super::*;

fn shown_args(written: &[&str]) -> Vec<String> {
    args(&written.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
}

#[test]
fn values_of_env_and_headers_are_starred_and_references_stay() {
    let shown = definition(json!({
        "type": "http",
        "env": {"A": "hunter2", "B": "${B}", "C": "${C:-hunter2}", "D": "x${D}", "E": "!echo hunter2", "F": "", "G": 7},
        "headers": {
            "Authorization": "Bearer ${TOKEN}", "X-Key": "Bearer hunter2", "X-Login": "Basic ${USER}:${PW}",
            "X-Nested": "${A:-${B}}", "X-Required": "${A:?say it}", "X-Open": "${A",
        },
    }));
    assert_eq!(
        shown,
        json!({
            "type": "http",
            "env": {"A": "***", "B": "${B}", "C": "${C:-***}", "D": "***", "E": "***", "F": "", "G": "***"},
            "headers": {
                "Authorization": "Bearer ${TOKEN}", "X-Key": "***", "X-Login": "Basic ${USER}:${PW}",
                "X-Nested": "${A:-${B}}", "X-Required": "${A:?say it}", "X-Open": "***",
            },
        })
    );
}

#[test]
fn what_only_looks_like_a_reference_is_a_value() {
    let written = ["${hunter 2}", "${hunter2!}", "${}", "${HUNTER:2}", "${a ${B}}", "${9}"];
    assert_eq!(written.map(secret), [STARS; 6]);
    let references = ["${A}", "${env:A}", "${file:a/b}", "${input:a-b}", "${env:A:?say it}"];
    assert_eq!(references.map(secret), references);
}

#[test]
fn arguments_are_starred_by_their_flag_their_key_and_their_looks() {
    for (written, shown) in [
        (vec!["--api-key", "hunter2", "--port", "80"], vec!["--api-key", "***", "--port", "80"]),
        (vec!["--token=hunter2&;x"], vec!["--token=***"]),
        (vec!["--token", "${TOKEN}"], vec!["--token", "${TOKEN}"]),
        (vec!["--token=${TOKEN:-hunter2}"], vec!["--token=${TOKEN:-***}"]),
        (vec!["--auth", "--verbose"], vec!["--auth", "--verbose"]),
        (vec!["-H", "Authorization: Bearer hunter2"], vec!["-H", "Authorization: Bearer ***"]),
        (vec!["-HX-Thing: hunter2 and more"], vec!["-HX-Thing: ***"]),
        (vec!["--header", "X-Thing:${AUTH}"], vec!["--header", "X-Thing:${AUTH}"]),
        (vec!["--header=X-Thing: hunter2"], vec!["--header=X-Thing: ***"]),
        (vec!["-e", "ANYTHING=hunter2", "-e", "NAME"], vec!["-e", "ANYTHING=***", "-e", "NAME"]),
        (vec!["-u", "me:hunter2", "-u", "1000:1000"], vec!["-u", "me:***", "-u", "1000:1000"]),
        (vec!["API_KEY=hunter2 with blanks"], vec!["API_KEY=***"]),
        (vec!["Authorization: hunter2 with blanks"], vec!["Authorization: ***"]),
        (vec!["https://me:hunter2@host/x"], vec!["https://***@host/x"]),
        (vec!["ghp_0123456789abcdef"], vec!["***"]),
        (
            vec!["{\"apiKey\": \"hunter2\", \"page\": 2}"],
            vec!["{\"apiKey\": \"***\", \"page\": 2}"],
        ),
        (
            vec!["-c", "env X_TOKEN='hunter 2' npx it --key \"hunter 3\""],
            vec!["-c", "env X_TOKEN='***' npx it --key \"***\""],
        ),
        (
            vec!["curl -H \"Authorization: Bearer hunter2\" -s"],
            vec!["curl -H \"Authorization: Bearer ***\" -s"],
        ),
        (
            vec!["-y", "@scope/server@1.2.3", "/srv/data"],
            vec!["-y", "@scope/server@1.2.3", "/srv/data"],
        ),
        (vec!["${API_KEY:-hunter2}", "${DIR:-/srv}"], vec!["${API_KEY:-***}", "${DIR:-/srv}"]),
        (vec!["--max-tokens", "100"], vec!["--max-tokens", "100"]),
    ] {
        assert_eq!(shown_args(&written), shown);
    }
}

#[test]
fn a_url_loses_what_is_secret_and_nothing_else() {
    for (written, shown) in [
        (
            "https://me:hunter2@host/mcp?apiKey=abc&page=2#top",
            "https://***@host/mcp?apiKey=***&page=2#top",
        ),
        ("https://${USER}:${PW}@host/", "https://${USER}:${PW}@host/"),
        (
            "https://${HOST:-example.org}/mcp?key=${KEY:-hunter2}",
            "https://${HOST:-example.org}/mcp?key=${KEY:-***}",
        ),
        ("https://host/${API_KEY:-hunter2}/mcp", "https://host/${API_KEY:-***}/mcp"),
        ("https://host/s/9f86d081884c7d659a2feaa0c55ad015/mcp", "https://host/s/***/mcp"),
        ("https://host/?api%5Fkey=abc", "https://host/?api%5Fkey=***"),
        ("https://host/?q=sk-0123456789abcdef&x", "https://host/?q=***&x"),
        ("https://host/?next=https://me:pw@there/", "https://host/?next=https://***@there/"),
        ("https://a@b:hunter2@host", "https://***@host"),
        ("not a url", "not a url"),
        ("https://host/é?token=ü", "https://host/é?token=***"),
    ] {
        assert_eq!(url(written), shown);
    }
}

#[test]
fn the_rest_of_a_definition_goes_by_its_names() {
    let shown = definition(json!({
        "command": "sh -c 'KEY=hunter2 run'", "cwd": "/srv", "args": [80, "--pin", 1234],
        "auth": {"type": "bearer", "token": "hunter2", "tokenEnv": "${NAME}", "nested": {"a": ["hunter2"]}},
        "timeout": 5, "future": {"secretThing": "hunter2", "plain": "seen"}, "url": 7,
    }));
    assert_eq!(
        shown,
        json!({
            "command": "sh -c 'KEY=*** run'", "cwd": "/srv", "args": [80, "--pin", "***"],
            "auth": {"type": "bearer", "token": "***", "tokenEnv": "${NAME}", "nested": {"a": ["***"]}},
            "timeout": 5, "future": {"secretThing": "***", "plain": "seen"}, "url": 7,
        })
    );
}
