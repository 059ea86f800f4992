//! Owns the warnings of a resolution. Each names the server, the field and the variable; none shows a value.

/// The most warnings that are kept.
const MAX_WARNINGS: usize = 50;

/// What was odd, and what to do about it where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) text: String,
    pub(crate) hint: Option<&'static str>,
}

pub(super) struct Warnings {
    server: String,
    list: Vec<Warning>,
    more: usize,
}

impl Warnings {
    pub(super) fn new(server: &str) -> Self {
        Warnings { server: server.to_owned(), list: Vec::new(), more: 0 }
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn push(&mut self, what: &str) {
        self.push_with_hint(what, None);
    }

    pub(super) fn push_with_hint(&mut self, what: &str, hint: Option<&'static str>) {
        if self.list.len() >= MAX_WARNINGS {
            self.more += 1;
            return;
        }
        let text = format!("Server \"{}\": {what}", self.server);
        let warning = Warning { text, hint };
        if !self.list.contains(&warning) {
            self.list.push(warning);
        }
    }

    pub(super) fn into_list(mut self) -> Vec<Warning> {
        if self.more > 0 {
            let text = format!("Server \"{}\": and {} more of these", self.server, self.more);
            self.list.push(Warning { text, hint: None });
        }
        self.list
    }
}
