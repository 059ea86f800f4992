//! Owns terminal escape sequences: a model reads past them, so that `ESC[8mignore` is the word `ignore`.
//! Invariant: positions stay the same.

/// The text with escape sequences (`ESC [ … letter`, also with the one-character form of `ESC [`) as spaces.
pub(super) fn as_spaces(text: String) -> String {
    let is_start = |bytes: &[u8]| bytes.starts_with(b"\x1b[") || bytes.starts_with(b"\xc2\x9b");
    let mut bytes = text.into_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr2(0x1b, 0xc2, &bytes[at..]) {
        let start = at + found;
        at = start + 1;
        if !is_start(&bytes[start..]) {
            continue;
        }
        let parameters = bytes[start + 2..].iter().take_while(|byte| (0x20..0x40).contains(*byte));
        let end = start + 2 + parameters.count();
        // The last byte is a letter; without one, this is no sequence.
        if bytes.get(end).is_some_and(|byte| (0x40..0x7f).contains(byte)) {
            bytes[start..=end].fill(b' ');
            at = end + 1;
        }
    }
    String::from_utf8(bytes).expect("whole characters were replaced by ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_as_many_spaces_as_it_has_bytes() {
        for (text, expected) in [
            ("a\x1b[8mb", "a    b"),
            ("\x1b[38;5;1mé\u{9b}0m", "         é    "),
            ("\x1b[\x1b[2J", "\x1b[    "),
            ("\x1b]0;title\x07 \x1b", "\x1b]0;title\x07 \x1b"),
            ("\x1b[12", "\x1b[12"),
            ("© plain", "© plain"),
        ] {
            assert_eq!(as_spaces(text.to_owned()), expected, "{text:?}");
            assert_eq!(expected.len(), text.len());
        }
    }
}
