//! Owns logging a server's stderr line by line, at debug level.
//! Invariant: nothing is kept while nobody wants it, a line never exceeds its limit, and a line that may end inside a
//! secret waits for the next one.

use std::sync::Arc;
use std::time::Duration;

use crate::logs::visible;
use crate::redact::{Cut, Mask};

const TARGET: &str = "mcpool::server::stderr";
const MAX_LINE: usize = 4 << 10;
/// The most bytes of lines that wait.
const MAX_WAITING: usize = 4 << 10;
/// How long lines wait for a server that writes nothing more.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct StderrLog {
    server: Arc<str>,
    lines: Lines,
}

impl StderrLog {
    pub(super) fn new(server: Arc<str>, mask: Mask) -> Self {
        StderrLog { server, lines: Lines::new(mask) }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        if !tracing::enabled!(target: TARGET, tracing::Level::DEBUG) {
            self.lines.clear();
            return;
        }
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            self.lines.push(piece);
            self.log_ready();
        }
    }

    /// Whether lines wait for more text.
    pub(super) fn is_waiting(&self) -> bool {
        self.lines.is_waiting()
    }

    /// Called when nothing came for a while.
    pub(super) fn pause(&mut self) {
        self.lines.release();
        self.log_ready();
    }

    fn log_ready(&mut self) {
        for text in self.lines.ready.drain(..) {
            tracing::debug!(target: TARGET, server = &*self.server, "{text}");
        }
    }
}

impl Drop for StderrLog {
    /// The last line may have no line end.
    fn drop(&mut self) {
        self.lines.finish_line();
        self.pause();
    }
}

/// Splits text into masked lines.
struct Lines {
    mask: Mask,
    line: Vec<u8>,
    /// The line is longer than what is kept of it.
    is_cut: bool,
    /// Whole lines; those before `logged` were logged already.
    text: String,
    logged: usize,
    /// The beginning of `text` was dropped.
    is_start_missing: bool,
    ready: Vec<String>,
}

impl Lines {
    fn new(mask: Mask) -> Self {
        let (line, text, ready) = (Vec::new(), String::new(), Vec::new());
        Lines { mask, line, is_cut: false, text, logged: 0, is_start_missing: false, ready }
    }

    fn clear(&mut self) {
        *self = Lines::new(self.mask.clone());
    }

    fn is_waiting(&self) -> bool {
        self.logged < self.text.len()
    }

    fn push(&mut self, piece: &[u8]) {
        let words = piece.strip_suffix(b"\n").unwrap_or(piece);
        let room = MAX_LINE - self.line.len();
        self.is_cut |= words.len() > room;
        self.line.extend_from_slice(&words[..words.len().min(room)]);
        if words.len() < piece.len() {
            self.finish_line();
        }
    }

    fn finish_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.text += &String::from_utf8_lossy(line.trim_ascii_end());
        let full = self.text.len() - self.logged > MAX_WAITING;
        if std::mem::take(&mut self.is_cut) {
            self.show(true);
            // The text that follows is not contiguous.
            (self.logged, self.is_start_missing) = (0, false);
            self.text.clear();
            return;
        }
        self.text.push('\n');
        if full || self.mask.unfinished_from(&self.text).is_none() {
            self.release();
        }
    }

    /// Logs the waiting lines. A possible beginning of a secret stays as context, so that its end is recognised.
    fn release(&mut self) {
        self.show(false);
        let open = self.mask.unfinished_from(&self.text).unwrap_or(self.text.len());
        let mut from = open.max(self.text.len().saturating_sub(MAX_LINE));
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        self.is_start_missing = from > open || self.is_start_missing && open == 0;
        self.text.drain(..from);
        self.logged = self.text.len();
    }

    fn show(&mut self, is_cut: bool) {
        let cut = Cut { start: self.is_start_missing, end: true };
        let shown = self.mask.part(&self.text, self.logged, cut);
        let shown: Vec<_> = shown.lines().map(visible).filter(|line| !line.is_empty()).collect();
        let last = shown.len().saturating_sub(1);
        for (at, line) in shown.iter().enumerate() {
            let mark = if is_cut && at == last { "…" } else { "" };
            self.ready.push(format!("{line}{mark}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::MaskBuilder;

    fn lines_of(secret: &str, pieces: &[&[u8]]) -> Vec<String> {
        let mut values = MaskBuilder::default();
        values.value(secret);
        let mut lines = Lines::new(values.build());
        for chunk in pieces {
            chunk.split_inclusive(|&byte| byte == b'\n').for_each(|piece| lines.push(piece));
        }
        lines.finish_line();
        lines.release();
        lines.ready
    }

    #[test]
    fn control_characters_in_a_line_are_escaped() {
        assert_eq!(lines_of("", &[b"in ", b"pieces\r\n"]), ["in pieces"]);
        assert_eq!(lines_of("", &[b"\x1b[31mred\xff\n"]), ["\\u{1b}[31mred\u{fffd}"]);
        assert!(lines_of("", &[b"\n"]).is_empty());
    }

    #[test]
    fn an_endless_line_is_cut() {
        let text = lines_of("", &[[b'x'; 3000].as_slice(); 1000]).remove(0);
        assert!(text.len() == MAX_LINE + "…".len() && text.ends_with("x…"), "{}", text.len());
    }

    #[test]
    fn a_secret_that_spans_lines_and_reads_is_hidden() {
        let secret = "correct-horse-battery";
        for pieces in [
            &[b"it is correct-ho\n".as_slice(), b"rse-battery\nbye\n"][..],
            &[b"it is corr", b"ect-ho\r\n  rse-", b"bat\ntery\nbye"],
            &[b"it is co\nrr\nec\nt-\nho\nrs\ne-\nba\ntt\ner\ny\nbye\n"],
        ] {
            assert_eq!(lines_of(secret, pieces), ["it is ***", "bye"]);
        }
        assert_eq!(lines_of(secret, &[b"it is correct-ho\nrse"]), ["it is ***"]);
        assert_eq!(lines_of(secret, &[b"cor\nrabbit\n"]), ["cor", "rabbit"]);
        let cut = [[b'x'; MAX_LINE - 10].as_slice(), secret.as_bytes(), b"\nbye\n"];
        assert!(lines_of(secret, &cut)[0].ends_with("x***…"), "{:?}", lines_of(secret, &cut));
    }

    #[test]
    fn a_line_waits_only_while_a_secret_may_continue() {
        let mut values = MaskBuilder::default();
        values.value("correct-horse-battery");
        let mut lines = Lines::new(values.build());
        lines.push(b"hello\n");
        assert_eq!(std::mem::take(&mut lines.ready), ["hello"]);
        lines.push(b"it is correct-\n");
        assert!(lines.is_waiting() && lines.ready.is_empty());
        // The server pauses, then continues.
        lines.release();
        assert_eq!(std::mem::take(&mut lines.ready), ["it is ***"]);
        lines.push(b"horse-\n");
        lines.release();
        lines.push(b"battery\n");
        lines.push(b"bye\n");
        assert_eq!(lines.ready, ["***", "***", "bye"]);
    }

    /// Records what is logged on this thread.
    #[derive(Clone, Default)]
    struct LogRecorder(Arc<std::sync::Mutex<String>>);

    impl tracing::field::Visit for LogRecorder {
        fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
            *self.0.lock().unwrap() += &format!("{value:?} ");
        }
    }

    impl tracing::Subscriber for LogRecorder {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            metadata.target() == TARGET
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            event.record(&mut self.clone());
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn a_last_line_without_a_line_end_is_logged() {
        let recorder = LogRecorder::default();
        tracing::subscriber::with_default(recorder.clone(), || {
            let mut log = StderrLog::new("s".into(), Mask::default());
            log.push(b"hello\nbye");
            let logged = recorder.0.lock().unwrap().clone();
            assert!(logged.contains("hello") && !logged.contains("bye"), "{logged}");
        });
        let logged = recorder.0.lock().unwrap();
        assert!(logged.contains("bye"), "{logged}");
    }

    #[test]
    fn a_secret_of_many_lines_is_bounded_and_hidden() {
        let secret: String =
            (0..4 * MAX_WAITING).map(|at| char::from(b'a' + (at % 23) as u8)).collect();
        let lines = secret.as_bytes().chunks(60).collect::<Vec<_>>().join(&b'\n');
        let mut shown = lines_of(&secret, &[b"x\n", &lines, b"\nbye\n"]);
        assert_eq!((shown.remove(0), shown.pop()), ("x".to_owned(), Some("bye".to_owned())));
        assert!(shown.len() > 1 && shown.iter().all(|line| line == "***"), "{shown:?}");
    }
}
