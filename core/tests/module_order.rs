//! The order of the core's modules: each uses only those that stand before it in the list of `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The modules in the order of the block that `ARCHITECTURE.md` marks as `order`.
fn drawn_order() -> Vec<String> {
    let text = fs::read_to_string(root().join("../ARCHITECTURE.md")).unwrap();
    let (_, block) = text.split_once("```order\n").expect("a block that is marked as `order`");
    let (block, _) = block.split_once("```").expect("the end of the block");
    let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    block
        .lines()
        .filter_map(|line| line.split_once(':'))
        .flat_map(|(_, modules)| modules.split_whitespace().filter(is_name))
        .map(str::to_owned)
        .collect()
}

/// Every source file with its module.
fn sources() -> Vec<(String, PathBuf)> {
    let source = root().join("src");
    let mut found = Vec::new();
    let mut left = vec![source.clone()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let relative = path.strip_prefix(&source).unwrap();
        let first = relative.iter().next().unwrap().to_str().unwrap();
        let module = first.trim_end_matches(".rs").to_owned();
        let is_test = relative.iter().any(|part| part == "tests.rs" || part == "tests");
        if !is_test && !matches!(&*module, "lib" | "main") {
            found.push((module, path));
        }
    }
    found
}

/// The code of a file, without comments and without its unit tests.
fn code_of(path: &Path) -> String {
    without_tests(&fs::read_to_string(path).unwrap())
}

/// Unit tests in the file itself are the last thing in it; those in a file of their own are one line here.
fn without_tests(text: &str) -> String {
    let inline = text.match_indices("#[cfg(test)]\nmod ").find(|(at, _)| {
        let declaration = text[*at..].lines().nth(1).unwrap_or_default();
        declaration.ends_with('{')
    });
    let end = inline.map_or(text.len(), |(at, _)| at);
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The first segment of every path that begins at the root of the crate.
fn names_from_root(code: &str, at_top: bool) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut read = |after: &str| match after.strip_prefix('{') {
        Some(group) => {
            let mut depth = 0;
            for part in group.split_inclusive(['{', '}', ',']) {
                if depth == 0 {
                    names.insert(first_word(part));
                }
                depth += part.matches('{').count();
                match part.ends_with('}') {
                    true if depth == 0 => break,
                    true => depth -= 1,
                    false => {}
                }
            }
        }
        None => drop(names.insert(first_word(after))),
    };
    let roots: &[&str] = if at_top { &["crate::", "super::"] } else { &["crate::"] };
    for root in roots {
        for (at, _) in code.match_indices(root) {
            let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
            if is_whole {
                read(&code[at + root.len()..]);
            }
        }
    }
    names.remove("");
    names
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// What `lib.rs` re-exports, by the module that it comes from.
fn re_exports() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut found = BTreeMap::new();
    for statement in text.split(';').filter_map(|it| it.split_once("pub use ")).map(|(_, it)| it) {
        let Some((module, names)) = statement.split_once("::") else { continue };
        for name in names.trim_matches(['{', '}']).split(',') {
            let name = name.rsplit("::").next().unwrap_or_default().trim();
            found.insert(name.to_owned(), module.trim().to_owned());
        }
    }
    found
}

#[test]
fn modules_use_only_what_stands_before_them() {
    let order = drawn_order();
    let place = |module: &str| order.iter().position(|it| it == module);
    let exports = re_exports();
    let mut back_edges = BTreeSet::new();
    for (module, path) in sources() {
        let at_top = path.parent().is_some_and(|parent| parent.ends_with("src"));
        for name in names_from_root(&code_of(&path), at_top) {
            let used = exports.get(&name).unwrap_or(&name);
            if *used == module {
                continue;
            }
            match (place(&module), place(used)) {
                (Some(here), Some(there)) if there < here => {}
                _ => {
                    let file = path.strip_prefix(root()).unwrap().display().to_string();
                    back_edges.insert(format!("{module} → {used} ({file})"));
                }
            }
        }
    }
    let shown: Vec<_> = back_edges.into_iter().collect();
    assert!(
        shown.is_empty(),
        "{} edges that the order does not allow:\n{}",
        shown.len(),
        shown.join("\n")
    );
}

#[test]
fn every_module_is_drawn_once() {
    let order = drawn_order();
    let drawn: BTreeSet<_> = order.iter().cloned().collect();
    let there: BTreeSet<_> = sources().into_iter().map(|(module, _)| module).collect();
    assert_eq!(drawn, there);
    assert_eq!(order.len(), drawn.len(), "a module is drawn twice");
}

#[test]
fn paths_from_the_root_are_found_however_they_are_written() {
    let code = "use crate::error::{Error, Result};\nuse crate::{config::{self, Limits}, wire::Wire, sync};\n\
        fn f() -> crate::status::State { other::crate_name::x() }";
    let names: Vec<_> = names_from_root(code, false).into_iter().collect();
    assert_eq!(names, ["config", "error", "status", "sync", "wire"]);
    assert!(names_from_root("use super::error::Error;", false).is_empty());
    assert_eq!(names_from_root("use super::error::Error;", true).len(), 1);
}

#[test]
fn code_behind_the_declaration_of_a_test_file_counts() {
    let text = "use crate::a;\n#[cfg(test)]\nmod tests;\nuse crate::b; // crate::c\n#[cfg(test)]\nmod more {\nuse crate::d;\n}";
    let names: Vec<_> = names_from_root(&without_tests(text), false).into_iter().collect();
    assert_eq!(names, ["a", "b"]);
}
