//! Owns legal names for other products' servers: an illegal name is replaced.
//! Invariant: the same document gives the same names, and a legal name is never changed.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use crate::config::check_name;

const MAX_LENGTH: usize = 100;

/// The name of each server of a document, in order; legal names stay as written.
pub(crate) fn legal_names(written: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> =
        written.iter().filter(|name| check_name(name).is_ok()).map(|&name| name.into()).collect();
    // Continues counting per name, so that a thousand equal names do not take a million attempts.
    let mut counts: HashMap<String, usize> = HashMap::new();
    let name = |&written: &&str| {
        if check_name(written).is_ok() {
            return written.to_owned();
        }
        let plain = legal_name(written);
        let count = counts.entry(plain.clone()).or_insert(1);
        loop {
            let suffix = if *count == 1 { String::new() } else { format!("-{count}") };
            let name = format!("{}{suffix}", &plain[..plain.len().min(MAX_LENGTH - suffix.len())]);
            *count += 1;
            if taken.insert(name.clone()) {
                return name;
            }
        }
    };
    written.iter().map(name).collect()
}

/// The part of a name that appears in tool names: servers that share it can be confused.
pub(super) fn confusable_part(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// Replaces each run of illegal characters by `-`.
fn legal_name(written: &str) -> String {
    let mut name = String::with_capacity(written.len().min(MAX_LENGTH));
    for c in written.chars() {
        let c = if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
        if c != '-' || !(name.is_empty() || name.ends_with('-')) {
            name.push(c);
        }
    }
    name.truncate(MAX_LENGTH);
    name.truncate(name.trim_end_matches('-').len());
    if name.is_empty() {
        // Two names without a legal character must stay different.
        let hash = format!("{:x}", Sha256::digest(written));
        return format!("server-{}", &hash[..8]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_illegal_name_becomes_a_legal_one() {
        let names = legal_names(&["@scope/name", "Brave Search", "a/b", "plain_1.0-x", "--"]);
        assert_eq!(names, ["scope-name", "Brave-Search", "a-b", "plain_1.0-x", "--"]);
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        assert_eq!(legal_names(&["a b", "a/b", "a-b"]), ["a-b-2", "a-b-3", "a-b"]);
    }

    #[test]
    fn names_without_a_usable_character_stay_apart() {
        let names = legal_names(&["日本", "中国", ""]);
        assert!(names.iter().all(|name| name.starts_with("server-") && check_name(name).is_ok()));
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 3);
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let (one, other) = ("x y".repeat(80), format!("{}z", "x y".repeat(80)));
        let names = legal_names(&[&one, &other]);
        assert!(names.iter().all(|name| check_name(name).is_ok()), "{names:?}");
        assert_ne!(names[0], names[1]);
    }
}
