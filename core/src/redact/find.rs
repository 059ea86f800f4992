//! Owns finding secrets in text that people write: arguments, command lines, URLs. A range is secret by its name
//! (`--token x`, `KEY=x`, `"key": "x"`, a header, a query value), by its position (user-info) or by its looks.
//! Invariant: ranges are sorted, do not overlap, and begin and end at character boundaries.

use std::ops::Range;

use super::names::{is_scheme, is_secret_key, looks_secret};
use super::reference::{Piece, References, Suffix};

pub(super) type Spans = Vec<Range<usize>>;

/// The nesting limit: defaults within references, URLs within queries.
const MAX_DEPTH: usize = 8;

/// The secret ranges of any text.
pub(super) fn in_text(text: &str) -> Spans {
    text_at(text, 0)
}

/// The secret ranges of a URL as written.
pub(super) fn in_url(url: &str) -> Spans {
    url_at(url, 0)
}

fn text_at(text: &str, depth: usize) -> Spans {
    let Some(references) = References::find(text).filter(|_| depth < MAX_DEPTH) else {
        return whole_text(text);
    };
    let mut places = Spans::new();
    let mut urls = Spans::new();
    while let Some(url) = next_url(text, &references, urls.last().map_or(0, |url| url.end)) {
        add(&mut places, url.start, url_at(&text[url.clone()], depth + 1));
        urls.push(url);
    }
    let closed = sort_and_join(urls.into_iter().chain(references.ranges()).collect());
    named_values(text, &references, &closed, &mut places);
    for (range, piece) in references.pieces(text) {
        match piece {
            Piece::Literal(literal) => by_looks(literal, range.start, &mut places),
            Piece::Reference { name, rest } => behind_name(text, name, rest, depth, &mut places),
        }
    }
    sort_and_join(places)
}

fn whole_text(text: &str) -> Spans {
    single(0..text.len())
}

fn behind_name(text: &str, name: &str, rest: Suffix, depth: usize, places: &mut Spans) {
    match rest {
        Suffix::Nothing => {}
        Suffix::Default(default) if is_secret_key(name) => places.push(default),
        Suffix::Default(range) | Suffix::Message(range) => {
            add(places, range.start, text_at(&text[range.clone()], depth + 1));
        }
    }
}

/// The secret ranges of each of a program's arguments.
pub(super) fn in_args<'a>(args: impl IntoIterator<Item = &'a str>) -> Vec<Spans> {
    let mut flag = Flag::Other;
    let of = |arg: &'a str| {
        let takes = std::mem::replace(&mut flag, Flag::Other);
        let is_flag = arg.starts_with("--") || arg.len() == 2 && arg.starts_with('-');
        if takes != Flag::Other && !is_flag {
            return takes.places_in(arg, 0);
        }
        if !arg.starts_with('-') {
            return in_arg(arg);
        }
        match arg.split_once('=').filter(|(name, _)| name.chars().all(is_name)) {
            Some((name, value)) => match Flag::classify(name) {
                Flag::Other => in_arg(arg),
                flag => flag.places_in(value, arg.len() - value.len()),
            },
            None if arg.starts_with("-H") && arg.len() > 2 => Flag::Header.places_in(&arg[2..], 2),
            None => {
                flag = if arg.chars().all(is_name) { Flag::classify(arg) } else { Flag::Other };
                in_arg(arg)
            }
        }
    };
    args.into_iter().map(of).collect()
}

/// What kind of value follows a flag.
#[derive(Clone, Copy, PartialEq)]
enum Flag {
    Secret,
    Header,
    Variable,
    Login,
    Other,
}

impl Flag {
    fn classify(flag: &str) -> Flag {
        match flag {
            "-H" | "--header" | "--headers" => Flag::Header,
            "-e" | "--env" => Flag::Variable,
            "-u" | "--user" => Flag::Login,
            _ if is_secret_key(flag) => Flag::Secret,
            _ => Flag::Other,
        }
    }

    fn places_in(self, value: &str, offset: usize) -> Spans {
        let behind = |sign: char| value.find(sign).map(|at| at + 1);
        let place = match self {
            Flag::Secret => Some(0),
            Flag::Header => behind(':').map(|at| at + credential_at(&value[at..])),
            Flag::Variable => behind('='),
            Flag::Login => {
                behind(':').filter(|_| value.contains(|c: char| !c.is_ascii_digit() && c != ':'))
            }
            Flag::Other => None,
        };
        match place {
            Some(from) => single(offset + from..offset + value.len()),
            None => {
                in_text(value).into_iter().map(|it| it.start + offset..it.end + offset).collect()
            }
        }
    }
}

/// An argument without a flag before it. After `KEY=` or `Header:` the value reaches to the end.
fn in_arg(arg: &str) -> Spans {
    let key = arg.find(|c: char| !is_name(c)).filter(|&end| end > 0 && is_secret_key(&arg[..end]));
    match key.map(|end| (end, &arg[end..])) {
        Some((end, rest))
            if rest.starts_with('=') || rest.starts_with(':') && !rest.starts_with("://") =>
        {
            let from = end + 1 + credential_at(&arg[end + 1..]);
            single(from..arg.len())
        }
        _ => in_text(arg),
    }
}

fn url_at(url: &str, depth: usize) -> Spans {
    let Some(references) = References::find(url).filter(|_| depth < MAX_DEPTH) else {
        return whole_text(url);
    };
    let mut places = Spans::new();
    let Some(scheme) = url.find("://") else { return text_at(url, depth + 1) };
    let authority = scheme + 3;
    let path = references.outside(url, authority, &['/', '?', '#', '\\']);
    if let Some(at) = url[authority..path].rfind('@') {
        places.push(authority..authority + at);
    }
    let query = references.outside(url, path, &['?', '#']);
    by_looks(&url[path..query], path, &mut places);
    let mut pair = query;
    while pair < url.len() {
        let from = pair + 1;
        let end = references.outside(url, from, &['&', ';', '#']);
        in_pair(&url[from..end], from, depth, &mut places);
        pair = end;
    }
    for (_, piece) in references.pieces(url) {
        if let Piece::Reference { name, rest } = piece {
            behind_name(url, name, rest, depth, &mut places);
        }
    }
    sort_and_join(places)
}

/// One `key=value` of a query.
fn in_pair(pair: &str, offset: usize, depth: usize, places: &mut Spans) {
    let Some((key, value)) = pair.split_once('=') else { return by_looks(pair, offset, places) };
    let key = percent_encoding::percent_decode_str(key).decode_utf8_lossy();
    let from = offset + pair.len() - value.len();
    if is_secret_key(&key) || looks_secret(value) {
        places.push(from..from + value.len());
    } else if value.contains("://") {
        add(places, from, text_at(value, depth + 1));
    }
}

/// The next URL at or after `from`.
fn next_url(text: &str, references: &References, from: usize) -> Option<Range<usize>> {
    let sign = from + text[from..].find("://")?;
    let scheme = |c: &char| c.is_ascii_alphanumeric() || "+-.".contains(*c);
    let length: usize = text[from..sign].chars().rev().take_while(scheme).map(char::len_utf8).sum();
    let ends = &[' ', '\t', '\n', '\r', '"', '\'', '`', '<', '>'];
    Some(sign - length..references.outside(text, sign + 3, ends))
}

/// Values after a secret name: `key=value`, `"key": "value"`, `--key value`, and what follows `Bearer`.
fn named_values(text: &str, references: &References, closed: &[Range<usize>], places: &mut Spans) {
    let mut at = 0;
    while let Some(found) = text[at..].find(is_name) {
        let start = at + found;
        // Names inside a URL or a reference are handled there.
        let next = closed.partition_point(|closed| closed.end <= start);
        if let Some(closed) = closed.get(next).filter(|closed| closed.contains(&start)) {
            at = closed.end;
            continue;
        }
        let end = text[start..].find(|c| !is_name(c)).map_or(text.len(), |length| start + length);
        at = end;
        let word = &text[start..end];
        let gap =
            text[end..].find(|c: char| !is_between(c)).map_or(text.len(), |length| end + length);
        let between = &text[end..gap];
        let assigned = between.contains([':', '=']);
        let flag = word.starts_with('-') && between.starts_with(char::is_whitespace);
        let scheme = word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic");
        let is_value = (assigned || flag) && is_secret_key(word.trim_start_matches('-'));
        let follows = scheme && !assigned && between.starts_with(char::is_whitespace);
        if gap < text.len() && (is_value || follows) {
            let from = gap + credential_at(&text[gap..]);
            let ends = ends_of_value(between);
            let mut until = references.outside(text, from, ends);
            // Inside quotes an escaped quote is part of the value; if the quotes themselves are escaped, it ends the
            // value.
            let quoted = ends.len() == 1 && !between[..between.len() - 1].ends_with('\\');
            while quoted && until < text.len() && text[from..until].ends_with('\\') {
                until = references.outside(text, until + 1, ends);
            }
            // A short word after `Bearer` is prose.
            if is_value || until.saturating_sub(from) >= 6 {
                places.push(from..until);
                // The next flag may be where a value is expected.
                let is_flag =
                    text[from..].starts_with('-') && between.ends_with(char::is_whitespace);
                at = if is_flag { from } else { until.max(end) };
            }
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-' || c == '.'
}

/// Whether the character may be between a name and its value.
fn is_between(c: char) -> bool {
    c.is_whitespace() || matches!(c, ':' | '=' | '"' | '\'' | '`' | '\\')
}

fn ends_of_value(between: &str) -> &'static [char] {
    match between.chars().next_back() {
        Some('"') => &['"'],
        Some('\'') => &['\''],
        Some('`') => &['`'],
        _ => &[' ', '\t', '\n', '\r', '"', '\'', '`'],
    }
}

/// Where the credential begins in `Bearer <credential>`.
fn credential_at(value: &str) -> usize {
    let blank = value.len() - value.trim_start().len();
    let word = value[blank..].find(char::is_whitespace).map(|length| &value[blank..blank + length]);
    match word.filter(|word| is_scheme(word)) {
        Some(scheme) => {
            let rest = &value[blank + scheme.len()..];
            value.len() - rest.trim_start().len()
        }
        None => blank,
    }
}

/// Words that look like credentials.
fn by_looks(text: &str, offset: usize, places: &mut Spans) {
    let is_part = |c: char| is_name(c) || matches!(c, '+' | '~' | '=');
    let mut at = 0;
    while let Some(found) = text[at..].find(is_part) {
        let start = at + found;
        let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
        for part in text[start..end].split('=') {
            if looks_secret(part) {
                let from = offset + (part.as_ptr() as usize - text.as_ptr() as usize);
                places.push(from..from + part.len());
            }
        }
        at = end;
    }
}

fn single(place: Range<usize>) -> Spans {
    std::iter::once(place).filter(|place| !place.is_empty()).collect()
}

fn add(places: &mut Spans, offset: usize, inside: Spans) {
    places.extend(inside.into_iter().map(|place| place.start + offset..place.end + offset));
}

/// Sorts the ranges and joins those that overlap.
fn sort_and_join(mut places: Spans) -> Spans {
    places.retain(|place| !place.is_empty());
    places.sort_by_key(|place| (place.start, place.end));
    let mut joined = Spans::new();
    for place in places {
        match joined.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => joined.push(place),
        }
    }
    joined
}
