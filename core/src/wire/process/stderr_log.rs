//! Owns telling the log what a server writes to stderr, line by line, at debug.
//! Invariant: while nobody wants it nothing is kept, and a line is never longer than its limit.

use std::sync::Arc;

use crate::logs::visible;
use crate::redact::Mask;

const TARGET: &str = "mcpool::server::stderr";
const LIMIT: usize = 4 << 10;

pub(super) struct StderrLog {
    server: Arc<str>,
    mask: Mask,
    line: Line,
}

impl StderrLog {
    pub(super) fn new(server: Arc<str>, mask: Mask) -> Self {
        StderrLog { server, mask, line: Line::default() }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        if !tracing::enabled!(target: TARGET, tracing::Level::DEBUG) {
            self.line = Line::default();
            return;
        }
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            self.line.push(piece);
            if piece.ends_with(b"\n") {
                self.finish_line();
            }
        }
    }

    fn finish_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(text) = line.text(&self.mask) {
            tracing::debug!(target: TARGET, server = &*self.server, "{text}");
        }
    }
}

impl Drop for StderrLog {
    /// The last words may end without a line end.
    fn drop(&mut self) {
        self.finish_line();
    }
}

#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Line {
    fn push(&mut self, piece: &[u8]) {
        let piece = piece.strip_suffix(b"\n").unwrap_or(piece);
        let room = LIMIT - self.bytes.len();
        self.is_cut |= piece.len() > room;
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// Nothing when there is nothing to read.
    fn text(&self, mask: &Mask) -> Option<String> {
        let written = String::from_utf8_lossy(self.bytes.trim_ascii_end());
        let masked = if self.is_cut { mask.fragment(&written).into() } else { mask.text(&written) };
        let shown = visible(&masked);
        let cut = if self.is_cut { "…" } else { "" };
        (!shown.is_empty()).then(|| format!("{shown}{cut}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(pieces: &[&[u8]]) -> Option<String> {
        let mut line = Line::default();
        pieces.iter().for_each(|piece| line.push(piece));
        line.text(&Mask::default())
    }

    #[test]
    fn a_line_is_fit_to_be_read() {
        assert_eq!(text_of(&[b"in ", b"pieces\r\n"]).unwrap(), "in pieces");
        assert_eq!(text_of(&[b"\x1b[31mred\xff\n"]).unwrap(), "\\u{1b}[31mred\u{fffd}");
        assert_eq!(text_of(&[b"\n"]), None);
    }

    #[test]
    fn an_endless_line_is_cut() {
        let text = text_of(&[[b'x'; 3000].as_slice(); 1000]).unwrap();
        assert!(text.len() == LIMIT + "…".len() && text.ends_with("x…"), "{}", text.len());
    }
}
