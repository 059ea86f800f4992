//! Owns the last lines of a server's stderr, bounded, for errors.
//! Invariant: the mask sees all lines at once, since a secret may span several.

use std::collections::VecDeque;

use crate::redact::{Cut, Mask};

const MAX_LINES: usize = 64;
const MAX_BYTES: usize = 16 << 10;

pub(super) struct StderrTail {
    mask: Mask,
    lines: VecDeque<Vec<u8>>,
    partial: Vec<u8>,
    bytes: usize,
    /// Earlier text was dropped.
    is_cut: bool,
}

impl StderrTail {
    pub(super) fn new(mask: Mask) -> Self {
        StderrTail { mask, lines: VecDeque::new(), partial: Vec::new(), bytes: 0, is_cut: false }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            self.partial.extend_from_slice(piece);
            let excess = self.partial.len().saturating_sub(MAX_BYTES);
            if excess > 0 {
                self.partial.drain(..excess);
                // Text may be missing only at the beginning.
                self.lines.clear();
                (self.bytes, self.is_cut) = (0, true);
            }
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
        while self.lines.len() > MAX_LINES || self.bytes > MAX_BYTES {
            self.bytes -= self.lines.pop_front().map_or(0, |line| line.len());
            self.is_cut = true;
        }
    }

    /// The lines, masked; none if nothing was written.
    pub(super) fn text(&self) -> Option<String> {
        let partial = (!self.partial.is_empty()).then_some(&self.partial);
        let lines: Vec<_> = self.lines.iter().chain(partial).map(Vec::as_slice).collect();
        if lines.is_empty() {
            return None;
        }
        let text = lines.join(&b'\n');
        // The last line may be incomplete.
        let cut = Cut { start: self.is_cut, end: true };
        Some(self.mask.part(&String::from_utf8_lossy(&text), 0, cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::MaskBuilder;

    #[test]
    fn the_last_lines_are_kept_within_bounds() {
        let mut tail = StderrTail::new(Mask::default());
        for number in 0..1000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        let text = tail.text().unwrap();
        assert!(text.starts_with("line 936\n") && text.ends_with("line 999"), "{text}");
    }

    #[test]
    fn an_endless_line_is_bounded() {
        let mut tail = StderrTail::new(Mask::default());
        for _ in 0..1000 {
            tail.push(&[b'x'; 4096]);
        }
        assert!(tail.text().unwrap().len() < 2 * MAX_BYTES);
    }

    fn output_of(secret: &str, chunks: &[&[u8]]) -> String {
        let mut values = MaskBuilder::default();
        values.value(secret);
        let mut tail = StderrTail::new(values.build());
        chunks.iter().for_each(|chunk| tail.push(chunk));
        tail.text().unwrap()
    }

    #[test]
    fn a_secret_that_spans_lines_and_reads_is_hidden() {
        let secret = "correct-horse-battery";
        for chunks in [
            &[b"it is correct-ho\n".as_slice(), b"rse-battery\nbye\n"][..],
            &[b"it is corr", b"ect-ho\r\n  rse-", b"bat\ntery\nbye"],
            &[b"it is co\nrr\nec\nt-\nho\nrs\ne-\nba\ntt\ner\ny\nbye\n"],
        ] {
            assert_eq!(output_of(secret, chunks), "it is ***\nbye");
        }
        assert_eq!(output_of(secret, &[b"it is correct-ho\nrse-"]), "it is ***");
    }

    #[test]
    fn the_rest_of_a_secret_is_hidden_when_its_beginning_was_dropped() {
        let secret: String =
            (0..4 * MAX_BYTES).map(|at| char::from(b'a' + (at % 23) as u8)).collect();
        let lines = secret.as_bytes().chunks(60).collect::<Vec<_>>().join(&b'\n');
        assert_eq!(output_of(&secret, &[&lines[..3 * MAX_BYTES]]), "***");
        assert_eq!(output_of(&secret, &[&lines, b"\nbye"]), "***\nbye");
        assert_eq!(output_of(&secret, &[b"x\n", secret.as_bytes(), b" bye"]), "*** bye");
    }
}
