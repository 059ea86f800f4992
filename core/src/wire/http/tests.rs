//! What a link reports to its owner, tested against a scripted web server.

use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{HeaderMap, HeaderValue};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::HttpLink;
use super::exchange::SESSION_ID;
use crate::config::Limits;
use crate::error::{Error, Executed};
use crate::redact::{Mask, MaskBuilder};
use crate::resolve::{AllowedAddresses, HttpDialect, SignIn, Target};
use crate::sync::lock;
use crate::wire::transport::Transport;
use crate::wire::{Flush, Inbound, Loss, OutgoingMessage, UnreadRequests};

/// What the server does with one request.
enum Act {
    Answer(String),
    /// Answers, then closes without an announcement.
    AnswerAndClose(String),
    /// Answers, then repeats this chunk while the client reads.
    Flood(String, String),
    /// Answers with an event stream, which ends when this many requests were seen.
    StreamUntil(String, usize),
    Hang,
    Die,
}
use Act::{Answer, AnswerAndClose, Die, Flood, Hang, StreamUntil};

#[derive(Clone, Debug, PartialEq)]
struct Seen {
    verb: String,
    last_event: Option<String>,
    at: Instant,
}

/// A web server on its own threads. It hangs when the script ends.
struct Scripted {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: Arc<AtomicUsize>,
}

impl Scripted {
    fn start(acts: impl IntoIterator<Item = Act>) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let acts: Arc<Mutex<VecDeque<Act>>> = Arc::new(Mutex::new(acts.into_iter().collect()));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let dead = Arc::new(AtomicBool::new(false));
        let closed: Arc<AtomicUsize> = Arc::default();
        let (all, ended) = (seen.clone(), closed.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                if dead.load(Ordering::SeqCst) {
                    return;
                }
                let (acts, seen, dead) = (acts.clone(), all.clone(), dead.clone());
                let ended = ended.clone();
                thread::spawn(move || {
                    let stream = stream.expect("a client");
                    if let Some(Die) = connection(&stream, &acts, &seen) {
                        dead.store(true, Ordering::SeqCst);
                        // Wakes the listener, which ends with its thread; this socket is dropped last.
                        while TcpStream::connect(address).is_ok() {}
                    }
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Scripted { url: format!("http://{address}/mcp"), seen, closed }
    }

    /// How many connections have ended.
    fn closed(&self) -> usize {
        self.closed.load(Ordering::SeqCst)
    }

    fn seen(&self) -> Vec<Seen> {
        lock(&self.seen).clone()
    }
}

fn connection(
    stream: &TcpStream,
    acts: &Mutex<VecDeque<Act>>,
    seen: &Mutex<Vec<Seen>>,
) -> Option<Act> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut head = Vec::new();
        while head.last().is_none_or(|line: &String| !line.trim().is_empty()) {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            head.push(line);
        }
        let header = |name: &str| {
            let named = head.iter().find_map(|line| line.strip_prefix(name));
            named.map(|value| value.trim_start_matches(':').trim().to_owned())
        };
        let length = header("content-length").map_or(0, |length| length.parse().unwrap());
        reader.read_exact(&mut vec![0; length]).ok()?;
        let verb = head[0].split(' ').next()?.to_owned();
        let mut writer = stream;
        if verb == "HEAD" {
            writer.write_all(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n").ok()?;
            continue;
        }
        let act = lock(acts).pop_front().unwrap_or(Hang);
        lock(seen).push(Seen { verb, last_event: header("last-event-id"), at: Instant::now() });
        match act {
            Answer(answer) => writer.write_all(answer.as_bytes()).ok()?,
            AnswerAndClose(answer) => {
                writer.write_all(answer.as_bytes()).ok()?;
                let _ = stream.shutdown(Shutdown::Both);
                return None;
            }
            Flood(answer, chunk) => {
                writer.write_all(answer.as_bytes()).ok()?;
                let mut taken = 0;
                while writer.write_all(chunk.as_bytes()).is_ok() {
                    taken += chunk.len();
                }
                let cut = format!("cut after {} MiB", taken >> 20);
                lock(seen).push(Seen { verb: cut, last_event: None, at: Instant::now() });
                return None;
            }
            StreamUntil(answer, requests) => {
                writer.write_all(answer.as_bytes()).ok()?;
                until("the last request", || lock(seen).len() >= requests);
                writer.write_all(b"0\r\n\r\n").ok()?;
            }
            Hang => {}
            Die => return Some(Die),
        }
    }
}

fn status(line: &str, body: &str) -> String {
    format!("HTTP/1.1 {line}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn json(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// An event stream that has not ended.
fn open_stream(events: &str) -> String {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    match events {
        "" => head.to_owned(),
        events => format!("{head}{:x}\r\n{events}\r\n", events.len()),
    }
}

/// An event stream that has not ended, for which the server has opened a session.
fn stream_with_session() -> String {
    open_stream("").replacen("\r\n", "\r\nMcp-Session-Id: of-the-get\r\n", 1)
}

fn verbs(web: &Scripted) -> Vec<String> {
    web.seen().into_iter().map(|seen| seen.verb).collect()
}

fn whole_stream(events: &str) -> String {
    open_stream(events) + "0\r\n\r\n"
}

fn answer_to(id: u64) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")
}

#[derive(Debug, PartialEq)]
enum Told {
    Message(String),
    Unanswered(u64, Option<Executed>),
    Lost(Loss),
}

struct Recorder {
    waiting: Mutex<HashSet<u64>>,
    told: UnboundedSender<Told>,
    last_error: Mutex<Option<Error>>,
}

impl Inbound for Recorder {
    fn message(&self, message: Bytes) {
        let value: serde_json::Value = serde_json::from_slice(&message).expect("JSON");
        if let Some(id) = value["id"].as_u64() {
            lock(&self.waiting).remove(&id);
        }
        let _ = self.told.send(Told::Message(String::from_utf8(message.into()).expect("text")));
    }
    fn message_for(&self, _: u64, message: Bytes) {
        self.message(message);
    }
    fn oversized(&self, _: &[u8], _: &[u8]) {}
    fn expects(&self, id: u64) -> bool {
        lock(&self.waiting).contains(&id)
    }
    fn unanswered(&self, id: u64, error: Error) {
        lock(&self.waiting).remove(&id);
        let executed = error.executed();
        *lock(&self.last_error) = Some(error);
        let _ = self.told.send(Told::Unanswered(id, executed));
    }
    fn lost(&self, _: Error, loss: Loss) {
        let _ = self.told.send(Told::Lost(loss));
    }
    fn awaits_answers(&self) -> bool {
        false
    }
    fn only_request(&self) -> Option<u64> {
        None
    }
    fn closed(&self, _: Error, _: Option<&UnreadRequests>) {}
}

fn line(text: &str) -> OutgoingMessage {
    OutgoingMessage::from_line(text.as_bytes().to_vec())
}

/// A link and what it has reported so far.
struct Client {
    link: Arc<HttpLink>,
    recorder: Arc<Recorder>,
    told: UnboundedReceiver<Told>,
}

impl Client {
    fn new(url: &str) -> Client {
        Client::with_mask(url, Mask::default())
    }

    fn with_mask(url: &str, mask: Mask) -> Client {
        Client::open(url, mask, HttpDialect::Streamable)
    }

    fn legacy(url: &str) -> Client {
        Client::open(url, Mask::default(), HttpDialect::Legacy)
    }

    fn open(url: &str, mask: Mask, dialect: HttpDialect) -> Client {
        let target = Target {
            server: "s".into(),
            addresses: AllowedAddresses::Any,
            url: url.parse().expect("a url"),
            dialect,
            headers: HeaderMap::new(),
            caller: Arc::default(),
            sign_in: SignIn::Off,
            tls: None,
            shown: url.to_owned(),
            mask,
        };
        let limits = Limits { message_bytes: 1 << 20, ..Default::default() };
        let link = crate::runtime::block_on(HttpLink::open(target, None, &limits)).expect("a link");
        let (sender, told) = unbounded_channel();
        let recorder = Arc::new(Recorder {
            waiting: Mutex::default(),
            told: sender,
            last_error: Mutex::default(),
        });
        let inbound: Arc<dyn Inbound> = recorder.clone();
        link.deliver_to(Arc::downgrade(&inbound));
        Client { link, recorder, told }
    }

    fn with_session(url: &str) -> Client {
        let client = Client::new(url);
        lock(&client.link.headers).insert(SESSION_ID, HeaderValue::from_static("s"));
        client
    }

    fn ask(&self, id: u64) {
        lock(&self.recorder.waiting).insert(id);
        self.link.send(line("{}\n"), Some(id), Flush::Now).expect("a link takes all");
    }

    fn next(&mut self) -> Told {
        let next = async { tokio::time::timeout(Duration::from_secs(10), self.told.recv()).await };
        crate::runtime::block_on(next).expect("in time").expect("a sender")
    }

    fn last_error(&self) -> Error {
        lock(&self.recorder.last_error).clone().expect("an error")
    }

    fn nothing_more(&mut self) {
        let next =
            async { tokio::time::timeout(Duration::from_millis(200), self.told.recv()).await };
        let told = crate::runtime::block_on(next);
        assert!(told.is_err(), "{told:?}");
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come true");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_refused_connection_is_gone_and_nothing_was_executed() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", nobody.local_addr().expect("an address"));
    drop(nobody);
    let mut client = Client::new(&url);
    client.ask(1);
    assert_eq!(client.next(), Told::Lost(Loss::Gone));
    assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::No)));
    client.ask(2);
    assert_eq!(client.next(), Told::Unanswered(2, Some(Executed::No)), "the loss is told once");
}

#[test]
fn a_forgotten_session_is_reported_before_its_request_fails() {
    let words = "Bad Request: No valid session ID provided";
    for refusal in [status("404 Not Found", ""), status("400 Bad Request", words)] {
        let server = Scripted::start([Answer(refusal)]);
        let mut client = Client::with_session(&server.url);
        client.ask(1);
        assert_eq!(client.next(), Told::Lost(Loss::Expired));
        assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::No)));
    }
}

#[test]
fn without_a_session_none_can_expire() {
    let server = Scripted::start([Answer(status("404 Not Found", "session not found"))]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::Unknown)));
}

#[test]
fn a_bad_request_of_another_kind_says_nothing_about_the_link() {
    let server = Scripted::start([Answer(status("400 Bad Request", "no"))]);
    let mut client = Client::with_session(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::Unknown)));
}

/// A response of any status and type.
fn response(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {line}\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{body}")
}

const JSON: &str = "Content-Type: application/json";

#[test]
fn an_answer_is_delivered_whatever_the_status_and_the_type() {
    let large = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"x\":\"{}\"}}}}",
        "x".repeat(200_000)
    );
    let lines = ["400 Bad Request", "404 Not Found", "429 Too Many Requests", "500 Oops", "503 No"];
    let others =
        ["401 Unauthorized", "403 Forbidden", "200 OK", "202 Accepted", "206 Partial Content"];
    for line in lines.iter().chain(&others) {
        for (headers, body, answer) in [
            (JSON, answer_to(1), answer_to(1)),
            (JSON, large.clone(), large.clone()),
            ("Content-Type: text/plain", answer_to(1), answer_to(1)),
            (
                "Content-Type: text/event-stream",
                format!("data: {}\n\n", answer_to(1)),
                answer_to(1),
            ),
        ] {
            let server = Scripted::start([
                Answer(response(line, headers, &body)),
                Answer(status("202 Accepted", "")),
            ]);
            let mut client = Client::with_session(&server.url);
            client.link.announce_version("2025-06-18");
            client.ask(1);
            assert_eq!(client.next(), Told::Message(answer), "{line} {headers}");
            until("the exchange is over", || lock(&client.link.under_way).is_empty());
            client.nothing_more();
        }
    }
}

#[test]
fn an_answer_in_an_open_event_stream_is_delivered_at_once_whatever_the_status() {
    let stream = open_stream(&format!("data: {}\n\n", answer_to(1)));
    let server = Scripted::start([Answer(stream.replace("200 OK", "500 Oops"))]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Message(answer_to(1)));
}

#[test]
fn a_sign_in_that_is_required_first_is_reported_as_such() {
    let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"who are you"}}"#;
    let challenge = format!("{JSON}\r\nWWW-Authenticate: Bearer");
    for (headers, greeted) in [(JSON, false), (&*challenge, true)] {
        let server = Scripted::start([Answer(response("401 Unauthorized", headers, body))]);
        let mut client = Client::new(&server.url);
        if greeted {
            client.link.announce_version("2025-06-18");
        }
        client.ask(1);
        assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::No)));
        let error = client.last_error();
        assert_eq!(error.code(), "AUTH_REQUIRED");
        assert_eq!(error.rpc().expect("the server's error").code, -32001);
    }
}

#[test]
fn the_error_of_a_refusal_contains_no_secrets() {
    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"not swordfish-7!","data":["swordfish-7!"]}}"#;
    for line in ["400 Bad Request", "404 Not Found", "500 Oops"] {
        let server = Scripted::start([Answer(response(line, JSON, body))]);
        let mut values = MaskBuilder::default();
        values.value("swordfish-7!");
        let mut client = Client::with_mask(&server.url, values.build());
        client.ask(1);
        while !matches!(client.next(), Told::Unanswered(..)) {}
        let error = client.last_error();
        let rpc = error.rpc().expect("the server's error");
        let told = format!("{error} {rpc:?}");
        assert!(rpc.message.contains("not ") && !told.contains("swordfish"), "{told}");
    }
}

#[test]
fn if_an_answer_may_be_unread_the_tool_may_have_run() {
    let encoded = format!("{JSON}\r\nContent-Encoding: gzip");
    let chunked =
        "HTTP/1.1 404 No\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let cut = |body: &str| format!("{chunked}{:x}\r\n{body}\r\n", body.len());
    for act in [
        AnswerAndClose(cut("{\"jsonrpc\":\"2.0\",\"id\":1,")),
        Answer(response("404 Not Found", JSON, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{")),
        Answer(response("404 Not Found", JSON, "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}")),
        Answer(response(
            "404 Not Found",
            JSON,
            "{\"id\":1,\"error\":{\"message\":\"session expired\"}}",
        )),
        Answer(response("404 Not Found", &encoded, "gzip")),
        Answer(response("404 Not Found", JSON, &format!("\"{}\"", "x".repeat(2 << 20)))),
    ] {
        let server = Scripted::start([act]);
        let mut client = Client::with_session(&server.url);
        client.ask(1);
        assert_eq!(client.next(), Told::Lost(Loss::Expired));
        assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::Unknown)));
    }
}

#[test]
fn an_answer_with_another_content_type_is_delivered() {
    let (event, stream) =
        (format!("data: {}\n\n", answer_to(1)), "Content-Type: text/event-stream");
    for (headers, body) in [(JSON, event), (stream, answer_to(1))] {
        let server = Scripted::start([
            Answer(response("404 Not Found", headers, &body)),
            Answer(status("202 Accepted", "")),
        ]);
        let mut client = Client::with_session(&server.url);
        client.link.announce_version("2025-06-18");
        client.ask(1);
        assert_eq!(client.next(), Told::Message(answer_to(1)), "{headers}");
    }
}

#[test]
fn a_redirect_that_brings_the_answer_is_not_followed() {
    for line in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let headers = format!("{JSON}\r\nLocation: /elsewhere");
        let server = Scripted::start([
            Answer(response(line, &headers, &answer_to(1))),
            Answer(response("200 OK", JSON, &answer_to(1))),
        ]);
        let mut client = Client::new(&server.url);
        client.link.announce_version("2025-06-18");
        client.ask(1);
        assert_eq!(client.next(), Told::Message(answer_to(1)), "{line}");
        until("the exchange is over", || lock(&client.link.under_way).is_empty());
        assert_eq!(server.seen().len(), 1, "{line}");
        client.nothing_more();
    }
}

#[test]
fn a_redirect_within_the_origin_is_followed() {
    let headers = "Content-Type: text/html\r\nLocation: /elsewhere";
    let server = Scripted::start([
        Answer(response("308 Permanent Redirect", headers, "<html>moved</html>")),
        Answer(response("200 OK", JSON, &answer_to(1))),
    ]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Message(answer_to(1)));
}

#[test]
fn what_a_redirect_that_is_not_followed_says_of_the_tool() {
    let location = "Location: http://elsewhere.example/";
    let begun = "{\"jsonrpc\":\"2.0\",\"id\":1,";
    for (line, body, executed) in [
        ("301 Moved", "", Executed::No),
        ("307 Temporary Redirect", "", Executed::No),
        ("307 Temporary Redirect", begun, Executed::Unknown),
        ("302 Found", "", Executed::Unknown),
        ("303 See Other", "", Executed::Unknown),
        ("401 Unauthorized", "", Executed::No),
        ("401 Unauthorized", begun, Executed::Unknown),
        ("403 Forbidden", begun, Executed::Unknown),
    ] {
        let headers = format!("{JSON}\r\n{location}");
        let server = Scripted::start([Answer(response(line, &headers, body))]);
        let mut client = Client::new(&server.url);
        client.link.announce_version("2025-06-18");
        client.ask(1);
        assert_eq!(client.next(), Told::Unanswered(1, Some(executed)), "{line} {body}");
    }
}

#[test]
fn an_encoded_answer_is_reported_as_such() {
    let headers = format!("{JSON}\r\nContent-Encoding: gzip");
    let server = Scripted::start([Answer(response("200 OK", &headers, "\u{1f}\u{8b}"))]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::Unknown)));
    let error = client.last_error();
    assert_eq!(error.code(), "PROTOCOL_ERROR");
    assert!(error.message().contains("gzip"), "{error}");
}

#[test]
fn an_event_over_the_limit_fails_its_call_before_it_ends() {
    let server = Scripted::start([Answer(open_stream(&format!("data: {}", "x".repeat(2 << 20))))]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::Yes)));
    assert_eq!(client.last_error().code(), "LIMIT_EXCEEDED");
    until("the stream is dropped", || server.closed() == 1);
}

#[test]
fn an_exchange_without_a_waiter_is_ended() {
    let server = Scripted::start([]);
    let client = Client::new(&server.url);
    client.ask(1);
    until("it is asked", || server.seen().len() == 1);
    client.link.abandon(1);
    until("the one is dropped", || server.closed() == 1);
    client.ask(2);
    until("it is asked again", || server.seen().len() == 2);
    crate::runtime::block_on(client.link.close());
    until("the other is dropped", || server.closed() == 2);
}

#[test]
fn a_server_error_is_doubtful_each_time() {
    let error = || Answer(status("503 Service Unavailable", ""));
    let server = Scripted::start([error(), error()]);
    let mut client = Client::new(&server.url);
    for id in 1..=2 {
        client.ask(id);
        assert_eq!(client.next(), Told::Lost(Loss::Doubtful));
        assert_eq!(client.next(), Told::Unanswered(id, Some(Executed::Unknown)));
    }
}

#[test]
fn a_closed_socket_is_doubtful_while_the_server_lives_and_gone_when_it_does_not() {
    let server = Scripted::start([AnswerAndClose(String::new()), Die]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Lost(Loss::Doubtful));
    assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::Unknown)));
    client.ask(2);
    assert_eq!(client.next(), Told::Lost(Loss::Gone));
    assert_eq!(client.next(), Told::Unanswered(2, Some(Executed::Unknown)));
}

#[test]
fn a_connection_that_was_closed_while_idle_is_no_loss() {
    let server = Scripted::start((1..=5).map(|id| AnswerAndClose(json(&answer_to(id)))));
    let mut client = Client::new(&server.url);
    for id in 1..=5 {
        client.ask(id);
        assert_eq!(client.next(), Told::Message(answer_to(id)));
        // There is no signal that the client has seen the end of the connection.
        thread::sleep(Duration::from_millis(20));
    }
    client.nothing_more();
}

#[test]
fn an_answer_whose_stream_ended_is_fetched_from_where_it_ended() {
    let progress = "{\"jsonrpc\":\"2.0\",\"method\":\"p\"}";
    let rest = format!("id: c\ndata: {}\n\n", answer_to(1));
    let server = Scripted::start([
        Answer(whole_stream("retry: 1\n\nid: a\ndata:\n\n")),
        AnswerAndClose(open_stream(&format!("id: b\ndata: {progress}\n\nid: x\nda"))),
        // Still open after the answer has arrived.
        Answer(open_stream(&rest)),
    ]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Message(progress.into()));
    assert_eq!(client.next(), Told::Message(answer_to(1)));
    until("the exchange is over", || lock(&client.link.under_way).is_empty());
    client.nothing_more();
    let seen = server.seen();
    let asked: Vec<_> = seen.iter().map(|seen| (&*seen.verb, seen.last_event.as_deref())).collect();
    assert_eq!(asked, [("POST", None), ("GET", Some("a")), ("GET", Some("b"))]);
    for pair in seen.windows(2) {
        assert!(pair[1].at - pair[0].at >= Duration::from_millis(100), "not too soon");
    }
}

#[test]
fn a_stream_that_stays_open_after_its_answer_is_dropped() {
    let answer = open_stream(&format!("data: {}\n\n", answer_to(1)));
    let late = "data: {}\n\n";
    let server = Scripted::start([Answer(format!("{answer}{:x}\r\n{late}\r\n", late.len()))]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Message(answer_to(1)));
    assert_eq!(client.next(), Told::Message("{}".into()), "what follows the answer is heard");
    until("the stream is dropped", || lock(&client.link.under_way).is_empty());
}

#[test]
fn a_request_whose_answer_came_another_way_is_dropped() {
    let answer = open_stream(&format!("data: {}\n\n", answer_to(1)));
    let server = Scripted::start([Hang, Answer(answer)]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    until("it is sent", || server.seen().len() == 1);
    client.link.listen();
    assert_eq!(client.next(), Told::Message(answer_to(1)));
    until("the request is dropped", || lock(&client.link.under_way).is_empty());
    client.ask(2);
    until("another is sent", || server.seen().len() == 3);
    assert!(lock(&client.link.under_way).contains_key(&2), "who waits is left alone");
}

#[test]
fn a_flood_after_an_answer_is_cut_off() {
    let comment = format!(": {}\n\n", "x".repeat(1 << 16));
    let answer = open_stream(&format!("data: {}\n\n", answer_to(1)));
    let chunk = format!("{:x}\r\n{comment}\r\n", comment.len());
    let server = Scripted::start([Flood(answer, chunk)]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Message(answer_to(1)));
    until("the server is cut off", || server.seen().len() == 2);
    let cut = &server.seen()[1].verb;
    let taken: usize = cut.split(' ').nth(2).expect("a number").parse().expect("a number");
    // The system's buffers hold some more.
    assert!(taken < 32, "{cut}");
}

#[test]
fn a_stream_left_open_does_not_keep_its_socket_from_a_call() {
    let answers = (1..=250).map(|id| Answer(open_stream(&format!("data: {}\n\n", answer_to(id)))));
    let server = Scripted::start(answers);
    let mut client = Client::new(&server.url);
    for id in 1..=250 {
        client.ask(id);
        assert_eq!(client.next(), Told::Message(answer_to(id)));
    }
}

#[test]
fn a_standing_stream_that_ends_at_once_is_reopened_at_growing_intervals() {
    let server = Scripted::start((0..10).map(|_| Answer(whole_stream("retry: 0\n\n"))));
    let client = Client::new(&server.url);
    client.link.listen();
    until("it was opened five times", || server.seen().len() >= 5);
    let seen = server.seen();
    for (pair, least) in seen.windows(2).zip([100, 200, 400, 800]) {
        let pause = pair[1].at - pair[0].at;
        assert!(pause >= Duration::from_millis(least), "{pause:?} instead of {least} ms");
    }
}

#[test]
fn a_stream_without_new_events_is_given_up() {
    let first = Answer(whole_stream("retry: 1\n\nid: a\ndata:\n\n"));
    let server = Scripted::start(
        std::iter::once(first).chain((0..20).map(|_| Answer(whole_stream(": nothing\n\n")))),
    );
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::Unknown)));
    assert_eq!(server.seen().len(), 11);
}

#[test]
fn a_stream_without_ids_is_not_resumed() {
    let server = Scripted::start([Answer(whole_stream("data: {}\n\n"))]);
    let mut client = Client::new(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Message("{}".into()));
    assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::Unknown)));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_call_whose_answer_is_lost_halfway_may_have_run() {
    let server = Scripted::start([
        Answer(whole_stream("retry: 1\n\nid: a\ndata:\n\n")),
        Answer(status("404 Not Found", "")),
    ]);
    let mut client = Client::with_session(&server.url);
    client.ask(1);
    assert_eq!(client.next(), Told::Unanswered(1, Some(Executed::Unknown)));
    client.nothing_more();
}

#[test]
fn the_standing_stream_is_opened_again_until_the_session_is_gone() {
    let server = Scripted::start([
        Answer(whole_stream("retry: 1000\n\nid: 7\ndata: {}\n\n")),
        // The first break is followed by an immediate check.
        AnswerAndClose(open_stream("data: {}\n\n")),
        Answer(status("502 Bad Gateway", "")),
        Answer(status("502 Bad Gateway", "")),
        Answer(status("404 Not Found", "")),
    ]);
    let mut client = Client::with_session(&server.url);
    client.link.listen();
    assert_eq!(client.next(), Told::Message("{}".into()));
    assert_eq!(client.next(), Told::Message("{}".into()));
    assert_eq!(client.next(), Told::Lost(Loss::Doubtful));
    assert_eq!(client.next(), Told::Lost(Loss::Expired));
    let seen = server.seen();
    assert_eq!(seen[0].last_event, None);
    assert!(seen[1..].iter().all(|seen| seen.last_event.as_deref() == Some("7")), "{seen:?}");
    assert!(seen[1].at - seen[0].at >= Duration::from_millis(1000), "after the pause");
    assert!(seen[2].at - seen[1].at < Duration::from_millis(1000), "at once");
    assert!(seen[4].at - seen[3].at >= Duration::from_millis(2000), "with patience");
}

#[test]
fn the_end_of_an_idle_server_is_noticed_by_its_standing_stream() {
    let server = Scripted::start([AnswerAndClose(open_stream(": open\n\n")), Die]);
    let mut client = Client::new(&server.url);
    client.link.listen();
    assert_eq!(client.next(), Told::Lost(Loss::Gone));
    client.nothing_more();
}

#[test]
fn a_server_without_a_standing_stream_gets_no_second_request() {
    for refusal in ["405 Method Not Allowed", "404 Not Found", "500 Internal Server Error"] {
        let server = Scripted::start([Answer(status(refusal, "")), Answer(whole_stream(""))]);
        let mut client = Client::with_session(&server.url);
        client.link.listen();
        client.nothing_more();
        assert_eq!(server.seen().len(), 1, "{refusal}");
    }
}

#[test]
fn a_listening_link_is_dropped_with_its_owner() {
    let server = Scripted::start([Answer(open_stream(": open\n\n"))]);
    let client = Client::new(&server.url);
    client.link.listen();
    until("the stream is open", || server.seen().len() == 1);
    let weak = Arc::downgrade(&client.link);
    drop(client);
    until("the link is dropped", || weak.upgrade().is_none());
}

#[test]
fn replies_that_the_server_does_not_take_are_limited() {
    let server = Scripted::start([]);
    let client = Client::new(&server.url);
    for id in 0..100 {
        let reply = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n");
        let taken = client.link.send_reply(line(&reply), &Limits::default());
        assert_eq!(taken, id < 64);
    }
    let notification = line("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n");
    client.link.send(notification, None, Flush::Now).expect("a link takes all");
    until("all are sent", || server.seen().len() >= 65);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(server.seen().len(), 65);
}

#[test]
fn a_link_of_the_older_transport_that_fails_both_ways_tells_both_errors() {
    let web = Scripted::start([
        StreamUntil(stream_with_session(), 2),
        Answer(status("403 Forbidden", "")),
        Answer(status("204 No Content", "")),
    ]);
    let mut client = Client::legacy(&web.url);
    client.ask(1);
    assert!(matches!(client.next(), Told::Unanswered(1, _)));
    let error = client.last_error();
    assert_eq!(error.http_status(), Some(403));
    assert!(error.message().contains("ended its event stream"), "{error}");
    until("the session of the stream is ended", || verbs(&web) == ["GET", "POST", "DELETE"]);
}

#[test]
fn a_session_of_a_stream_without_an_endpoint_is_ended_with_the_attempt() {
    let web = Scripted::start([Answer(stream_with_session()), Hang, Answer(status("204 No", ""))]);
    let client = Client::legacy(&web.url);
    client.ask(1);
    until("the first message", || verbs(&web) == ["GET", "POST"]);
    crate::runtime::block_on(client.link.close());
    until("the session is ended", || verbs(&web) == ["GET", "POST", "DELETE"]);
}

#[test]
fn a_session_of_a_fallback_that_takes_too_long_is_ended() {
    let web = Scripted::start([
        Answer(status("405 Not Allowed", "")),
        Answer(stream_with_session()),
        Answer(status("204 No Content", "")),
    ]);
    let mut client = Client::new(&web.url);
    client.ask(1);
    assert!(matches!(client.next(), Told::Unanswered(1, _)));
    assert_eq!(client.last_error().http_status(), Some(405));
    until("the session is ended", || verbs(&web) == ["POST", "GET", "DELETE"]);
}
