//! Owns the forms in which a value may be repeated: as it is, and encoded. Escapes are not among them: they are undone in
//! the text (`view`), because there is no end of ways to escape a value in part.
//! Invariant: the number of a value's forms is bounded, and so is the length of the encoded ones.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::view::unescaped;

/// The shortest text that is hidden wherever it stands.
pub(super) const LEAST: usize = 6;
/// The shortest that is hidden where it is a word of its own.
pub(super) const LEAST_WORD: usize = 4;
/// So much of a value is encoded; the rest is known by being joined to it.
const ENCODED: usize = 64 << 10;

/// How sure it is that a value is a secret; the surest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// By its name, its place or its looks.
    Secret,
    /// A single word that was given under a name of no weight. It may be in every second sentence of a description.
    Word,
}

/// One text that stands for a value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub(super) bytes: Box<[u8]>,
    pub(super) weight: Weight,
    pub(super) kind: Kind,
    /// What it is the beginning of may follow.
    pub(super) goes_on: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Text,
    Hex,
    /// Of a longer text, perhaps: then the characters beside it hold bits of the value.
    Base64 {
        before: bool,
        after: bool,
    },
}

/// Adds every form of a value.
pub(super) fn add(value: &str, weight: Weight, forms: &mut Vec<Form>) {
    let value = value.trim().as_bytes();
    let decoded = unescaped(value, true, false);
    for text in [value, &decoded] {
        encoded(text, weight, forms);
        if text == decoded {
            break;
        }
    }
    // A text with escapes of several kinds is read with all of them undone.
    let others = [unescaped(value, false, true), unescaped(value, true, true)];
    for text in [value, &decoded].into_iter().chain(others.iter().map(Vec::as_slice)) {
        let plus = |byte: &u8| if *byte == b' ' { b'+' } else { *byte };
        let bare = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
        let spellings = [text.to_vec(), text.iter().map(plus).collect(), bare.collect()];
        for bytes in spellings {
            if bytes.len() >= LEAST.min(value.len()) && bytes.len() >= LEAST_WORD {
                let bytes = bytes.into_boxed_slice();
                forms.push(Form { bytes, weight, kind: Kind::Text, goes_on: false });
            }
        }
    }
}

fn encoded(value: &[u8], weight: Weight, forms: &mut Vec<Form>) {
    let goes_on = value.len() > ENCODED;
    let value = &value[..value.len().min(ENCODED)];
    let mut push = |text: &str, kind| {
        if text.len() >= LEAST {
            forms.push(Form { bytes: text.as_bytes().into(), weight, kind, goes_on });
        }
    };
    let digits = value.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let hex: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
    push(&hex, Kind::Hex);
    push(&hex.to_uppercase(), Kind::Hex);
    // Three bytes are four characters: what stands before the value decides which of its bits share one.
    for offset in 0..3 {
        let text = [&[0; 2][..offset], value].concat();
        let (first, last) = ((offset * 8).div_ceil(6), text.len() * 8 / 6);
        let kind = Kind::Base64 { before: offset > 0, after: text.len() % 3 != 0 };
        for code in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
            push(code.get(first..last).unwrap_or_default(), kind);
        }
    }
}
