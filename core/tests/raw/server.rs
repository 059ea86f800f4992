//! Owns a server that speaks bytes, for what no fixture can send: it reads the head and the body of each request, and
//! hands the socket to a function.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

pub(crate) struct RawServer {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

pub(crate) struct RawRequest {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl RawRequest {
    /// Whether it opens an event stream or a WebSocket.
    pub(crate) fn is_get(&self) -> bool {
        self.head.starts_with("GET ")
    }

    /// Whether it calls a tool.
    pub(crate) fn is_call(&self) -> bool {
        self.message()["method"] == "tools/call"
    }

    /// The answer of a server with the tool `echo`, which returns nothing.
    pub(crate) fn answer(&self) -> Option<String> {
        let message = self.message();
        let result = match message["method"].as_str()? {
            "initialize" => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "raw", "version": "1"},
            }),
            "tools/list" => {
                json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
            }
            "tools/call" => json!({"content": []}),
            _ => return None,
        };
        Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string())
    }

    fn message(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The response that opens the WebSocket of this request.
    pub(crate) fn upgrade(&self) -> String {
        let key = self.header("sec-websocket-key").expect("an upgrade");
        let accept = derive_accept_key(key.as_bytes());
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n"
        )
    }
}

impl RawServer {
    /// Calls `answer` for each request, until it fails or the client is gone.
    pub(crate) fn start(
        answer: impl Fn(&RawRequest, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> RawServer {
        RawServer::start_reading(u64::MAX, answer)
    }

    /// Same; a body of more than `most` bytes is not read, and its connection neither read nor closed any more.
    pub(crate) fn start_reading(
        most: u64,
        answer: impl Fn(&RawRequest, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> RawServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (heads, answer) = (Arc::<Mutex<Vec<String>>>::default(), Arc::new(answer));
        let seen = heads.clone();
        let connections = Arc::<AtomicUsize>::default();
        let accepted = connections.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                accepted.fetch_add(1, Ordering::Relaxed);
                let (heads, answer) = (seen.clone(), answer.clone());
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone()?);
                    let mut stream = stream;
                    while let Some(request) = read(&mut reader, most)? {
                        heads.lock().unwrap().push(request.head.clone());
                        answer(&request, &mut stream)?;
                    }
                    std::io::Result::Ok(())
                });
            }
        });
        RawServer { port, heads, connections }
    }

    /// Its URL for a transport.
    pub(crate) fn url(&self, transport: &str) -> String {
        let scheme = if transport == "websocket" { "ws" } else { "http" };
        format!("{scheme}://127.0.0.1:{}/mcp", self.port)
    }

    /// How many connections were opened to it so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// The heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn read(reader: &mut BufReader<TcpStream>, most: u64) -> std::io::Result<Option<RawRequest>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    let mut request = RawRequest { head, body: String::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok());
    while length.is_some_and(|length| length > most) {
        // Until the test ends.
        thread::park();
    }
    reader.take(length.unwrap_or(0)).read_to_string(&mut request.body)?;
    Ok(Some(request))
}

/// Opens an event stream that names its endpoint.
pub(crate) fn open_events(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\
          event: endpoint\ndata: /message\n\n",
    )
}

pub(crate) fn accept(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
}

/// Answers a POST in its response.
pub(crate) fn answer(request: &RawRequest, stream: &mut TcpStream) -> std::io::Result<()> {
    let Some(answer) = request.answer() else { return accept(stream) };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{answer}", answer.len())
}

/// Writes this without end, until the client is gone.
pub(crate) fn write_endlessly(stream: &mut TcpStream, text: &[u8]) -> std::io::Result<()> {
    let many = text.repeat((64 << 10) / text.len() + 1);
    loop {
        stream.write_all(&many)?;
    }
}
