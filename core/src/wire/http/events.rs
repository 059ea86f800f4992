//! Owns reading a `text/event-stream`: chunks in, the data of complete events out, within a limit.

use bytes::Bytes;

pub(super) struct EventStream {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The other half of a CR LF that was cut between chunks.
    after_cr: bool,
    limit: usize,
    over: bool,
}

impl EventStream {
    pub(super) fn new(limit: usize) -> Self {
        let (line, data) = (Vec::new(), Vec::new());
        EventStream { line, data, has_data: false, after_cr: false, limit, over: false }
    }

    /// The data of every event that `chunk` completes; `None` stands for one over the limit.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> Vec<Option<Bytes>> {
        let mut complete = Vec::new();
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            self.keep(&rest[..at]);
            let ended_by_cr = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if ended_by_cr {
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            self.end_line(&mut complete);
        }
        self.keep(rest);
        complete
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.line.len() + self.data.len() + bytes.len() > self.limit {
            self.over = true;
            self.line = Vec::new();
            self.data = Vec::new();
        }
        if !self.over {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, complete: &mut Vec<Option<Bytes>>) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            if std::mem::take(&mut self.over) {
                complete.push(None);
            } else if self.has_data && !data.is_empty() {
                complete.push(Some(data.into()));
            }
            self.has_data = false;
        } else if let Some(value) = line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            if !self.has_data && self.data.is_empty() {
                // The common case is one line of data: its buffer is taken over, not copied.
                let cut = line.len() - value.len();
                self.data = line;
                self.data.drain(..cut);
            } else {
                self.data.push(b'\n');
                self.data.extend_from_slice(value);
            }
            self.has_data = true;
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
        let stream = format!("data: {}\n\ndata: ok\n\n", "x".repeat(5000));
        assert_eq!(all(&stream, 100), ["over", "ok"]);
    }
}
