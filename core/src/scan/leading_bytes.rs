//! Owns finding a few rare characters in a long text, by their first bytes.
//! Invariant: none of them is passed over; what is found may also be a neighbour of theirs beyond the first plane.

/// So many bytes are looked at together.
const STRIDE: usize = 32;

/// The first three bytes of some characters that are not ASCII.
pub(crate) struct Beginnings {
    /// For each first byte its place in `seconds`, counted from one.
    firsts: [u8; 256],
    /// For each second byte the third ones, a bit each. The upper two bits of both are the same in every character.
    seconds: Vec<[u64; 64]>,
}

impl Beginnings {
    pub(crate) fn of(chars: impl IntoIterator<Item = char>) -> Self {
        let mut set = Beginnings { firsts: [0; 256], seconds: Vec::new() };
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

    /// Where a character begins that may be one of them.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = usize> {
        // Inside a character no first byte occurs.
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
                    if self.begins(&bytes[at - 1..]) {
                        return Some(at - 1);
                    }
                }
            }
            None
        })
    }

    fn begins(&self, bytes: &[u8]) -> bool {
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
        let set = Beginnings::of(wanted);
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
