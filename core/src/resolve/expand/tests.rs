use std::collections::BTreeMap;

use super::*;
use crate::host_env::HostEnv;

fn host_env(pairs: &[(&str, &str)]) -> HostEnv {
    let env: BTreeMap<String, String> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    HostEnv::new(Some(env), Some("/home/me".into()), None)
}

fn scope() -> Scope {
    Scope {
        directory: Some("/srv/project".into()),
        host_env: host_env(&[("A", "a"), ("B", "outer"), ("EMPTY", ""), ("LOOP", "${LOOP}")]),
        ..Scope::default()
    }
}

fn with(scope: &Scope, lookup: LookupScope, text: &str) -> (Result<String>, Vec<String>) {
    let mut warnings = Warnings::new("s");
    let variables = HashMap::from([("V".to_owned(), "from file".to_owned())]);
    let mut expander = Expander::new(scope, variables, Files::default(), &mut warnings);
    expander.set_own(IndexMap::from([
        ("B".to_owned(), "own".to_owned()),
        ("CHAIN".to_owned(), "${A}".to_owned()),
    ]));
    let value = expander.expand(Field::new("args", lookup), text);
    (value, warnings.into_list().into_iter().map(|warning| warning.text).collect())
}

fn expanded(text: &str) -> String {
    let (value, warnings) = with(&scope(), LookupScope::All, text);
    assert!(warnings.is_empty(), "{text}: {warnings:?}");
    value.unwrap()
}

#[test]
fn every_form_of_a_reference_is_replaced() {
    for (text, value) in [
        ("plain", "plain"),
        ("<${A}>", "<a>"),
        ("${env:A}${A}", "aa"),
        ("${V}", "from file"),
        ("${B}", "own"),
        ("${workspaceFolder}/x", "/srv/project/x"),
        ("${workspaceFolderBasename}", "project"),
        ("${userHome}", "/home/me"),
        ("${EMPTY}", ""),
        ("${EMPTY:-d}", "d"),
        ("${NOT:-d}", "d"),
        ("${NOT:-}", ""),
        ("${A:-d}", "a"),
        ("${A:?m}", "a"),
        ("${env:NOT:-d}", "d"),
        ("${NOT:-<${NOR:-${A}}>}", "<a>"),
        ("${A:-${NOT}}", "a"),
    ] {
        assert_eq!(expanded(text), value, "{text}");
    }
}

#[test]
fn what_is_no_reference_is_left_alone() {
    for text in [
        "$", "$$", "${", "${}", "$A", "${A", "${9}", "${A B}", "${A-b}", "${A:+b}", "${{ x }}",
        "}", "${env:}", "${file:}", "$(id)", "%A%", "${é}",
    ] {
        assert_eq!(expanded(text), text);
    }
    assert_eq!(expanded("${A ${A}"), "${A a");
    assert_eq!(expanded("$${A} $${ $$${A}"), "${A} ${ $${A}");
    assert_eq!(expanded("${NOT:-$${x}}"), "${x}");
}

#[test]
fn what_is_not_set_stays_and_is_told_by_server_field_and_name() {
    let (value, warnings) = with(&scope(), LookupScope::All, "${NOT} ${NOT} ${input:key}");
    assert_eq!(value.unwrap(), "${NOT} ${NOT} ${input:key}");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("Server \"s\": \"args\" refers to ${NOT}"), "{warnings:?}");
    assert!(warnings[1].contains("${input:key}") && warnings[1].contains("host"), "{warnings:?}");
}

#[test]
fn a_demanded_variable_that_is_missing_is_the_servers_error() {
    for (text, message) in
        [("${NOT:?ask Bob}", "ask Bob"), ("${EMPTY:?}", "it is not set"), ("${env:NOT:?x}", "x")]
    {
        let error = with(&scope(), LookupScope::All, text).0.unwrap_err();
        assert_eq!((error.code(), error.server()), ("CONFIG_INVALID", Some("s")));
        assert!(error.message().ends_with(message), "{error}");
    }
}

#[test]
fn what_was_looked_up_is_not_expanded_again() {
    assert_eq!(expanded("${LOOP}"), "${LOOP}");
    assert_eq!(expanded("${CHAIN}"), "${A}");
}

#[test]
fn the_own_variables_do_not_see_each_other() {
    let (value, _) = with(&scope(), LookupScope::Outside, "${B}");
    assert_eq!(value.unwrap(), "outer");
}

#[test]
fn what_a_project_sends_away_reads_its_own_variables_only() {
    let project = Scope { level: Level::Project, ..scope() };
    let texts = "<${A}${V}${B}${env:A}${workspaceFolder}${userHome}${file:/etc/passwd}${input:x}>";
    let (value, warnings) = with(&project, LookupScope::Own, texts);
    assert_eq!(value.unwrap(), "<own>");
    assert!(warnings.iter().all(|line| line.ends_with("it is left empty")), "{warnings:?}");
    assert_eq!(warnings.len(), 6, "{warnings:?}");
    assert_eq!(with(&project, LookupScope::Own, "${A:-d}").0.unwrap(), "d");
    assert_eq!(with(&project, LookupScope::Own, "${A:-${A}}").0.unwrap(), "");
}

#[test]
fn a_files_content_is_a_value_without_its_last_newline() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("token"), "abc\n").unwrap();
    std::fs::write(directory.path().join("binary"), b"\xff\xfe").unwrap();
    let scope = Scope { directory: Some(directory.path().into()), ..scope() };
    assert_eq!(with(&scope, LookupScope::All, "${file:token}").0.unwrap(), "abc");
    assert_eq!(with(&scope, LookupScope::All, "${file:${NOT:-tok}en}").0.unwrap(), "abc");
    for odd in ["none", "binary", ".", "/dev/zero"] {
        let text = format!("${{file:{odd}}}");
        let (value, warnings) = with(&scope, LookupScope::All, &text);
        assert_eq!((value.unwrap(), warnings.len()), (text, 1), "{warnings:?}");
    }
}

#[test]
fn a_pipe_in_place_of_a_file_does_not_stall() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
    let scope = Scope { directory: Some(directory.path().into()), ..scope() };
    let (value, warnings) = with(&scope, LookupScope::All, "${file:pipe}");
    assert_eq!((value.unwrap().as_str(), warnings.len()), ("${file:pipe}", 1));
}

#[test]
fn a_bomb_of_references_is_refused_and_deep_nesting_too() {
    let big = "x".repeat(100_000);
    let scope = Scope { host_env: host_env(&[("BIG", &big)]), ..Scope::default() };
    let error = with(&scope, LookupScope::All, &"${BIG}".repeat(100)).0.unwrap_err();
    assert!(error.message().contains("too long"), "{error}");
    let deep = "${N:-".repeat(10_000) + &"}".repeat(10_000);
    let error = with(&scope, LookupScope::All, &deep).0.unwrap_err();
    assert!(error.message().contains("nested"), "{error}");
}

/// Quadratic work would not finish.
#[test]
fn a_long_text_of_anything_is_read_once() {
    for piece in ["${", "$${", "${A", "${N:-", "}", "$", "${EMPTY}", "${NOT}", "${EMPTY:-}"] {
        let _ = with(&scope(), LookupScope::All, &piece.repeat((256 << 10) / piece.len()));
    }
}

#[test]
fn a_bare_name_is_replaced_only_where_that_is_wanted() {
    let mut warnings = Warnings::new("s");
    let wanted = Scope { bare_env_names: true, ..scope() };
    let headers = Field::new("headers", LookupScope::All);
    let mut expander = Expander::new(&wanted, HashMap::new(), Files::default(), &mut warnings);
    assert_eq!(expander.bare_name_value(headers, "A").as_deref(), Some("a"));
    assert_eq!(expander.bare_name_value(headers, "NOT"), None);
    assert_eq!(expander.bare_name_value(headers, "A "), None);
    assert_eq!(expander.bare_name_value(Field::new("headers", LookupScope::Own), "A"), None);
    let plain = scope();
    let mut warnings = Warnings::new("s");
    let mut expander = Expander::new(&plain, HashMap::new(), Files::default(), &mut warnings);
    assert_eq!(expander.bare_name_value(headers, "A"), None);
}

#[test]
fn paths_begin_where_their_scope_says() {
    let scope = scope();
    assert_eq!(path_in(&scope, "a/b"), PathBuf::from("/srv/project/a/b"));
    assert_eq!(path_in(&scope, "/a"), PathBuf::from("/a"));
    assert_eq!(path_in(&scope, "~/a"), PathBuf::from("/home/me/a"));
    assert_eq!(path_in(&scope, "~x"), PathBuf::from("/srv/project/~x"));
}
