//! Owns the commands in hints that people paste into a shell. Names, paths and URLs in them may come from a hostile
//! project.
//! Invariant: a pasted command has exactly the intended words, on one line.

use std::borrow::Cow;

/// Quotes one word. Characters that cannot be pasted, such as line ends, are removed.
pub(crate) fn quote(word: &str) -> String {
    let tame: String = word
        .chars()
        .map(|c| if is_unpasteable(c) { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if cfg!(windows) {
        return quote_on_windows(&tame);
    }
    // Only NUL is refused, and it was removed above.
    shlex::try_quote(&tame).map_or_else(|_| "''".to_owned(), Cow::into_owned)
}

/// Quotes one word for `cmd.exe` and PowerShell alike. What one of them interprets between quotes is removed.
fn quote_on_windows(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.+/\\:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let is_interpreted = |c| matches!(c, '"' | '%' | '!' | '$' | '`' | '\u{201c}'..='\u{201e}');
    let tame = word.replace(is_interpreted, "\u{fffd}");
    // A program takes a backslash before the last quote for its escape.
    let slashes = tame.len() - tame.trim_end_matches('\\').len();
    format!("\"{tame}{}\"", "\\".repeat(slashes))
}

#[cfg(any(feature = "cli", test))]
/// Quotes a command with its arguments.
pub(crate) fn join<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Quotes a path so that no program takes it for an option.
pub(crate) fn path(path: &str) -> String {
    if is_option(path) { quote(&format!("./{path}")) } else { quote(path) }
}

/// `mcpool VERB NAME OPTIONS`; the options are quoted already.
pub(crate) fn mcpool(verb: &str, name: &str, options: &str) -> String {
    let quoted = quote(name);
    let words = match is_option(name) {
        true => ["mcpool", verb, options, "--", &quoted],
        false => ["mcpool", verb, &quoted, options, ""],
    };
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Whether a program would take the word for an option.
pub(crate) fn is_option(word: &str) -> bool {
    word.starts_with('-')
}

/// Whether a character ends the line, or makes a terminal display another text.
fn is_unpasteable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &[&str] = &[
        "'; touch /tmp/x; '",
        "$(id)",
        "`id`",
        "\"$(id)\"",
        "a b",
        "a\\'b",
        "~/x",
        "A=b",
        "!!",
        "^a^b",
        "*",
        "#",
        "{a,b}",
        "",
        "-rf",
        "--all",
        "https://h/?a=1&b=';id;'",
    ];

    #[test]
    fn a_word_stays_one_word() {
        for word in HOSTILE {
            assert_eq!(shlex::split(&quote(word)).unwrap(), [*word]);
        }
        let all = join(HOSTILE.iter().copied());
        assert_eq!(shlex::split(&all).unwrap(), HOSTILE);
        assert_eq!(quote("plain-word_1.json"), "plain-word_1.json");
    }

    #[test]
    fn a_word_stays_one_word_on_windows() {
        let quoted = quote_on_windows;
        assert_eq!(quoted("C:\\bin\\npx.cmd"), "C:\\bin\\npx.cmd");
        assert_eq!(quoted("a b\\"), "\"a b\\\\\"");
        assert_eq!(quoted(""), "\"\"");
        for hostile in
            ["a & calc", "a|b>c", "%PATH%", "$(calc)", "`calc`", "\" & calc", "\u{201d}; calc"]
        {
            let quoted = quoted(hostile);
            let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap();
            assert!(!inner.contains(['"', '%', '$', '`', '\u{201d}']), "{quoted}");
        }
    }

    #[test]
    fn terminal_control_characters_are_not_pasted() {
        for word in ["a\nid\n", "a\rid", "a\0b", "a\u{1b}[201~id", "a\u{202e}b", "a\u{9b}b"] {
            let quoted = quote(word);
            assert!(!quoted.chars().any(is_unpasteable), "{quoted:?}");
            assert_eq!(shlex::split(&quoted).unwrap().len(), 1, "{quoted:?}");
        }
    }

    #[test]
    fn paths_and_names_are_not_taken_for_options() {
        assert_eq!(path("-rf"), "./-rf");
        assert_eq!(path("/a b"), "'/a b'");
        assert_eq!(mcpool("test", "n", "--config x"), "mcpool test n --config x");
        assert_eq!(mcpool("test", "--all", "--config x"), "mcpool test --config x -- --all");
        assert_eq!(mcpool("enable", "-n", ""), "mcpool enable -- -n");
        for name in HOSTILE {
            let words = shlex::split(&mcpool("enable", name, "")).unwrap();
            assert_eq!(words.last().unwrap(), name);
            assert_eq!(words.len(), 3 + usize::from(is_option(name)));
        }
    }
}
