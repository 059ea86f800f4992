//! Says what a name of an environment variable is: ASCII letters, digits and `_`, not beginning with a digit.

/// How long the name of a variable at the start of `text` is; 0 when there is none.
pub(crate) fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(first) if first.is_ascii_alphabetic() || *first == b'_' => {
            bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
        }
        _ => 0,
    }
}

/// Whether `text` is the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text) == text.len()
}
