//! Owns the forms in which a server may repeat a value: as it is, and encoded. Escapes are not among them: a value can
//! be escaped in part in countless ways, so `view` unescapes the text instead.
//! Invariant: the number of a value's forms and the length of its encoded forms are bounded.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::view::unescaped;

/// The shortest text that is hidden anywhere.
pub(super) const MIN_LENGTH: usize = 6;
/// The shortest text that is hidden as a whole word.
pub(super) const MIN_WORD_LENGTH: usize = 4;
/// Only this much of a value is encoded; what follows in the same run of characters is hidden too.
const MAX_ENCODED: usize = 64 << 10;

/// How certain it is that a value is secret; the most certain first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// Secret by its name, its position or its looks.
    Secret,
    /// A single word under a name that is not secret. It may be common in descriptions.
    Word,
}

/// One text that represents a value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub(super) bytes: Box<[u8]>,
    pub(super) certainty: Certainty,
    pub(super) encoding: Encoding,
    /// The form is only the beginning of the value.
    pub(super) is_prefix: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Encoding {
    Text,
    Hex,
    /// Perhaps inside a longer base64 text: the adjacent characters then hold bits of the value.
    Base64 {
        before: bool,
        after: bool,
    },
}

/// Adds every form of a value.
pub(super) fn add(value: &str, certainty: Certainty, forms: &mut Vec<Form>) {
    let value = value.trim().as_bytes();
    let decoded = unescaped(value, true, false);
    for text in [value, &decoded] {
        encoded(text, certainty, forms);
        if text == decoded {
            break;
        }
    }
    // The view that finds this form has all kinds of escapes removed, so the value needs the same.
    let others = [unescaped(value, false, true), unescaped(value, true, true)];
    for text in [value, &decoded].into_iter().chain(others.iter().map(Vec::as_slice)) {
        let plus = |byte: &u8| if *byte == b' ' { b'+' } else { *byte };
        let bare = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
        let spellings = [text.to_vec(), text.iter().map(plus).collect(), bare.collect()];
        for bytes in spellings {
            if bytes.len() >= MIN_LENGTH.min(value.len()) && bytes.len() >= MIN_WORD_LENGTH {
                let bytes = bytes.into_boxed_slice();
                forms.push(Form { bytes, certainty, encoding: Encoding::Text, is_prefix: false });
            }
        }
    }
}

fn encoded(value: &[u8], certainty: Certainty, forms: &mut Vec<Form>) {
    let is_prefix = value.len() > MAX_ENCODED;
    let value = &value[..value.len().min(MAX_ENCODED)];
    let mut push = |text: &str, encoding| {
        if text.len() >= MIN_LENGTH {
            forms.push(Form { bytes: text.as_bytes().into(), certainty, encoding, is_prefix });
        }
    };
    let digits = value.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let hex: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
    push(&hex, Encoding::Hex);
    push(&hex.to_uppercase(), Encoding::Hex);
    // Three bytes become four characters, so the encoding depends on the offset of the value.
    for offset in 0..3 {
        let text = [&[0; 2][..offset], value].concat();
        let (first, last) = ((offset * 8).div_ceil(6), text.len() * 8 / 6);
        let encoding = Encoding::Base64 { before: offset > 0, after: text.len() % 3 != 0 };
        for code in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
            push(code.get(first..last).unwrap_or_default(), encoding);
        }
    }
}
