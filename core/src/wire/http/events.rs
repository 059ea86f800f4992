//! Owns reading a `text/event-stream`: takes chunks, returns the data of complete events, within a limit; and keeps the
//! last event id and the retry delay of the stream.
//! Invariant: an event over the limit is reported as soon as it exceeds it, and nothing of it is delivered or kept.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderValue;

use crate::wire::without_bom;

/// The delay before a stream is reopened, if the server does not set one.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest such delay.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// The longest event id that is kept and sent in a header.
const LONGEST_ID: usize = 64 << 10;

pub(super) struct EventStream {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The event has a name, so it is not for us.
    is_other: bool,
    /// No line is complete yet, so a byte order mark may precede it.
    at_start: bool,
    /// The previous chunk ended between CR and LF.
    after_cr: bool,
    limit: usize,
    /// The event is over the limit; the rest of it is dropped.
    over: bool,
    /// Part of the current line was dropped.
    cut_line: bool,
    /// The fields of the incomplete event.
    next_id: Option<Vec<u8>>,
    last_id: Option<HeaderValue>,
    pause: Duration,
    count: u64,
}

impl EventStream {
    pub(super) fn new(limit: usize) -> Self {
        EventStream {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            is_other: false,
            at_start: true,
            after_cr: false,
            limit,
            over: false,
            cut_line: false,
            next_id: None,
            last_id: None,
            pause: PAUSE,
            count: 0,
        }
    }

    /// The next chunk is from a new response; an incomplete event is dropped.
    pub(super) fn restart(&mut self) {
        self.line.clear();
        self.data.clear();
        self.next_id = None;
        (self.has_data, self.is_other, self.after_cr) = (false, false, false);
        (self.over, self.cut_line, self.at_start) = (false, false, true);
    }

    /// The id of the last complete event, if the server sent one.
    pub(super) fn last_id(&self) -> Option<&HeaderValue> {
        self.last_id.as_ref()
    }

    /// The delay before this stream is reopened.
    pub(super) fn pause(&self) -> Duration {
        self.pause
    }

    /// The number of complete events so far, including those without data.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The size of the incomplete event.
    pub(super) fn kept(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// The data of every message that `chunk` completes; `None` is an event over the limit, whose rest is dropped.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> Vec<Option<Bytes>> {
        let mut complete = Vec::new();
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        loop {
            if self.is_between_events() {
                // Some servers send empty lines as keep-alives.
                rest = &rest[rest.iter().take_while(|&&byte| byte == b'\n').count()..];
            }
            let Some(at) = memchr::memchr2(b'\n', b'\r', rest) else { break };
            let end = &rest[..at];
            let ended_by_cr = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if ended_by_cr {
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            if self.line.is_empty() && self.fits(end, &mut complete) {
                self.end_line(Cow::Borrowed(end), &mut complete);
            } else {
                self.keep(end, &mut complete);
                let line = std::mem::take(&mut self.line);
                self.end_line(Cow::Owned(line), &mut complete);
            }
        }
        self.keep(rest, &mut complete);
        complete
    }

    fn is_between_events(&self) -> bool {
        let has_begun = self.has_data || self.over || self.is_other || self.at_start;
        !has_begun && self.line.is_empty() && self.next_id.is_none()
    }

    /// Whether the event is within the limit with these bytes; reported once when it is not.
    fn fits(&mut self, bytes: &[u8], complete: &mut Vec<Option<Bytes>>) -> bool {
        if !self.over && self.kept() + bytes.len() > self.limit {
            self.over = true;
            self.line = Vec::new();
            self.data = Vec::new();
            complete.push(None);
        }
        !self.over
    }

    fn keep(&mut self, bytes: &[u8], complete: &mut Vec<Option<Bytes>>) {
        if self.fits(bytes, complete) {
            self.line.extend_from_slice(bytes);
        } else {
            // Only an empty line matters now, because it ends the event.
            self.cut_line |= !bytes.is_empty();
        }
    }

    fn end_line(&mut self, mut line: Cow<'_, [u8]>, complete: &mut Vec<Option<Bytes>>) {
        if std::mem::take(&mut self.at_start) && without_bom(&line).len() < line.len() {
            line = without_bom(&line).to_vec().into();
        }
        if std::mem::take(&mut self.cut_line) {
            return;
        }
        if line.is_empty() {
            self.end_event();
            let data = std::mem::take(&mut self.data);
            let is_message = self.has_data && !self.over && !self.is_other;
            if is_message && !data.is_empty() {
                complete.push(Some(data.into()));
            }
            (self.has_data, self.over, self.is_other) = (false, false, false);
            return;
        }
        // A line without a colon is a name without a value.
        let colon = memchr::memchr(b':', &line).unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                    self.data.extend_from_slice(value);
                } else {
                    // The common case is one line of data: its buffer is taken over, not copied.
                    self.data = match &line {
                        Cow::Borrowed(_) => value.to_vec(),
                        Cow::Owned(_) => {
                            let cut = line.len() - value.len();
                            let mut line = line.into_owned();
                            line.drain(..cut);
                            line
                        }
                    };
                }
                self.has_data = true;
            }
            b"event" => self.is_other = !matches!(value, b"" | b"message"),
            b"id" if !value.contains(&0) => self.next_id = Some(value.to_owned()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                if let Some(ms) = str::from_utf8(value).ok().and_then(|ms| ms.parse().ok()) {
                    self.pause = Duration::from_millis(ms).max(LEAST_PAUSE);
                }
            }
            _ => {}
        }
    }

    fn end_event(&mut self) {
        if self.has_data || self.next_id.is_some() {
            self.count += 1;
        }
        if let Some(id) = self.next_id.take() {
            // An empty id clears the last one; so does an id that is invalid in a header.
            let is_usable = !id.is_empty() && id.len() <= LONGEST_ID;
            self.last_id = HeaderValue::from_bytes(&id).ok().filter(|_| is_usable);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(stream: &str, cut: usize) -> Vec<String> {
        let mut events = EventStream::new(1000);
        stream
            .as_bytes()
            .chunks(cut)
            .flat_map(|chunk| events.feed(chunk))
            .map(|data| data.map_or("over".into(), |data| String::from_utf8(data.into()).unwrap()))
            .collect()
    }

    #[test]
    fn events_survive_any_cut_and_any_line_end() {
        let stream = "event: message\r\nid: 1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n: note\n\ndata:x\n\ndata: y\r\rretry: 5\n\n";
        for cut in 1..stream.len() {
            assert_eq!(all(stream, cut), ["{\"a\":\n1}", "x", "y"], "cut at {cut}");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_told_and_the_next_one_lives() {
        let long = "x".repeat(5000);
        for rest in ["", "data: rest\n", "data\nid: 7\ndata: rest\nevent: message\n"] {
            let stream = format!("data: {long}\n{rest}\ndata: ok\n\n");
            for cut in [1, 3, 100, 10_000] {
                assert_eq!(all(&stream, cut), ["over", "ok"], "{rest:?} cut at {cut}");
            }
        }
        let lines = "data: of many lines\n".repeat(100);
        assert_eq!(all(&format!("{lines}\ndata: ok\n\n"), 7), ["over", "ok"]);
    }

    #[test]
    fn an_event_without_an_end_is_told_when_it_is_over_the_limit() {
        for endless in ["data: ", "id: ", ": ", ""] {
            let stream = format!("{endless}{}", "x".repeat(5000));
            assert_eq!(all(&stream, 100), ["over"], "{endless}");
        }
    }

    #[test]
    fn a_byte_order_mark_before_the_stream_is_no_part_of_it() {
        let stream = "\u{feff}data: a\n\ndata: b\n\n";
        for cut in 1..stream.len() {
            assert_eq!(all(stream, cut), ["a", "b"], "cut at {cut}");
        }
        let mut events = read("\u{feff}data: a\n\n");
        assert!(events.feed("\u{feff}data: in between\n\n".as_bytes()).is_empty());
        events.restart();
        assert_eq!(events.feed("\u{feff}data: b\n\n".as_bytes()), [Some(Bytes::from("b"))]);
    }

    #[test]
    fn only_messages_are_delivered() {
        let stream = "event: ping\ndata: 1\n\nevent: message\ndata: 2\n\nevent\ndata: 3\n\ndata: 4\nevent:x\n\ndata: 5\n\n";
        for cut in 1..stream.len() {
            assert_eq!(all(stream, cut), ["2", "3", "5"], "cut at {cut}");
        }
        let events = read("event: ping\nid: 3\ndata: 1\n\n");
        assert_eq!((events.last_id().unwrap().to_str().unwrap(), events.count()), ("3", 1));
    }

    #[test]
    fn a_line_without_a_colon_is_a_name_without_a_value() {
        assert_eq!(all("data\ndata: a\ndata\n\ndata\n\n", 5), ["\na\n"]);
        assert!(read("id: 1\n\nid\n\n").last_id().is_none());
        assert_eq!(read("retry\n").pause(), PAUSE);
        assert_eq!(all("datax: a\ndata : b\n\n", 5), [""; 0]);
    }

    fn read(stream: &str) -> EventStream {
        let mut events = EventStream::new(1000);
        events.feed(stream.as_bytes());
        events
    }

    #[test]
    fn the_last_id_is_that_of_the_last_complete_event() {
        let id = |stream| read(stream).last_id().map(|id| id.to_str().unwrap().to_owned());
        assert_eq!(id("id: 1\ndata:\n\n"), Some("1".into()));
        assert_eq!(id("id:1\ndata: a\n\ndata: b\n\n"), Some("1".into()));
        assert_eq!(id("id: 1\n\nid: 2\ndata: a\n"), Some("1".into()));
        assert_eq!(id("id: 1\n\nid: 2\0\ndata: a\n\n"), Some("1".into()));
        assert_eq!(id("id: 1\n\nid:\n\n"), None);
        let mut events = EventStream::new(1 << 20);
        events.feed(format!("id: 1\n\nid: {}\n\n", "x".repeat(LONGEST_ID + 1)).as_bytes());
        assert_eq!(events.last_id(), None);
        assert_eq!(id("data: a\n\n"), None);
    }

    #[test]
    fn the_pause_is_what_the_server_says_within_reason() {
        let pause = |stream| read(stream).pause().as_millis();
        assert_eq!(pause("data: a\n\n"), 1000);
        assert_eq!(pause("retry: 250\n"), 250);
        assert_eq!(pause("retry:5\n\n"), 100);
        for odd in ["retry: +300\n", "retry: 3s\n", "retry:\n", "retry: 99999999999999999999\n"] {
            assert_eq!(pause(odd), 1000, "{odd}");
        }
    }

    #[test]
    fn what_was_cut_off_does_not_leak_into_the_next_response() {
        let mut events = read("id: 1\ndata: a\n\nid: 2\ndata: b\ndata: c");
        events.restart();
        assert_eq!(events.feed(b"data: d\n\n"), [Some(Bytes::from("d"))]);
        assert_eq!(events.last_id().unwrap(), "1");
        assert_eq!(events.count(), 2);
    }
}
