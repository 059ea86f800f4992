//! Owns what a search term is: a word in lower case without its ending. Identifiers count as a whole and in parts, text
//! without spaces counts in pairs of characters, and stop words do not count.

/// The length at which a word is cut.
const LONGEST: usize = 40;
/// How much of a run without spaces is read: no identifier or sentence is longer.
const LONGEST_RUN: usize = 2000;
/// The shortest stem of a word.
const SHORTEST_STEM: usize = 3;

#[rustfmt::skip]
const IN_EVERY_SENTENCE: &[&str] = &[
    "a", "about", "above", "after", "also", "always", "am", "an", "and", "another", "any", "anything", "are", "as",
    "at", "be", "because", "been", "before", "between", "both", "but", "by", "can", "could", "did", "do", "does",
    "during", "each", "etc", "ever", "everything", "for", "from", "give", "had", "has", "have", "he", "her", "here",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "lot", "many", "may",
    "me", "might", "more", "most", "much", "must", "my", "need", "never", "no", "not", "of", "on", "one", "only",
    "or", "other", "our", "out", "over", "own", "please", "really", "same", "she", "should", "so", "some",
    "somebody", "someone", "something", "still", "such", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "thing", "things", "this", "those", "through", "to", "too", "up", "us", "use", "used", "using",
    "very", "via", "want", "wants", "was", "we", "were", "what", "where", "while", "will", "with", "would", "yet",
    "you", "your",
];

/// Endings of a word, and how much of each is kept.
const ENDINGS: &[(&str, usize)] = &[
    ("ication", 1),
    ("ation", 0),
    ("ating", 0),
    ("ated", 0),
    ("ator", 0),
    ("ate", 0),
    ("ing", 0),
    ("ion", 0),
    ("er", 0),
    ("or", 0),
    ("ed", 0),
    ("ment", 0),
    ("ly", 0),
];

/// The terms of a text, in order, with repetitions.
pub(super) fn terms(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()).flat_map(of_run)
}

/// An unbroken run of letters and digits: one word, an identifier of several, or a sentence without spaces.
fn of_run(run: &str) -> Vec<String> {
    let end = run.char_indices().nth(LONGEST_RUN).map_or(run.len(), |(at, _)| at);
    let run = &run[..end];
    if run.chars().any(is_unspaced) {
        return pairs(run);
    }
    let mut found: Vec<String> = term(run).into_iter().collect();
    let parts = parts(run);
    if parts.len() > 1 {
        let long = parts.into_iter().filter(|part| part.chars().nth(1).is_some());
        found.extend(long.filter_map(term));
    }
    found
}

fn term(word: &str) -> Option<String> {
    let word: String = word.chars().flat_map(char::to_lowercase).take(LONGEST).collect();
    (!IN_EVERY_SENTENCE.contains(&word.as_str())).then(|| stem(word))
}

/// Scripts without spaces between words, such as Chinese and Japanese.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn pairs(run: &str) -> Vec<String> {
    let letters: Vec<char> = run.chars().flat_map(char::to_lowercase).collect();
    match letters.len() {
        1 => vec![letters.into_iter().collect()],
        _ => letters.windows(2).map(|pair| pair.iter().collect()).collect(),
    }
}

/// Where the case or the kind of character changes, as in `listHTTPRoutes2`.
fn parts(run: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = run.char_indices().collect();
    let mut cuts = vec![0];
    for at in 1..letters.len() {
        let (before, (place, here)) = (letters[at - 1].1, letters[at]);
        let begins_word = here.is_uppercase()
            && (before.is_lowercase()
                || letters.get(at + 1).is_some_and(|(_, next)| next.is_lowercase()));
        if begins_word || before.is_numeric() != here.is_numeric() {
            cuts.push(place);
        }
    }
    cuts.push(run.len());
    cuts.windows(2).map(|cut| &run[cut[0]..cut[1]]).collect()
}

/// An English word without its endings of number, tense and agent; other words mostly stay unchanged.
fn stem(word: String) -> String {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let mut stem = word.as_str();
    for (ending, kept) in [("sses", 2), ("ies", 1), ("ss", 2), ("us", 2), ("is", 2), ("s", 0)] {
        if let Some(rest) = stem.strip_suffix(ending) {
            if rest.len() + kept >= SHORTEST_STEM {
                stem = &stem[..rest.len() + kept];
            }
            break;
        }
    }
    // One ending may contain another: `organ-iz-ation`, `engine-er-ing`.
    for _ in 0..2 {
        let shorter = ENDINGS.iter().filter_map(|(ending, kept)| {
            let rest = stem.strip_suffix(ending)?;
            let spoken = rest.bytes().any(|byte| b"aeiouy".contains(&byte));
            (rest.len() >= SHORTEST_STEM && spoken).then(|| &stem[..rest.len() + kept])
        });
        stem = shorter.min_by_key(|rest| rest.len()).unwrap_or(stem);
    }
    let stem = stem.strip_suffix('e').filter(|rest| rest.len() >= SHORTEST_STEM).unwrap_or(stem);
    let doubled = stem.as_bytes().windows(2).last().is_some_and(|end| {
        end[0] == end[1] && !b"aeiouls".contains(&end[0]) && stem.len() > SHORTEST_STEM
    });
    let stem = if doubled { &stem[..stem.len() - 1] } else { stem };
    match stem.strip_suffix('y') {
        Some(rest) if rest.len() >= SHORTEST_STEM - 1 => format!("{rest}i"),
        _ => stem.to_owned(),
    }
}
