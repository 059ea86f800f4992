//! Hazard: a connection, a session or a credential of one identity serves another one, or a caller's header is told to
//! anybody but its server.

mod common;

use std::collections::HashMap;

use common::{Journal, Web, apart, call, logged, until};
use mcpool::host::logs::{LevelFilter, LogReader};
use mcpool::{
    Arguments, CallOptions, CallerHeaders, Config, Identity, Manager, Pool, PoolOptions, ToolResult,
};
use serde_json::{Value, json};

const TRANSPORTS: [(&str, &[&str]); 4] = [
    ("http", &["--sessions"]),
    ("http", &["--sse", "--sessions"]),
    ("sse", &[]),
    ("websocket", &[]),
];
const IDENTITIES: usize = 6;
const ROUNDS: usize = 8;

fn bearer(token: &str) -> CallerHeaders {
    CallerHeaders::new([("Authorization", format!("Bearer {token}"))]).unwrap()
}

/// Options of a call for an identity, with a token if there is one.
fn for_identity(name: &str, token: Option<&str>) -> CallOptions {
    let options = CallOptions::default().identity(Identity::new(name).unwrap());
    match token {
        Some(token) => options.headers(bearer(token)),
        None => options,
    }
}

async fn echo(manager: &Manager, options: CallOptions) -> mcpool::Result<ToolResult> {
    let arguments = Arguments::new(&json!({"text": "hi"})).unwrap();
    manager.call_tool("s", "echo", arguments, options).await
}

fn manager_on(pool: &Pool, transport: &str, url: &str) -> Manager {
    let server = json!({"s": {"type": transport, "url": url}});
    let config = Config::from_value(json!({"mcpServers": server})).unwrap();
    Manager::new(config, apart().pool(pool.clone()))
}

/// Every pair of identities calls at the same time, from two managers, with tokens that change, calls that are cancelled
/// and connections that are dropped. The journal shows who was on which socket and in which session.
#[tokio::test(flavor = "multi_thread")]
async fn no_socket_and_no_session_serves_two_identities() {
    for (transport, knobs) in TRANSPORTS {
        let journal = Journal::new(&format!("identities-{transport}-{}", knobs.concat()));
        let knobs = [knobs, &["--journal", journal.path(), "--journal-peers"]].concat();
        let (_web, url) = Web::start_over(transport, knobs);
        let pool = Pool::new(PoolOptions::default());
        let managers = [manager_on(&pool, transport, &url), manager_on(&pool, transport, &url)];
        for manager in &managers {
            manager.connect_all().await.unwrap();
        }
        let mut calls = tokio::task::JoinSet::new();
        for round in 0..ROUNDS {
            for one in 0..IDENTITIES {
                for other in 0..IDENTITIES {
                    let manager = managers[(one + other + round) % 2].clone();
                    calls.spawn(async move {
                        // A token names its identity; it changes from round to round.
                        let token = |of: usize| format!("tenant{of}-v{}", round / 2);
                        let (one_name, other_name) = (format!("t{one}"), format!("t{other}"));
                        let (one_token, other_token) = (token(one), token(other));
                        let cancelled = echo(&manager, for_identity(&one_name, Some(&one_token)));
                        drop(cancelled);
                        let (first, second, plain) = tokio::join!(
                            echo(&manager, for_identity(&one_name, Some(&one_token))),
                            echo(&manager, for_identity(&other_name, Some(&other_token))),
                            call(&manager, "echo", json!({"text": "hi"})),
                        );
                        for answer in [first, second, plain] {
                            assert_eq!(answer.unwrap().text(), "hi");
                        }
                    });
                }
            }
        }
        while let Some(done) = calls.join_next().await {
            done.unwrap();
        }
        for manager in &managers {
            manager.close().await;
        }
        check_callers(transport, &journal.entries());
    }
}

/// Every socket and every session has one caller: nobody, or one tenant.
fn check_callers(transport: &str, journal: &[Value]) {
    let mut callers: HashMap<String, String> = HashMap::new();
    let mut tenants = 0;
    for entry in journal.iter().filter(|entry| entry["event"] == "request") {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let tenant = text("caller");
        let tenant = tenant.split("-v").next().unwrap_or_default().to_owned();
        tenants += usize::from(!tenant.is_empty());
        let socket = format!("socket {}", entry["peer"]);
        let session = match (transport, text("session")) {
            ("sse", _) if text("verb") == "POST" => format!("session {}", text("target")),
            (_, session) if !session.is_empty() => format!("session {session}"),
            _ => socket.clone(),
        };
        for place in [socket, session] {
            let before = callers.entry(place.clone()).or_insert_with(|| tenant.clone());
            assert_eq!(*before, tenant, "{transport}: {place} has served two callers");
        }
    }
    assert!(tenants >= IDENTITIES, "{transport}: {tenants} requests of tenants");
}

/// A server that repeats what it is sent, in errors, tools and its greeting, is quoted without the values.
#[tokio::test(flavor = "multi_thread")]
async fn no_text_shows_the_value_of_a_callers_header() {
    let logs = LogReader::claim().expect("the only one");
    logs.set_level(LevelFilter::TRACE);
    for transport in ["http", "sse", "websocket"] {
        let knobs = ["--parrot", "call", "--parrot", "greeting", "--parrot", "tools"];
        let (_web, url) = Web::start_over(transport, knobs);
        let (_refusing, refusing_url) =
            Web::start_over(transport, ["--bearer", "somebody-else", "--parrot", "refusal"]);
        let pool = Pool::new(PoolOptions::default());
        let mut said = String::new();
        for url in [url, refusing_url] {
            let manager = manager_on(&pool, transport, &url);
            let events = manager.events();
            let report = manager.connect_all().await.unwrap();
            said += &format!("{report:?}");
            for version in 0..3 {
                let token = format!("swordfish-{transport}-{version}");
                let options = for_identity("tenant", Some(&token));
                said += &format!("{options:?}");
                let error = echo(&manager, options).await.unwrap_err();
                said += &format!("{error:?} {error} {}", serde_json::to_string(&error).unwrap());
                let error = echo(&manager, for_identity("tenant", None)).await.unwrap_err();
                said += &format!("{error:?} {error} {}", serde_json::to_string(&error).unwrap());
            }
            said += &format!("{:?} {:?}", manager.status(), manager.warnings());
            manager.close().await;
            while let Some(event) = events.next().await {
                said += &serde_json::to_string(&event).unwrap();
            }
        }
        said += &logged(&logs);
        assert!(said.contains("***"), "{transport}: nothing was repeated");
        let leak = said.find("swordfish").map(|at| &said[at.saturating_sub(200)..at + 40]);
        assert_eq!(leak, None, "{transport}");
    }
}

/// Thousands of identities cost nothing once they are gone.
#[tokio::test(flavor = "multi_thread")]
async fn connections_of_identities_end_with_their_manager() {
    let journal = Journal::new("identities-end");
    let (_web, url) = Web::start(["--sessions", "--journal", journal.path()]);
    let pool = Pool::new(PoolOptions::default());
    let before = common::descriptors();
    let manager = manager_on(&pool, "http", &url);
    for batch in 0..10 {
        let calls = (0..20).map(|number| {
            let name = format!("tenant-{}", 20 * batch + number);
            let manager = manager.clone();
            async move { echo(&manager, for_identity(&name, None)).await.unwrap() }
        });
        futures_util::future::join_all(calls).await;
    }
    assert_eq!(manager.status()[0].identities.len(), 200);
    manager.close().await;
    assert_eq!(manager.status()[0].identities.len(), 0);
    until("every session is ended", || {
        let entries = journal.entries();
        let ended = |entry: &&Value| entry["verb"] == "DELETE";
        entries.iter().filter(ended).count() == 200
    })
    .await;
    until("the sockets are closed", || common::descriptors() <= before + 10).await;
}
