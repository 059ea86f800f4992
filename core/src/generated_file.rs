//! Compares files that are made from declarations in the core with what is committed, and writes the docstrings and comments
//! in them. Only tests use it.
//! `MCPOOL_WRITE_GENERATED=1 cargo test -p mcpool --lib generated` writes them anew.

use std::path::{Path, PathBuf};

const WRITE: &str = "MCPOOL_WRITE_GENERATED";

/// Fails unless the file holds this text; `path` begins at the root of the repository.
pub(crate) fn assert_file(path: &str, text: &str) {
    let file = place(path);
    if std::env::var_os(WRITE).is_some() {
        std::fs::create_dir_all(file.parent().expect("a file")).expect("its directory");
        std::fs::write(&file, text).expect("a file that can be written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == text, "{path} is out of date: run the tests once with {WRITE}=1");
}

/// Fails unless the part of the file between the comments `name:begin` and `name:end` is this text.
pub(crate) fn assert_part(path: &str, name: &str, text: &str) {
    let whole = std::fs::read_to_string(place(path)).expect("a file with markers");
    let marker = |edge: &str| match path.ends_with(".md") {
        true => format!("<!-- {name}:{edge} -->\n"),
        false => format!("# {name}:{edge}\n"),
    };
    let (begin, end) = (marker("begin"), marker("end"));
    let (before, rest) = whole.split_once(&begin).expect("a begin marker");
    let (_, after) = rest.split_once(&end).expect("an end marker");
    assert_file(path, &[before, &begin, text, &end, after].concat());
}

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The longest line of Python and TypeScript.
pub(crate) const WIDTH: usize = 110;

/// A docstring of Python.
pub(crate) fn docstring(indent: &str, text: &str) -> String {
    let one_line = format!("{indent}\"\"\"{text}\"\"\"\n");
    if one_line.len() <= WIDTH {
        return one_line;
    }
    let lines = wrap(text, WIDTH - indent.len() - "\"\"\"".len()).join(&format!("\n{indent}"));
    format!("{indent}\"\"\"{lines}\n{indent}\"\"\"\n")
}

/// A doc comment of TypeScript.
pub(crate) fn doc_comment(indent: &str, text: &str) -> String {
    let one_line = format!("{indent}/** {text} */\n");
    if one_line.len() <= WIDTH {
        return one_line;
    }
    let lines = wrap(text, WIDTH - indent.len() - " * ".len());
    let lines: String = lines.iter().map(|line| format!("{indent} * {line}\n")).collect();
    format!("{indent}/**\n{lines}{indent} */\n")
}

/// Lines of at most `width` characters; a longer word has a line of its own.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[test]
fn long_texts_are_wrapped_between_words() {
    assert_eq!(wrap("a bc def g", 4), ["a bc", "def", "g"]);
    assert_eq!(wrap("abcdef", 3), ["abcdef"]);
    assert_eq!(wrap("é é é", 3), ["é é", "é"]);
}
