//! Owns the warnings of a resolution. Each names the server, the field and the variable; none shows a value.

/// The most warnings that are kept.
const MAX_WARNINGS: usize = 50;

pub(super) struct Warnings {
    server: String,
    lines: Vec<String>,
    more: usize,
}

impl Warnings {
    pub(super) fn new(server: &str) -> Self {
        Warnings { server: server.to_owned(), lines: Vec::new(), more: 0 }
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn push(&mut self, what: &str) {
        if self.lines.len() >= MAX_WARNINGS {
            self.more += 1;
            return;
        }
        let line = format!("Server \"{}\": {what}", self.server);
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    pub(super) fn into_lines(mut self) -> Vec<String> {
        if self.more > 0 {
            self.lines.push(format!("Server \"{}\": and {} more of these", self.server, self.more));
        }
        self.lines
    }
}
