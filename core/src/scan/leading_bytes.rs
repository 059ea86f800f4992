//! Owns finding a few rare characters in a long text by their first bytes.
//! Invariant: none of them is missed; outside of the basic multilingual plane, neighbours of a character may be found
//! too.

/// How many bytes are checked together.
const STRIDE: usize = 32;

/// The first three bytes of a set of non-ASCII characters.
pub(crate) struct LeadingBytes {
    /// For each first byte, its index in `seconds`, counted from one.
    firsts: [u8; 256],
    /// For each second byte, a bit set of third bytes. The upper two bits are the same in every continuation byte.
    seconds: Vec<[u64; 64]>,
}

impl LeadingBytes {
    pub(crate) fn new(chars: impl IntoIterator<Item = char>) -> Self {
        let mut set = LeadingBytes { firsts: [0; 256], seconds: Vec::new() };
        for c in chars.into_iter().filter(|c| !c.is_ascii()) {
            let mut bytes = [0; 4];
            let length = c.encode_utf8(&mut bytes).len();
            let first = &mut set.firsts[usize::from(bytes[0])];
            if *first == 0 {
                set.seconds.push([0; 64]);
                *first = set.seconds.len() as u8;
            }
            let thirds = if length == 2 { u64::MAX } else { bit(bytes[2]) };
            set.seconds[usize::from(*first) - 1][low(bytes[1])] |= thirds;
        }
        set
    }

    /// The positions of characters that may be in the set.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = usize> {
        // A first byte never occurs inside a character.
        let bytes = text.as_bytes();
        let mut at = 0;
        std::iter::from_fn(move || {
            while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
                let stride = rest.first_chunk::<STRIDE>().map_or(rest, |stride| stride);
                if stride.iter().fold(0, |any, &byte| any | self.firsts[usize::from(byte)]) == 0 {
                    at += stride.len();
                    continue;
                }
                for _ in 0..stride.len() {
                    at += 1;
                    if self.matches_at(&bytes[at - 1..]) {
                        return Some(at - 1);
                    }
                }
            }
            None
        })
    }

    fn matches_at(&self, bytes: &[u8]) -> bool {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        match self.firsts[usize::from(byte(0))] {
            0 => false,
            first => self.seconds[usize::from(first) - 1][low(byte(1))] & bit(byte(2)) != 0,
        }
    }
}

fn low(byte: u8) -> usize {
    usize::from(byte % 64)
}

fn bit(byte: u8) -> u64 {
    1 << low(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_of_them_is_found_wherever_it_stands() {
        let wanted = ['\u{ad}', '\u{200b}', '\u{e0041}'];
        let set = LeadingBytes::new(wanted);
        for c in wanted {
            for before in 0..20 {
                for other in ["x", "é", "日", "👧"] {
                    let text = format!("{}{c}{other}{c}", other.repeat(before));
                    let found: Vec<_> =
                        set.find(&text).filter(|&at| text[at..].starts_with(c)).collect();
                    let first = other.len() * before;
                    assert_eq!(found, [first, first + c.len_utf8() + other.len()], "{text:?}");
                }
            }
        }
        assert_eq!(set.find("plain, déjà vu").count(), 0);
    }
}
