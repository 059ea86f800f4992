//! Owns which prompts a server is known to have, so that telemetry names no others: anybody can ask for any name.
//! Invariant: the number of names is bounded.

use std::collections::HashSet;
use std::sync::Mutex;

use crate::sync::lock;

/// More names than this are not of low cardinality.
const MAX_NAMES: usize = 1000;

/// Names of prompts that the server has listed or filled in.
#[derive(Default)]
pub(in crate::manager) struct KnownPrompts(Mutex<HashSet<String>>);

impl KnownPrompts {
    pub(in crate::manager) fn add<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut known = lock(&self.0);
        for name in names {
            if known.len() < MAX_NAMES && !known.contains(name) {
                known.insert(name.to_owned());
            }
        }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        lock(&self.0).contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_an_endless_server_are_bounded() {
        let known = KnownPrompts::default();
        let names: Vec<String> = (0..2 * MAX_NAMES).map(|n| n.to_string()).collect();
        known.add(names.iter().map(String::as_str));
        assert!(known.contains("0") && !known.contains("1500"));
    }
}
