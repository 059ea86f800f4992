//! A browser without a window: loads the pages of a sign-in.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use url::{Position, Url};

const PATIENCE: Duration = Duration::from_secs(60);
/// How many pages a sign-in has at most.
const PAGES: usize = 10;

pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) location: Option<String>,
}

/// Loads one page.
pub(crate) fn load(url: &str) -> Page {
    let url = Url::parse(url).unwrap_or_else(|_| panic!("{url} is no URL"));
    let (host, port) = (url.host_str().expect("a host"), url.port().expect("a port"));
    let mut stream = TcpStream::connect((host, port)).expect("a listening page");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let target = &url[Position::BeforePath..Position::AfterQuery];
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n")
        .expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer);
    let (head, text) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let location = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    };
    Page { status, text: text.to_owned(), location: head.lines().find_map(location) }
}

/// Loads a page and goes where it leads to; returns the last page.
pub(crate) fn visit(url: &str) -> Page {
    let mut page = load(url);
    for _ in 0..PAGES {
        let Some(next) = page.location.clone() else { return page };
        page = load(&next);
    }
    panic!("{url} leads nowhere");
}
