//! Owns the first lines that a server prints to stdout instead of messages, bounded, for the error of a failed connect.
//! Invariant: the mask sees all lines at once, since a secret may span several.

use crate::redact::{Cut, Mask};

const MAX_LINES: usize = 8;
const MAX_BYTES: usize = 2 << 10;

pub(super) struct StrayOutput {
    mask: Mask,
    text: Vec<u8>,
    lines: usize,
}

impl StrayOutput {
    pub(super) fn new(mask: Mask) -> Self {
        StrayOutput { mask, text: Vec::new(), lines: 0 }
    }

    pub(super) fn push(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        if line.is_empty() || self.lines == MAX_LINES {
            return;
        }
        if self.lines > 0 {
            self.text.push(b'\n');
        }
        self.lines += 1;
        let room = MAX_BYTES.saturating_sub(self.text.len());
        self.text.extend_from_slice(&line[..line.len().min(room)]);
    }

    /// The lines, masked; none if nothing was printed.
    pub(super) fn text(&self) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        let cut = Cut { start: false, end: true };
        Some(self.mask.part(&String::from_utf8_lossy(&self.text), 0, cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::MaskBuilder;

    #[test]
    fn the_first_lines_are_kept_within_bounds() {
        let mut printed = StrayOutput::new(Mask::default());
        assert_eq!(printed.text(), None);
        printed.push(b"");
        for number in 0..1000 {
            printed.push(format!("line {number}").as_bytes());
        }
        let text = printed.text().unwrap();
        assert!(text.starts_with("line 0\n") && text.ends_with("line 7"), "{text}");
        let mut printed = StrayOutput::new(Mask::default());
        (0..10).for_each(|_| printed.push(&[b'x'; 1 << 20]));
        assert!(printed.text().unwrap().len() < 2 * MAX_BYTES);
    }

    #[test]
    fn a_secret_that_spans_lines_or_is_cut_is_hidden() {
        let mut values = MaskBuilder::default();
        values.value("correct-horse-battery");
        let mask = values.build();
        for lines in [["it is correct-ho", "rse-battery"], ["it is", "correct-horse"]] {
            let mut printed = StrayOutput::new(mask.clone());
            lines.iter().for_each(|line| printed.push(line.as_bytes()));
            let text = printed.text().unwrap();
            assert!(text.ends_with("***") && !text.contains("horse"), "{text}");
        }
    }
}
