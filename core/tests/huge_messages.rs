//! Hazard: a message of any kind that is long, or has millions of small parts, takes many times its length in memory,
//! is kept whole, or breaks the connection.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{apart, call, resident, stdio};
use mcpool::{Arguments, CallOptions, Config, Manager};
use serde_json::{Value, json};

const MESSAGE: usize = 2 << 20;
/// The message, its growing buffers and one copy, besides what starting a server takes.
const COST: usize = 5 * MESSAGE + (16 << 20);
/// The most that is kept of one text, including the notice of the cut.
const TEXT: usize = (64 << 10) + 200;

/// JSON values of about a message's length, each of another kind.
fn values() -> Vec<(&'static str, String)> {
    let mut keys = String::from("{\"k\":0");
    for at in 0.. {
        keys += &format!(",\"k{at}\":0");
        if keys.len() >= MESSAGE {
            break;
        }
    }
    keys.push('}');
    let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
    vec![
        ("a text", text()),
        ("escapes", format!("\"{}\"", "\\u00e9".repeat(MESSAGE / 6))),
        ("small values", format!("[{}0]", "0,".repeat(MESSAGE / 2))),
        ("small objects", format!("[{}0]", "{},".repeat(MESSAGE / 3))),
        ("keys", keys),
        ("nesting", format!("[{}0]", format!("{nested},").repeat(MESSAGE / 201))),
    ]
}

fn text() -> String {
    format!("\"{}\"", "x".repeat(MESSAGE))
}

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#)
}

fn answer(body: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":$id,{body}}}"#)
}

fn log(data: &str) -> String {
    notification("\"notifications/message\"", &format!(r#"{{"level":"info","data":{data}}}"#))
}

/// The peak memory during `work`, relative to `before`.
async fn peak<T>(before: usize, work: impl Future<Output = T>) -> (usize, T) {
    // Resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let done = work.await;
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    let kib: usize = line.split_whitespace().nth(1).expect("a value").parse().expect("a number");
    ((kib << 10).saturating_sub(before), done)
}

/// Memory is measured for the whole process, so these tests run one at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().expect("a directory") }
    }

    fn file(&self, method: &str) -> PathBuf {
        self.directory.path().join(method.replace('/', "-"))
    }

    /// The fixture, with its answers to these methods in files of this directory.
    fn server(&self) -> Value {
        let knobs = ["initialize", "tools/list", "tools/call"]
            .map(|method| format!("{method}={}", self.file(method).display()));
        stdio(&["--say", &knobs[0], "--say", &knobs[1], "--say", &knobs[2]])
    }

    fn manager(&self) -> Manager {
        let config = json!({"mcpServers": {"s": self.server(), "other": stdio(&[])}});
        Manager::new(Config::from_value(config).expect("a valid config"), apart())
    }

    /// Writes an answer to a file, so that it is not in the measured memory.
    fn keep(&self, number: usize, lines: &[String]) -> PathBuf {
        let file = self.directory.path().join(format!("answer-{number}"));
        std::fs::write(&file, lines.join("\n")).expect("the file is written");
        file
    }

    fn says(&self, method: &str, kept: &Path) {
        std::fs::rename(kept, self.file(method)).expect("the file is there");
    }
}

#[tokio::test]
async fn a_message_of_any_kind_costs_a_small_multiple_of_its_length() {
    let _alone = ALONE.lock().await;
    let (place, ok) = (Place::new(), answer(r#""result":{"content":[]}"#));
    let manager = Arc::new(place.manager());
    manager.connect_all().await.unwrap();
    let events = manager.events();
    let mut kinds: Vec<(String, PathBuf)> = Vec::new();
    for (name, value) in values() {
        let mut add = |kind: &str, lines: Vec<String>| {
            kinds.push((format!("{kind}: {name}"), place.keep(kinds.len(), &lines)));
        };
        add("log", vec![log(&value), ok.clone()]);
        add(
            "error data",
            vec![answer(&format!(r#""error":{{"code":1,"message":"m","data":{value}}}"#))],
        );
        let progress = format!(r#"{{"progressToken":$id,"progress":1,"more":{value}}}"#);
        add("progress", vec![notification("\"notifications/progress\"", &progress), ok.clone()]);
        add("result", vec![answer(&format!(r#""result":{{"content":[],"more":{value}}}"#))]);
        add("batch", vec![format!("[{value}]"), ok.clone()]);
    }
    let (text, small) = (text(), values().swap_remove(2).1);
    for (kind, lines) in [
        (
            "level of a log",
            vec![
                notification("\"notifications/message\"", &format!(r#"{{"level":{text}}}"#)),
                ok.clone(),
            ],
        ),
        (
            "words of progress",
            vec![
                notification(
                    "\"notifications/progress\"",
                    &format!(r#"{{"progressToken":$id,"progress":1,"message":{text}}}"#),
                ),
                ok.clone(),
            ],
        ),
        ("message of an error", vec![answer(&format!(r#""error":{{"code":1,"message":{text}}}"#))]),
        ("shape of an error", vec![answer(&format!(r#""error":{text}"#))]),
        ("method of a notification", vec![notification(&text, "{}"), ok.clone()]),
        (
            "method of a request",
            vec![format!(r#"{{"jsonrpc":"2.0","id":1,"method":{text}}}"#), ok.clone()],
        ),
        (
            "id of a request",
            vec![format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"ping"}}"#), ok.clone()],
        ),
        ("batch of nothing", vec![small, ok.clone()]),
    ] {
        kinds.push((kind.to_owned(), place.keep(kinds.len(), &lines)));
    }
    drop(text);
    let (mut dear, before) = (Vec::new(), resident());
    for (kind, answer) in kinds {
        place.says("tools/call", &answer);
        let (cost, outcome) = peak(before, call(&manager, "echo", json!({"text": "x"}))).await;
        if let Err(error) = outcome {
            let told = serde_json::to_string(&error).unwrap().len();
            if told > 4 * TEXT {
                dear.push(format!("{kind}: an error of {told} bytes"));
            }
        }
        if cost > COST {
            dear.push(format!("{kind}: {} times its length", cost / MESSAGE));
        }
    }
    assert!(dear.is_empty(), "{dear:#?}");
    std::fs::remove_file(place.file("tools/call")).unwrap();
    assert_eq!(call(&manager, "echo", json!({"text": "x"})).await.unwrap().text(), "x");
    let reader = tokio::spawn(async move {
        let mut longest = 0;
        while let Some(event) = events.next().await {
            longest = longest.max(serde_json::to_string(&event).unwrap().len());
        }
        longest
    });
    manager.close().await;
    let longest = reader.await.unwrap();
    assert!(longest < 2 * TEXT, "an event of {longest} bytes");
}

#[tokio::test]
async fn a_greeting_of_any_kind_costs_a_small_multiple_of_its_length_and_is_cut() {
    let _alone = ALONE.lock().await;
    let greeting = |more: &str| {
        answer(&format!(
            r#""result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}}{more}}}"#
        ))
    };
    let text = text();
    let (place, mut kept) = (Place::new(), Vec::new());
    let mut kinds = vec![
        ("instructions".to_owned(), greeting(&format!(r#","instructions":{text}"#)), true),
        (
            "name".to_owned(),
            greeting(&format!(r#","serverInfo":{{"name":{text},"version":{text}}}"#)),
            true,
        ),
        ("version".to_owned(), answer(&format!(r#""result":{{"protocolVersion":{text}}}"#)), false),
        (
            "refusal".to_owned(),
            answer(&format!(r#""error":{{"code":1,"message":{text},"data":{text}}}"#)),
            false,
        ),
        ("no object".to_owned(), answer(&format!(r#""result":{text}"#)), false),
    ];
    for (name, value) in values() {
        kinds.push((
            format!("something else: {name}"),
            greeting(&format!(r#","more":{value}"#)),
            true,
        ));
        kinds.push((
            format!("its info: {name}"),
            greeting(&format!(r#","serverInfo":{value}"#)),
            true,
        ));
    }
    for (kind, line, connects) in kinds {
        kept.push((kind, place.keep(kept.len(), &[line]), connects));
    }
    drop(text);
    // The code of a connect is in memory before anything is measured.
    place.says("initialize", &place.keep(kept.len(), &[greeting("")]));
    let manager = place.manager();
    manager.connect("s").await.expect("a plain greeting connects");
    manager.close().await;
    let (mut dear, before) = (Vec::new(), resident());
    for (kind, answer, connects) in kept {
        place.says("initialize", &answer);
        let manager = place.manager();
        let (cost, _) = peak(before, manager.connect("s")).await;
        if cost > COST {
            dear.push(format!("{kind}: {} times its length", cost / MESSAGE));
        }
        let status = manager.status().into_iter().find(|status| status.name == "s").unwrap();
        assert_eq!(
            status.state == mcpool::State::Connected,
            connects,
            "{kind}: {:?}",
            status.error
        );
        let told = serde_json::to_string(&status).unwrap().len();
        // An error has its message three times, for programs, people and models, and the server's message and data.
        if told > 6 * TEXT {
            dear.push(format!("{kind}: a status of {told} bytes"));
        }
        manager.close().await;
    }
    assert!(dear.is_empty(), "{dear:#?}");
}

#[tokio::test]
async fn a_tool_list_of_any_kind_costs_a_small_multiple_of_its_length() {
    let _alone = ALONE.lock().await;
    let page = |tools: &str, more: &str| answer(&format!(r#""result":{{"tools":{tools}{more}}}"#));
    let text = text();
    let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
    let (place, mut kept) = (Place::new(), Vec::new());
    let mut kinds = vec![
        ("tools of no kind".to_owned(), page(&text, ""), None),
        ("cursor".to_owned(), page("[]", &format!(r#","nextCursor":{text}"#)), None),
        ("name".to_owned(), page(&format!(r#"[{{"name":{text}}},{good}]"#), ""), Some(1)),
        (
            "description".to_owned(),
            page(&format!(r#"[{{"name":"t","description":{text}}},{good}]"#), ""),
            Some(2),
        ),
    ];
    for (name, value) in values() {
        kinds.push((format!("tools: {name}"), page(&format!("[{value},{good}]"), ""), Some(1)));
        kinds.push((
            format!("page: {name}"),
            page(&format!("[{good}]"), &format!(r#","more":{value}"#)),
            Some(1),
        ));
        let schema =
            format!(r#"[{{"name":"t","inputSchema":{{"type":"object","more":{value}}}}},{good}]"#);
        kinds.push((format!("schema: {name}"), page(&schema, ""), Some(2)));
    }
    kinds.push(("many tools".to_owned(), page(&values().swap_remove(2).1, ""), None));
    for (kind, line, count) in kinds {
        kept.push((kind, place.keep(kept.len(), &[line]), count));
    }
    drop(text);
    let (mut dear, before) = (Vec::new(), resident());
    for (kind, answer, count) in kept {
        place.says("tools/list", &answer);
        let manager = place.manager();
        let (cost, _) = peak(before, async {
            let _ = manager.connect("s").await;
            let catalog = manager.get_tools();
            for tool in catalog.tools() {
                let _ = (
                    tool.definition.fingerprint(),
                    tool.definition.signals().len(),
                    tool.definition.input_schema(),
                );
            }
            let _ = catalog.search("good", 5);
        })
        .await;
        if cost > COST {
            dear.push(format!("{kind}: {} times its length", cost / MESSAGE));
        }
        let status = manager.status().into_iter().find(|status| status.name == "s").unwrap();
        let listed = (status.state == mcpool::State::Connected).then_some(status.tool_count);
        if listed != count {
            dear.push(format!("{kind}: {listed:?} tools"));
        }
        let told =
            serde_json::to_string(&status).unwrap().len() + manager.warnings().concat().len();
        if told > 4 * TEXT {
            dear.push(format!("{kind}: {told} bytes are told"));
        }
        manager.close().await;
    }
    assert!(dear.is_empty(), "{dear:#?}");
}

#[tokio::test]
async fn other_servers_answer_while_one_sends_much() {
    let _alone = ALONE.lock().await;
    let place = Place::new();
    let mut lines = vec![log(&values().swap_remove(2).1); 4];
    lines.push(answer(r#""result":{"content":[]}"#));
    place.says("tools/call", &place.keep(0, &lines));
    drop(lines);
    let manager = place.manager();
    manager.connect_all().await.unwrap();
    let flood = call(&manager, "echo", json!({"text": "x"}));
    tokio::pin!(flood);
    let mut answered = 0;
    loop {
        let arguments = Arguments::new(&json!({"text": "x"})).unwrap();
        let other = manager.call_tool("other", "echo", arguments, CallOptions::default());
        tokio::select! {
            biased;
            other = other => answered += usize::from(other.is_ok()),
            flood = &mut flood => { flood.unwrap(); break }
        }
    }
    assert!(answered >= 4, "only {answered} calls were answered meanwhile");
    manager.close().await;
}
