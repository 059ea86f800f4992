//! Owns escaping foreign text for one line: control characters and line breaks are escaped.

use std::borrow::Cow;

fn is_control(c: char) -> bool {
    c != '\t' && c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes all control characters except tabs.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_control(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("grün\t✓"), "grün\t✓");
        assert_eq!(visible("a\r\n\u{1b}[2J\u{202e}"), "a\\r\\n\\u{1b}[2J\\u{202e}");
    }
}
