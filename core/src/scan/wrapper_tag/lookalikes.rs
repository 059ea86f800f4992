//! Owns the lookalikes of the letters of our tag and of the word "system". The test below writes the table from Unicode's confusable characters.

use table::TABLE;

use crate::fork::Computed;

mod table;

/// "system" after [`reading`].
pub(in crate::scan) const SYSTEM_READING: &str = "systern";

/// The letters that a character reads as, if our tag or "system" has them. `m` reads as `rn`, because `rn` reads as `m`.
pub(in crate::scan) fn reading(c: char) -> Option<&'static str> {
    if c.is_ascii() {
        return Some(match c.to_ascii_lowercase() {
            'm' => "rn",
            'r' => "r",
            'n' => "n",
            'c' => "c",
            'p' => "p",
            't' => "t",
            'o' | '0' => "o",
            'l' | '1' | '|' => "l",
            'i' if c == 'I' => "l",
            'u' => "u",
            's' => "s",
            'y' => "y",
            'e' => "e",
            '_' => "_",
            _ => return None,
        });
    }
    static SORTED: Computed<Vec<(u32, &str)>> = Computed::new(|| {
        let mut all: Vec<_> = TABLE
            .iter()
            .flat_map(|(reading, alike)| alike.iter().map(|&c| (c, *reading)))
            .collect();
        all.sort_unstable();
        all
    });
    let at = SORTED.binary_search_by_key(&(c as u32), |&(c, _)| c).ok()?;
    Some(SORTED[at].1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Write;

    use unicode_normalization::UnicodeNormalization;
    use unicode_normalization::char::is_combining_mark;

    use super::super::{ANGLE_LOOKALIKES, NAME_READING, TAG_OPENERS};
    use super::*;

    /// Missing in Unicode's list: small capitals, and lines at the baseline.
    const EXTRA: &[(&str, &str)] = &[
        ("rn", "\u{1d0d}"),
        ("r", "\u{280}"),
        ("n", "\u{274}"),
        ("p", "\u{1d18}"),
        ("t", "\u{1d1b}"),
        ("l", "\u{29f}"),
        ("_", "\u{2cd}\u{331}\u{332}\u{333}\u{2017}\u{2581}"),
    ];

    /// From here on there are only Chinese characters, then only invisible ones.
    const HAN_ONLY: char = '\u{20000}';
    const HEAD: &str = "//! Characters by what they read as, in order. Written by the test of the module above.\n\n\
        #[rustfmt::skip]\npub(super) const TABLE: &[(&str, &[u32])] = &[\n";

    fn skeleton(text: &str) -> String {
        let read = unicode_security::skeleton(text).filter(|&c| !is_combining_mark(c));
        read.collect::<String>().to_ascii_lowercase().replace('m', "rn")
    }

    fn plain(text: &str) -> String {
        text.nfkd().filter(|&c| !is_combining_mark(c)).collect()
    }

    /// The reading of a character by Unicode's data.
    fn confusable(c: char) -> Option<String> {
        let is_ours = |reading: &String| {
            let is_part = |whole: &str| whole.contains(reading.as_str());
            !reading.is_empty() && (is_part(NAME_READING) || is_part(SYSTEM_READING))
        };
        let reading = skeleton(&plain(&c.to_string()));
        if is_ours(&reading) || reading.is_ascii() {
            return Some(reading).filter(is_ours);
        }
        // Or a small letter that looks like one of our capitals.
        let others = [c.to_string(), plain(&c.to_uppercase().to_string())];
        others.iter().map(|text| skeleton(text)).find(is_ours)
    }

    fn table() -> String {
        let mut table: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for c in '\u{80}'..HAN_ONLY {
            let more = EXTRA.iter().find(|(_, alike)| alike.contains(c));
            let reading = more.map(|(reading, _)| (*reading).to_owned()).or_else(|| confusable(c));
            if let Some(reading) = reading {
                table.entry(reading).or_default().push(c as u32);
            }
        }
        let mut text = HEAD.to_owned();
        for (reading, alike) in table {
            writeln!(text, "    ({reading:?}, &[").unwrap();
            for line in alike.chunks(12) {
                let line: Vec<_> = line.iter().map(|code| format!("{code:#x}")).collect();
                writeln!(text, "        {},", line.join(", ")).unwrap();
            }
            text += "    ]),\n";
        }
        text + "];\n"
    }

    #[test]
    fn the_table_is_unicodes() {
        let table = table();
        if std::env::var_os("MCPOOL_WRITE_LOOKALIKES").is_some() {
            let path =
                concat!(env!("CARGO_MANIFEST_DIR"), "/src/scan/wrapper_tag/lookalikes/table.rs");
            std::fs::write(path, &table).unwrap();
            return;
        }
        let shipped = include_str!("lookalikes/table.rs");
        assert!(table == shipped, "write it with MCPOOL_WRITE_LOOKALIKES=1");
    }

    #[test]
    fn all_that_looks_like_the_sign_before_a_tag_is_known() {
        let known = |c: &char| TAG_OPENERS.contains(c) || ANGLE_LOOKALIKES.contains(c);
        let missed: Vec<char> = ('\u{80}'..HAN_ONLY)
            .filter(|c| skeleton(&plain(&c.to_string())) == "<" && !known(c))
            .collect();
        assert!(missed.is_empty(), "{missed:?}");
    }

    #[test]
    fn our_names_read_as_themselves() {
        let read = super::super::TAG.chars().map(|c| reading(c).unwrap()).collect::<String>();
        assert_eq!(read, NAME_READING);
        let read = "System".chars().map(|c| reading(c).unwrap()).collect::<String>();
        assert_eq!(read, SYSTEM_READING);
    }
}
