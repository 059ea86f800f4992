//! Owns a listener on this machine that must not be dialled, and records each connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone)]
pub(crate) struct Listener {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    pub(crate) fn start() -> Listener {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        let listener = Listener { port, heard: Arc::default() };
        // Not every machine has IPv6.
        let second = TcpListener::bind(("::1", port)).ok();
        for socket in std::iter::once(first).chain(second) {
            let listener = listener.clone();
            std::thread::spawn(move || {
                for stream in socket.incoming().flatten() {
                    let listener = listener.clone();
                    std::thread::spawn(move || listener.take_down(stream));
                }
            });
        }
        listener
    }

    /// What was received so far, one text for each connection.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn take_down(&self, mut stream: TcpStream) {
        // A connection counts before its first byte.
        let at = {
            let mut heard = self.heard.lock().unwrap();
            heard.push(String::new());
            heard.len() - 1
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut part) {
                Ok(0) | Err(_) => break,
                Ok(length) => bytes.extend_from_slice(&part[..length]),
            }
        }
        self.heard.lock().unwrap()[at] = String::from_utf8_lossy(&bytes).into_owned();
        let _ =
            stream.write_all(b"HTTP/1.1 500 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
}
