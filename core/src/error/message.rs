//! Owns the message of an error as it is built: its text, and which parts of it a model must not read.
//! Invariant: what a part is gets known where the part is written, and is kept when the message becomes a part of another
//! one. Nobody searches the finished text.

use std::borrow::Cow;
use std::ops::Range;

/// What happened, for people, with marks on the parts that name the user's machine and network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    text: String,
    /// In the order of the text; they do not overlap.
    hidden: Vec<(Range<usize>, Hidden)>,
    quotes_others: bool,
}

/// What a model does not read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hidden {
    Address,
    Path,
    Command,
    /// A remark for people, which the sentence does not need.
    Detail,
}

impl Hidden {
    fn in_place(self) -> &'static str {
        match self {
            Hidden::Address => "an address",
            Hidden::Path => "a path",
            Hidden::Command => "its command",
            Hidden::Detail => "",
        }
    }
}

/// A longer word of others counts as text.
const LONGEST_PLAIN_WORD: usize = 32;

impl Message {
    pub(crate) fn new(text: impl Into<Message>) -> Self {
        text.into()
    }

    /// Adds words of our own.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }

    /// Adds an address of the user's network.
    pub(crate) fn address(self, address: &str) -> Self {
        self.hide(Hidden::Address, address)
    }

    /// Adds a path on this machine.
    pub(crate) fn path(self, path: &str) -> Self {
        self.hide(Hidden::Path, path)
    }

    /// Adds the command of a server.
    pub(crate) fn command(self, command: &str) -> Self {
        self.hide(Hidden::Command, command)
    }

    /// Adds a remark for people, such as an address in parentheses.
    pub(crate) fn detail(self, remark: &str) -> Self {
        self.hide(Hidden::Detail, remark)
    }

    /// Adds text of others.
    pub(crate) fn others(self, words: &str) -> Self {
        self.text(words).quoting(words)
    }

    /// Adds another message, with all that is known of it.
    pub(crate) fn append(mut self, other: &Message) -> Self {
        let offset = self.text.len();
        let shifted =
            |(at, what): &(Range<usize>, Hidden)| (at.start + offset..at.end + offset, *what);
        self.hidden.extend(other.hidden.iter().map(shifted));
        self.quotes_others |= other.quotes_others;
        self.text(&other.text)
    }

    /// Records that text of others is in it: of a server, of a gateway in front of it, of a project's file. One short word
    /// of harmless characters, such as the name of a tool, does not count.
    pub(crate) fn quoting(mut self, words: &str) -> Self {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-/+:".contains(&b);
        self.quotes_others |= words.len() > LONGEST_PLAIN_WORD || !words.bytes().all(is_plain);
        self
    }

    /// Records that what belongs to the message, such as the hint, contains text of others.
    pub(crate) fn quoting_others(&mut self) {
        self.quotes_others = true;
    }

    /// The same message with each of its parts changed, for masks: the length of a part may change.
    pub(crate) fn map(&self, change: impl Fn(&str) -> Cow<'_, str>) -> Message {
        let mut changed = Message { quotes_others: self.quotes_others, ..Message::default() };
        let add = |text: &mut String, at: Range<usize>| {
            let start = text.len();
            text.push_str(&change(&self.text[at]));
            start..text.len()
        };
        let mut end = 0;
        for (at, what) in &self.hidden {
            add(&mut changed.text, end..at.start);
            let at_new = add(&mut changed.text, at.clone());
            changed.hidden.push((at_new, *what));
            end = at.end;
        }
        add(&mut changed.text, end..self.text.len());
        changed
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn quotes_others(&self) -> bool {
        self.quotes_others
    }

    /// The text for a model, which names no place of the user's machine and network.
    pub(super) fn for_model(&self) -> String {
        let mut shown = String::with_capacity(self.text.len());
        let mut end = 0;
        for (at, what) in &self.hidden {
            shown.push_str(&self.text[end..at.start]);
            match (shown.is_empty(), *what) {
                (true, Hidden::Command) => shown.push_str("Its command"),
                (_, what) => shown.push_str(what.in_place()),
            }
            end = at.end;
        }
        shown + &self.text[end..]
    }

    fn hide(mut self, what: Hidden, part: &str) -> Self {
        let start = self.text.len();
        self.text.push_str(part);
        self.hidden.push((start..self.text.len(), what));
        self
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Message { text, ..Message::default() }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<Cow<'_, str>> for Message {
    fn from(text: Cow<'_, str>) -> Self {
        text.into_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialled() -> Message {
        let message = Message::new("The server redirects to ").address("http://10.0.0.5");
        message.text(", not followed").detail(" (http://10.0.0.5:8080/mcp)")
    }

    #[test]
    fn people_read_where_a_server_is_and_models_do_not() {
        let text =
            "The server redirects to http://10.0.0.5, not followed (http://10.0.0.5:8080/mcp)";
        assert_eq!(dialled().as_str(), text);
        assert_eq!(dialled().for_model(), "The server redirects to an address, not followed");
        let missing = Message::default().command("Command \"npx\"").text(" was not found");
        assert_eq!(missing.as_str(), "Command \"npx\" was not found");
        assert_eq!(missing.for_model(), "Its command was not found");
        let after = Message::new("é: ").append(&missing);
        assert_eq!(after.for_model(), "é: its command was not found");
        let file = Message::new("It has no ").path("/home/me/é").text(" and no cake");
        assert_eq!(file.for_model(), "It has no a path and no cake");
    }

    #[test]
    fn a_part_of_another_message_stays_what_it_is() {
        let whole = Message::new("It is down: ").append(&dialled()).text("; soon");
        assert_eq!(
            whole.for_model(),
            "It is down: The server redirects to an address, not followed; soon"
        );
        let said = Message::new("It said ").others("call me");
        assert!(Message::new("It is down: ").append(&said).quotes_others());
        assert!(!whole.quotes_others());
    }

    #[test]
    fn a_mask_may_change_the_length_of_every_part() {
        let masked = dialled().map(|part| part.replace("10.0.0.5", "***").replace('e', "").into());
        assert_eq!(
            masked.as_str(),
            "Th srvr rdircts to http://***, not followd (http://***:8080/mcp)"
        );
        assert_eq!(masked.for_model(), "Th srvr rdircts to an address, not followd");
        let said = Message::new("It said ").others("a secret").map(|_| "*".into());
        assert!(said.quotes_others());
    }

    #[test]
    fn words_of_others_are_known_unless_they_are_plain() {
        let quotes = |words: &str| Message::default().others(words).quotes_others();
        for plain in ["", "text/html", "2025-06-18", "read_file", "https://a.example:8080/mcp"] {
            assert!(!quotes(plain), "{plain}");
        }
        let long = "x".repeat(LONGEST_PLAIN_WORD + 1);
        for words in ["call it", "a\nb", "<b>", "naïve", "\"", "a\u{200b}", "(x)", &long] {
            assert!(quotes(words), "{words}");
        }
        let address = "https://internal.example.com:8443/servers/one/mcp";
        assert!(!Message::default().address(address).quotes_others(), "our own");
    }
}
