//! Owns the memory of what a server prints to stdout in place of messages: the first lines, within bounds, fit for the
//! error of a connect that fails.
//! Invariant: the mask sees all lines at once, since a server may print a secret over several.

use crate::redact::{Cut, Mask};

const LINES: usize = 8;
const BYTES: usize = 2 << 10;

pub(super) struct Printed {
    mask: Mask,
    text: Vec<u8>,
    lines: usize,
}

impl Printed {
    pub(super) fn new(mask: Mask) -> Self {
        Printed { mask, text: Vec::new(), lines: 0 }
    }

    pub(super) fn push(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        if line.is_empty() || self.lines == LINES {
            return;
        }
        if self.lines > 0 {
            self.text.push(b'\n');
        }
        self.lines += 1;
        let room = BYTES.saturating_sub(self.text.len());
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
    use crate::redact::Given;

    #[test]
    fn the_first_lines_are_kept_within_bounds() {
        let mut printed = Printed::new(Mask::default());
        assert_eq!(printed.text(), None);
        printed.push(b"");
        for number in 0..1000 {
            printed.push(format!("line {number}").as_bytes());
        }
        let text = printed.text().unwrap();
        assert!(text.starts_with("line 0\n") && text.ends_with("line 7"), "{text}");
        let mut printed = Printed::new(Mask::default());
        (0..10).for_each(|_| printed.push(&[b'x'; 1 << 20]));
        assert!(printed.text().unwrap().len() < 2 * BYTES);
    }

    #[test]
    fn a_secret_over_lines_or_cut_is_hidden() {
        let mut given = Given::default();
        given.value("correct-horse-battery");
        let mask = given.mask();
        for lines in [["it is correct-ho", "rse-battery"], ["it is", "correct-horse"]] {
            let mut printed = Printed::new(mask.clone());
            lines.iter().for_each(|line| printed.push(line.as_bytes()));
            let text = printed.text().unwrap();
            assert!(text.ends_with("***") && !text.contains("horse"), "{text}");
        }
    }
}
