//! Owns parsing files of `NAME=value` lines. Values are literal: nothing is expanded.

use super::text_file::TextFileError;

/// The entries of a file in order, or why it cannot be used.
pub(super) fn entries(text: &str) -> Result<Vec<(String, String)>, TextFileError> {
    parse(text).map_err(|line| {
        // Without the line's text, which may contain a secret.
        TextFileError::Unusable(format!("line {line} is not NAME=value"))
    })
}

/// The entries, or the number of the invalid line.
fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut entries = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let number = || 1 + text[..text.len() - rest.len()].matches('\n').count();
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let trimmed = line.trim_start();
        if trimmed.trim_end().is_empty() || trimmed.starts_with('#') {
            rest = after;
            continue;
        }
        let indent = line.len() - trimmed.len();
        let (name, value) = entry(&rest[indent..]).ok_or_else(number)?;
        let (value, after) = match value.chars().next() {
            Some('\'') => single_quoted(&value[1..]),
            Some('"') => double_quoted(&value[1..]),
            _ => Some(unquoted(value)),
        }
        .ok_or_else(number)?;
        entries.push((name.to_owned(), value));
        rest = after;
    }
    Ok(entries)
}

/// The name, and the text from the value on.
fn entry(text: &str) -> Option<(&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let name_of = |text: &'_ str| text.find(|c| !is_name(c)).unwrap_or(text.len());
    let blank = [' ', '\t'];
    let mut text = text;
    if let Some(rest) = text.strip_prefix("export").filter(|rest| rest.starts_with(blank)) {
        text = rest.trim_start_matches(blank);
    }
    let (name, rest) = text.split_at(name_of(text));
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = rest.trim_start_matches(blank).strip_prefix('=')?;
    Some((name, value.trim_start_matches(blank)))
}

fn unquoted(text: &str) -> (String, &str) {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let is_comment = |at: usize| at == 0 || line[..at].ends_with([' ', '\t']);
    let end = line.match_indices('#').map(|(at, _)| at).find(|&at| is_comment(at));
    (line[..end.unwrap_or(line.len())].trim_end().to_owned(), after)
}

fn single_quoted(text: &str) -> Option<(String, &str)> {
    let (value, rest) = text.split_once('\'')?;
    Some((value.to_owned(), end_of_line(rest)?))
}

fn double_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, end_of_line(&text[at + 1..])?)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                plain @ ('\\' | '"' | '\'' | '$' | ' ') => value.push(plain),
                other => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    None
}

/// Only a comment may follow a closing quote.
fn end_of_line(text: &str) -> Option<&str> {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let line = line.trim();
    (line.is_empty() || line.starts_with('#')).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn entries(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn lines_comments_and_quotes_are_understood() {
        let text = "# a comment\r\n\n A=1\nexport B = two words # not this\nC='it''s'\n";
        assert!(parse(text).is_err());
        let text = "# a comment\r\n\n A=1\r\nexport B = two words # not this\nC='a # b' # c\n\
                    D=\"x\\ny\\\"\" \nE=\nF=a#b\nexport=7\n";
        assert_eq!(
            entries(text),
            [
                pair("A", "1"),
                pair("B", "two words"),
                pair("C", "a # b"),
                pair("D", "x\ny\""),
                pair("E", ""),
                pair("F", "a#b"),
                pair("export", "7"),
            ]
        );
    }

    #[test]
    fn a_quoted_value_may_go_over_several_lines() {
        assert_eq!(entries("K=\"one\ntwo\"\nL='3\n4'"), [pair("K", "one\ntwo"), pair("L", "3\n4")]);
    }

    #[test]
    fn values_are_literal() {
        let text = "A=$HOME\nB=\"${HOME} \\$HOME\"\nC='$HOME'\nD=!id\n";
        let values: Vec<_> = entries(text).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, ["$HOME", "${HOME} $HOME", "$HOME", "!id"]);
    }

    #[test]
    fn what_is_no_entry_is_told_by_its_line() {
        for (text, line) in
            [("A=1\nnonsense", 2), ("=x", 1), ("\n\n9=x", 3), ("A='open\nB=1", 1), ("A=\"x\" y", 1)]
        {
            assert_eq!(parse(text), Err(line), "{text:?}");
        }
    }
}
