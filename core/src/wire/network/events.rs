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
/// The shortest such delay.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// How much of each end of an event over the limit is kept, to find out which request it answers.
const ENDS: usize = 1 << 10;
/// How many times the limit an event may have before nobody waits for its end.
const ENDLESS: usize = 8;
/// The longest event id that is kept and sent in a header.
const LONGEST_ID: usize = 64 << 10;

/// What a chunk completes.
#[derive(Debug, PartialEq)]
pub(in crate::wire) enum Event {
    Message(Bytes),
    /// Where messages are posted; only older servers send it.
    Endpoint(Bytes),
    /// An event over the limit, by its first and last bytes; it is reported when it exceeds the limit, without the last
    /// bytes, and at its end.
    Oversized {
        head: Bytes,
        tail: Bytes,
    },
}

impl Event {
    /// The data of a message; `None` if it is over the limit. Other events are left out.
    pub(in crate::wire) fn into_message(self) -> Option<Option<Bytes>> {
        match self {
            Event::Message(data) => Some(Some(data)),
            Event::Oversized { tail, .. } => tail.is_empty().then_some(None),
            Event::Endpoint(_) => None,
        }
    }
}

/// The kind of an incomplete event, by its name.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Message,
    Endpoint,
    /// Not for us.
    Other,
}

pub(in crate::wire) struct EventStream {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    kind: Kind,
    /// No line is complete yet, so a byte order mark may precede it.
    at_start: bool,
    /// The previous chunk ended between CR and LF.
    after_cr: bool,
    limit: usize,
    /// The event is over the limit; the rest of it is dropped.
    over: bool,
    /// How much of it was dropped.
    dropped: usize,
    /// The first and the last bytes of an event over the limit.
    head: Bytes,
    tail: Vec<u8>,
    /// Part of the current line was dropped.
    cut_line: bool,
    /// The fields of the incomplete event.
    next_id: Option<Vec<u8>>,
    last_id: Option<HeaderValue>,
    pause: Duration,
    count: u64,
}

impl EventStream {
    pub(in crate::wire) fn new(limit: usize) -> Self {
        EventStream {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            kind: Kind::Message,
            at_start: true,
            after_cr: false,
            limit,
            over: false,
            dropped: 0,
            head: Bytes::new(),
            tail: Vec::new(),
            cut_line: false,
            next_id: None,
            last_id: None,
            pause: PAUSE,
            count: 0,
        }
    }

    /// The next chunk is from a new response; an incomplete event is dropped.
    pub(in crate::wire) fn restart(&mut self) {
        self.line.clear();
        self.data.clear();
        self.next_id = None;
        (self.has_data, self.kind, self.after_cr) = (false, Kind::Message, false);
        (self.over, self.cut_line, self.at_start) = (false, false, true);
    }

    /// The id of the last complete event, if the server sent one.
    pub(in crate::wire) fn last_id(&self) -> Option<&HeaderValue> {
        self.last_id.as_ref()
    }

    /// The delay before this stream is reopened.
    pub(in crate::wire) fn pause(&self) -> Duration {
        self.pause
    }

    /// The number of complete events so far, including those without data.
    pub(in crate::wire) fn count(&self) -> u64 {
        self.count
    }

    /// The size of the incomplete event.
    pub(in crate::wire) fn kept(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Whether the incomplete event is so far over the limit that it may never end.
    pub(in crate::wire) fn is_endless(&self) -> bool {
        self.over && self.dropped / ENDLESS > self.limit
    }

    /// The data of every message that `chunk` completes; `None` is one over the limit.
    pub(in crate::wire) fn feed(
        &mut self,
        chunk: &[u8],
    ) -> impl Iterator<Item = Option<Bytes>> + use<> {
        self.feed_events(chunk).into_iter().filter_map(Event::into_message)
    }

    /// Every event that `chunk` completes, or that it makes too long.
    pub(in crate::wire) fn feed_events(&mut self, chunk: &[u8]) -> Vec<Event> {
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
        let has_begun = self.has_data || self.over || self.kind != Kind::Message || self.at_start;
        !has_begun && self.line.is_empty() && self.next_id.is_none()
    }

    /// Whether the event is within the limit with these bytes; reported once when it is not.
    fn fits(&mut self, bytes: &[u8], complete: &mut Vec<Event>) -> bool {
        if !self.over && self.kept() + bytes.len() > self.limit {
            (self.over, self.dropped) = (true, 0);
            let (line, data) = (std::mem::take(&mut self.line), std::mem::take(&mut self.data));
            self.head = first_bytes(&data, &line, bytes);
            self.tail = Vec::new();
            complete.push(Event::Oversized { head: self.head.clone(), tail: Bytes::new() });
        }
        !self.over
    }

    fn keep(&mut self, bytes: &[u8], complete: &mut Vec<Event>) {
        if self.fits(bytes, complete) {
            self.line.extend_from_slice(bytes);
        } else {
            // Only an empty line matters now, because it ends the event.
            self.cut_line |= !bytes.is_empty();
            self.dropped += bytes.len();
            self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(ENDS)..]);
            self.tail.drain(..self.tail.len().saturating_sub(ENDS));
        }
    }

    fn end_line(&mut self, mut line: Cow<'_, [u8]>, complete: &mut Vec<Event>) {
        if std::mem::take(&mut self.at_start) && without_bom(&line).len() < line.len() {
            line = without_bom(&line).to_vec().into();
        }
        if std::mem::take(&mut self.cut_line) {
            return;
        }
        if line.is_empty() {
            self.end_event();
            let data = std::mem::take(&mut self.data);
            let is_complete = self.has_data && !self.over && !data.is_empty();
            match self.kind {
                Kind::Message if self.over => {
                    let (head, tail) =
                        (std::mem::take(&mut self.head), std::mem::take(&mut self.tail));
                    complete.push(Event::Oversized { head, tail: tail.into() });
                }
                Kind::Message if is_complete => complete.push(Event::Message(data.into())),
                Kind::Endpoint if is_complete => complete.push(Event::Endpoint(data.into())),
                _ => {}
            }
            (self.has_data, self.over, self.kind) = (false, false, Kind::Message);
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
            b"event" => {
                self.kind = match value {
                    b"" | b"message" => Kind::Message,
                    b"endpoint" => Kind::Endpoint,
                    _ => Kind::Other,
                }
            }
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

/// The first bytes of an event's data: from its complete lines, or from the line that `rest` continues.
fn first_bytes(data: &[u8], line: &[u8], rest: &[u8]) -> Bytes {
    let mut head = data[..data.len().min(ENDS)].to_vec();
    if head.is_empty() {
        let line = line.iter().chain(rest).copied().take(ENDS);
        head.extend(line);
        let value = head.strip_prefix(b"data:").map(|value| value.trim_ascii_start().to_vec());
        head = value.unwrap_or_default();
    }
    head.into()
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
    fn events_are_read_with_any_chunks_and_any_line_end() {
        let stream = "event: message\r\nid: 1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n: note\n\ndata:x\n\ndata: y\r\rretry: 5\n\n";
        for cut in 1..stream.len() {
            assert_eq!(all(stream, cut), ["{\"a\":\n1}", "x", "y"], "cut at {cut}");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_reported_and_the_next_one_is_read() {
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
    fn an_event_without_an_end_is_reported_when_it_is_over_the_limit() {
        for endless in ["data: ", "id: ", ": ", ""] {
            let stream = format!("{endless}{}", "x".repeat(5000));
            assert_eq!(all(&stream, 100), ["over"], "{endless}");
        }
    }

    #[test]
    fn an_event_far_over_the_limit_may_never_end() {
        let mut events = EventStream::new(1000);
        let mut feed = |text: &str| {
            let _ = events.feed(text.as_bytes()).count();
            events.is_endless()
        };
        assert!(!feed(&format!("data: {}", "x".repeat(5000))));
        assert!(feed(&"x".repeat(9000)));
        assert!(!feed("\n\n"), "it has ended");
        assert!(!feed(&"data: short\n\n".repeat(9000)));
    }

    #[test]
    fn a_byte_order_mark_before_the_stream_is_skipped() {
        let stream = "\u{feff}data: a\n\ndata: b\n\n";
        for cut in 1..stream.len() {
            assert_eq!(all(stream, cut), ["a", "b"], "cut at {cut}");
        }
        let mut events = read("\u{feff}data: a\n\n");
        assert!(events.feed_events("\u{feff}data: in between\n\n".as_bytes()).is_empty());
        events.restart();
        assert!(events.feed("\u{feff}data: b\n\n".as_bytes()).eq([Some(Bytes::from("b"))]));
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
        events.feed_events(stream.as_bytes());
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
        events.feed_events(format!("id: 1\n\nid: {}\n\n", "x".repeat(LONGEST_ID + 1)).as_bytes());
        assert_eq!(events.last_id(), None);
        assert_eq!(id("data: a\n\n"), None);
    }

    #[test]
    fn the_pause_is_set_by_the_server_within_bounds() {
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
        assert!(events.feed(b"data: d\n\n").eq([Some(Bytes::from("d"))]));
        assert_eq!(events.last_id().unwrap(), "1");
        assert_eq!(events.count(), 2);
    }
}
