//! Guesses which name was meant by one that does not exist.

/// The candidate that `wanted` was most likely meant to be.
pub(crate) fn did_you_mean<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .map(|candidate| (strsim::levenshtein(wanted, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 2 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_find_their_tool() {
        let names = ["read_file", "write_file", "list_directory"];
        assert_eq!(did_you_mean("readfile", names.into_iter()), Some("read_file"));
        assert_eq!(did_you_mean("zzzzzzzzzzzz", names.into_iter()), None);
    }
}
