//! Owns the memory of a server's stderr: its last lines, within bounds, fit for an error message.

use std::collections::VecDeque;

use crate::redact::Mask;

/// Stands between a message and the last lines of stderr.
pub(crate) const BEFORE_LAST_WORDS: &str = "; stderr:\n";
const LINES: usize = 64;
const BYTES: usize = 16 << 10;

pub(super) struct Tail {
    mask: Mask,
    lines: VecDeque<Vec<u8>>,
    partial: Vec<u8>,
    bytes: usize,
}

impl Tail {
    pub(super) fn new(mask: Mask) -> Self {
        Tail { mask, lines: VecDeque::new(), partial: Vec::new(), bytes: 0 }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            self.partial.extend_from_slice(piece);
            let excess = self.partial.len().saturating_sub(BYTES);
            self.partial.drain(..excess);
            if piece.ends_with(b"\n") {
                self.finish_line();
            }
        }
    }

    fn finish_line(&mut self) {
        let line = std::mem::take(&mut self.partial);
        let line = line.trim_ascii_end().to_vec();
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > LINES || self.bytes > BYTES {
            self.bytes -= self.lines.pop_front().map_or(0, |line| line.len());
        }
    }

    /// `message`, and behind it the lines.
    pub(super) fn quote_after(&self, message: String) -> String {
        let mut text = message;
        let partial = (!self.partial.is_empty()).then_some(&self.partial);
        let mut before = BEFORE_LAST_WORDS;
        for line in self.lines.iter().chain(partial) {
            text.push_str(before);
            // Lines that are too long have lost their beginning, and the last one may go on.
            text.push_str(&self.mask.fragment(&String::from_utf8_lossy(line)));
            before = "\n";
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_within_bounds() {
        let mut tail = Tail::new(Mask::default());
        for number in 0..1000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        let text = tail.quote_after("gone".into());
        assert!(
            text.starts_with("gone; stderr:\nline 936\n") && text.ends_with("line 999"),
            "{text}"
        );
    }

    #[test]
    fn an_endless_line_is_bounded() {
        let mut tail = Tail::new(Mask::default());
        for _ in 0..1000 {
            tail.push(&[b'x'; 4096]);
        }
        assert!(tail.quote_after(String::new()).len() < 2 * BYTES);
    }
}
