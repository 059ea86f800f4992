//! Owns splitting a byte stream into lines, within a limit.
//! Invariant: memory stays below the limit plus one read, whatever the server sends.

use bytes::{Bytes, BytesMut};

/// Small lines are copied out, so that a 100-byte answer does not keep a whole read buffer alive.
const COPY_BELOW: usize = 8 << 10;
const READ_SIZE: usize = 16 << 10;
const KEEP_CAPACITY: usize = 256 << 10;
const EDGE: usize = 512;

pub(in crate::wire) enum Frame {
    Line(Bytes),
    /// A line over the limit has begun (`tail` empty) or ended.
    Oversized {
        head: Vec<u8>,
        tail: Vec<u8>,
    },
}

pub(in crate::wire) struct Frames {
    buffer: BytesMut,
    scanned: usize,
    limit: usize,
    skipping: Option<Skipped>,
}

struct Skipped {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Frames {
    pub(in crate::wire) fn new(limit: usize) -> Self {
        Frames { buffer: BytesMut::new(), scanned: 0, limit, skipping: None }
    }

    /// The buffer to append to, with room for one read of `waiting` bytes, if that is known to be large.
    pub(in crate::wire) fn room(&mut self, waiting: usize) -> &mut BytesMut {
        if self.buffer.is_empty() && self.buffer.capacity() > KEEP_CAPACITY {
            self.buffer = BytesMut::new();
        }
        if self.buffer.capacity() - self.buffer.len() < waiting.max(READ_SIZE / 4) {
            // A growing line gets room in proportion, so that it is not moved too often.
            self.buffer.reserve(waiting.max(self.buffer.len() / 4).max(READ_SIZE));
        }
        &mut self.buffer
    }

    /// Whether a long line is being read, for which asking for the available size is worth it.
    pub(super) fn is_long(&self) -> bool {
        self.buffer.len() >= READ_SIZE / 2
    }

    /// The incomplete line so far.
    pub(in crate::wire) fn partial(&self) -> &[u8] {
        &self.buffer
    }

    /// The next complete line, without its newline.
    pub(in crate::wire) fn next(&mut self) -> Option<Frame> {
        loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) else {
                return self.no_line_end();
            };
            let line = self.take(self.scanned + at);
            if let Some(mut skipped) = self.skipping.take() {
                skipped.keep_tail(&line);
                return Some(Frame::Oversized { head: skipped.head, tail: skipped.tail });
            }
            // It may have arrived as a whole, with its end.
            if line.len() > self.limit {
                let mut skipped = Skipped { head: head_of(&line), tail: Vec::new() };
                skipped.keep_tail(&line);
                return Some(Frame::Oversized { head: skipped.head, tail: skipped.tail });
            }
            let line = trim(line);
            if !line.is_empty() {
                return Some(Frame::Line(line));
            }
        }
    }

    fn take(&mut self, end: usize) -> Bytes {
        self.scanned = 0;
        let mut line = self.buffer.split_to(end + 1);
        line.truncate(end);
        if end < COPY_BELOW {
            return Bytes::copy_from_slice(&line);
        }
        if self.buffer.is_empty() {
            // The rest of the buffer would keep the long line's allocation alive.
            self.buffer = BytesMut::new();
        }
        line.freeze()
    }

    fn no_line_end(&mut self) -> Option<Frame> {
        if let Some(skipped) = &mut self.skipping {
            skipped.keep_tail(&self.buffer);
            self.buffer.clear();
            self.scanned = 0;
            return None;
        }
        self.scanned = self.buffer.len();
        if self.buffer.len() <= self.limit {
            return None;
        }
        let head = head_of(&self.buffer);
        let mut skipped = Skipped { head: head.clone(), tail: Vec::new() };
        skipped.keep_tail(&self.buffer);
        self.skipping = Some(skipped);
        self.buffer = BytesMut::new();
        self.scanned = 0;
        Some(Frame::Oversized { head, tail: Vec::new() })
    }
}

impl Skipped {
    fn keep_tail(&mut self, more: &[u8]) {
        self.tail.extend_from_slice(&more[more.len().saturating_sub(EDGE)..]);
        let excess = self.tail.len().saturating_sub(EDGE);
        self.tail.drain(..excess);
    }
}

fn head_of(line: &[u8]) -> Vec<u8> {
    line[..EDGE.min(line.len())].to_vec()
}

fn trim(line: Bytes) -> Bytes {
    let trimmed = line.trim_ascii();
    if trimmed.len() == line.len() { line.clone() } else { line.slice_ref(trimmed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(frames: &mut Frames, bytes: &[u8]) -> Vec<String> {
        frames.room(0).extend_from_slice(bytes);
        std::iter::from_fn(|| frames.next())
            .map(|frame| match frame {
                Frame::Line(line) => String::from_utf8(line.to_vec()).unwrap(),
                Frame::Oversized { head, tail } => format!("over {} {}", head.len(), tail.len()),
            })
            .collect()
    }

    #[test]
    fn lines_are_read_with_any_chunks() {
        let mut frames = Frames::new(100);
        assert_eq!(feed(&mut frames, b"one\ntw"), ["one"]);
        assert_eq!(feed(&mut frames, b"o\r\n\n  \nthree"), ["two"]);
        assert_eq!(feed(&mut frames, b"\n"), ["three"]);
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_next_one_is_read() {
        let mut frames = Frames::new(1000);
        assert_eq!(feed(&mut frames, &[b'x'; 1500]), ["over 512 0"]);
        assert!(feed(&mut frames, &[b'x'; 5000]).is_empty());
        assert_eq!(feed(&mut frames, b"end\nnext\n"), ["over 512 512", "next"]);
        assert!(frames.buffer.capacity() < 100_000);
    }

    #[test]
    fn a_line_over_the_limit_that_arrives_whole_is_over_the_limit() {
        let mut frames = Frames::new(1000);
        let line = [&[b'x'; 1001][..], b"\nnext\n"].concat();
        assert_eq!(feed(&mut frames, &line), ["over 512 512", "next"]);
    }

    #[test]
    fn a_long_line_is_not_copied() {
        let mut frames = Frames::new(MEGABYTE * 2);
        let mut text = vec![b'a'; MEGABYTE];
        text.push(b'\n');
        assert_eq!(feed(&mut frames, &text)[0].len(), MEGABYTE);
    }

    const MEGABYTE: usize = 1 << 20;
}
