//! Guesses which name was meant by one that does not exist. Every "did you mean" asks here.
//! Invariant: what two names share as whole words (`mcp_server_…`, `…_file`) does not make them similar, and a name that
//! is too short to be recognised suggests nothing.

use std::cmp::Reverse;

/// Longer names are compared with none: the work must stay small whatever a server or a model sends.
const MAX_LENGTH: usize = 200;
/// A beginning that fits more names than this says nothing about which one was meant.
const MAX_COMPLETIONS: usize = 3;

/// The candidate that `wanted` was most likely meant to be.
pub(crate) fn did_you_mean<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    most_similar(wanted, candidates.map(|candidate| (candidate, candidate)))
}

/// The value whose name `wanted` was most likely meant to be. A value may have several names.
pub(crate) fn most_similar<'a, T: Ord>(
    wanted: &str,
    candidates: impl Iterator<Item = (&'a str, T)>,
) -> Option<T> {
    let wanted = Name::new(wanted)?;
    let (mut misspelt, mut completions) = (Vec::new(), Vec::new());
    for (name, value) in candidates {
        let Some(candidate) = Name::new(name) else { continue };
        let completes = candidate.completes(&wanted);
        match wanted.mistakes_in(&candidate) {
            Some(mistakes) => misspelt.push((mistakes, Reverse(completes), name.len(), value)),
            None if completes => completions.push((1, Reverse(true), name.len(), value)),
            None => {}
        }
    }
    if completions.len() > MAX_COMPLETIONS {
        completions.clear();
    }
    misspelt.into_iter().chain(completions).min().map(|(.., value)| value)
}

/// A name as it is compared: its words in lower case, cut at separators and capital letters.
struct Name {
    words: Vec<String>,
}

impl Name {
    fn new(name: &str) -> Option<Name> {
        if name.is_empty() || name.len() > MAX_LENGTH {
            return None;
        }
        let mut words: Vec<String> = Vec::new();
        let mut before = None;
        for c in name.chars() {
            let is_hump = before.is_some_and(char::is_lowercase) && c.is_uppercase();
            if before.is_none_or(|before: char| !before.is_alphanumeric()) || is_hump {
                words.push(String::new());
            }
            if c.is_alphanumeric()
                && let Some(word) = words.last_mut()
            {
                word.extend(c.to_lowercase());
            }
            before = Some(c);
        }
        words.retain(|word| !word.is_empty());
        Some(Name { words })
    }

    /// Whether `part` is the beginning of this name, or its last words, and long enough to mean it.
    fn completes(&self, part: &Name) -> bool {
        const LEAST: usize = 2;
        let letters = part.words.concat();
        let is_end = !part.words.is_empty() && self.words.ends_with(&part.words);
        letters.chars().count() >= LEAST && (is_end || self.words.concat().starts_with(&letters))
    }

    /// How many typing mistakes this name is away from `other`; none if too many for their length.
    fn mistakes_in(&self, other: &Name) -> Option<usize> {
        if self.words.concat() == other.words.concat() {
            return (!self.words.is_empty()).then_some(0);
        }
        let sorted = |words: &[String]| {
            let mut words = words.to_vec();
            words.sort();
            words
        };
        if sorted(&self.words) == sorted(&other.words) {
            return Some(1);
        }
        let (mine, others) = without_shared_words(&self.words, &other.words);
        let (mine, others) = (mine.join("_"), others.join("_"));
        let length = mine.chars().count().max(others.chars().count());
        let allowed = match length {
            // So short that one mistake is a third of it: at least the beginning must be right.
            3 if mine.chars().next() == others.chars().next() => 1,
            0..4 => 0,
            _ => (length / 3).min(3),
        };
        let mistakes = strsim::osa_distance(&mine, &others);
        (mistakes <= allowed).then_some(mistakes)
    }
}

/// Both lists of words without those that they begin and end with alike.
fn without_shared_words<'a>(
    mut a: &'a [String],
    mut b: &'a [String],
) -> (&'a [String], &'a [String]) {
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b)
        && first == other
    {
        (a, b) = (rest, others);
    }
    while let ([rest @ .., last], [others @ .., other]) = (a, b)
        && last == other
    {
        (a, b) = (rest, others);
    }
    (a, b)
}

#[cfg(test)]
mod tests;
