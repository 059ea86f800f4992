//! Owns guessing which name was meant by one that nobody has.

/// The candidate that `wanted` was most likely meant to be.
pub(crate) fn did_you_mean<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .map(|candidate| (edits(wanted, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 2 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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
