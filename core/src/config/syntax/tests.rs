//! One test per syntax, and malformed texts.

use serde_json::json;

use super::*;

const CLAUDE: Syntax = Syntax::BRACES.union(Syntax::DEFAULTS);
const GEMINI: Syntax = Syntax::BRACES.union(Syntax::DOLLAR).union(Syntax::PERCENT);
const OPENCODE: Syntax = Syntax::CURLY_ENV.union(Syntax::CURLY_FILE);
const CURSOR: Syntax = Syntax::ENV.union(Syntax::WORKSPACE);

fn translated(text: &str, syntax: Syntax) -> String {
    translate(text, syntax).text.into_owned()
}

fn all_become(syntax: Syntax, pairs: &[(&str, &str)]) {
    for (text, expected) in pairs {
        assert_eq!(translated(text, syntax), *expected, "{text}");
    }
}

#[test]
fn braces_with_and_without_defaults() {
    all_become(
        CLAUDE,
        &[
            ("plain", "plain"),
            ("${A}", "${A}"),
            ("x${A}y${B_2}z", "x${A}y${B_2}z"),
            ("${A:-d}", "${A:-d}"),
            ("${A:-}", "${A:-}"),
            ("${A:?why}", "$${A:?why}"),
            ("${env:A}", "$${env:A}"),
            ("$A %A% {env:A}", "$A %A% {env:A}"),
        ],
    );
    all_become(Syntax::BRACES, &[("${A:-d}", "$${A:-d}")]);
}

#[test]
fn a_name_that_must_be_set_says_so() {
    all_become(
        Syntax::STRICT_BRACES,
        &[("Bearer ${A}", "Bearer ${A:?A is not set}"), ("${A:-d}", "$${A:-d}")],
    );
    let with_messages = CLAUDE.union(Syntax::MESSAGES);
    all_become(with_messages, &[("${A:?set A first}", "${A:?set A first}")]);
}

#[test]
fn references_of_editors() {
    all_become(
        CURSOR,
        &[
            ("${env:A}/${workspaceFolder}", "${env:A}/${workspaceFolder}"),
            ("${userHome}${workspaceFolderBasename}", "${userHome}${workspaceFolderBasename}"),
            ("${A}", "$${A}"),
            ("${env:A:-d}", "$${env:A:-d}"),
            ("${input:key}", "$${input:key}"),
            ("${file:/etc/key}", "$${file:/etc/key}"),
        ],
    );
    all_become(Syntax::INPUTS, &[("${input:key}", "${input:key}"), ("${input:}", "$${input:}")]);
    all_become(Syntax::FILES, &[("${file:~/key}", "${file:~/key}"), ("${file:}", "$${file:}")]);
}

#[test]
fn references_of_shells() {
    all_become(
        GEMINI,
        &[
            ("$A", "${A}"),
            ("a$A-b", "a${A}-b"),
            ("%A%", "${A}"),
            ("100%", "100%"),
            ("%%", "%%"),
            ("%A", "%A"),
            ("%A B%", "%A B%"),
            ("$5", "$5"),
            ("$", "$"),
            ("a$", "a$"),
        ],
    );
}

#[test]
fn references_in_curly_braces() {
    all_become(
        OPENCODE,
        &[
            ("{env:A}", "${A}"),
            ("Bearer {env:A}!", "Bearer ${A}!"),
            ("{file:~/.key}", "${file:~/.key}"),
            ("{env:}", "{env:}"),
            ("{env:A", "{env:A"),
            ("{file:x", "{file:x"),
            ("{file:}", "{file:}"),
            ("${A}", "$${A}"),
            ("{\"a\": {}}", "{\"a\": {}}"),
        ],
    );
}

#[test]
fn secrets_of_a_hub() {
    all_become(
        Syntax::SECRETS,
        &[
            ("${{ secrets.A }}", "${A}"),
            ("${{secrets.A}}-x", "${A}-x"),
            ("${{ inputs.A }}", "$${{ inputs.A }}"),
            ("${{ secrets.A", "$${{ secrets.A"),
            ("${{ secrets. }}", "$${{ secrets. }}"),
            ("${A}", "$${A}"),
        ],
    );
}

#[test]
fn a_literal_text_stays_literal() {
    all_become(
        Syntax::LITERAL,
        &[("${A}", "$${A}"), ("$A", "$A"), ("$${A}", "$$${A}"), ("%A%{env:A}", "%A%{env:A}")],
    );
}

#[test]
fn our_own_text_keeps_every_letter_but_the_short_form() {
    for text in [
        "${A}",
        "${A:-${B:-c}}",
        "${A:?m}",
        "${env:A:-d}",
        "${workspaceFolder}",
        "${file:p}",
        "${input:i}",
        "$${A}",
        "$A",
        "${",
        "${}",
        "${a b}",
        "${A",
        "}${",
        "$",
        "%A%",
        "{file:p}",
    ] {
        assert_eq!(translated(text, Syntax::OURS), text);
    }
    all_become(
        Syntax::OURS,
        &[("{env:A}", "${A}"), ("${env:A}", "${env:A}"), ("${A:-{env:B}}", "${A:-{env:B}}")],
    );
}

#[test]
fn defaults_nest_until_they_are_too_deep() {
    all_become(CLAUDE, &[("${A:-x${B:-${C}}y}", "${A:-x${B:-${C}}y}")]);
    let deep = format!("{}x{}", "${A:-".repeat(40), "}".repeat(40));
    let out = translated(&deep, CLAUDE);
    assert_eq!(out.matches("$${A:-").count(), 40 - DEEPEST);
}

#[test]
fn a_name_inside_something_unfinished_still_counts() {
    all_become(
        CLAUDE,
        &[
            ("${", "$${"),
            ("${}", "$${}"),
            ("${A", "$${A"),
            ("${A:-${B}", "$${A:-${B}"),
            ("}${A}}", "}${A}}"),
            ("${a-b}", "$${a-b}"),
            ("${ä}", "$${ä}"),
            ("ä${A}ö", "ä${A}ö"),
        ],
    );
}

#[test]
fn a_command_is_a_command_only_where_its_product_says_so() {
    let value = |text, syntax| translate_value(text, syntax).text.into_owned();
    assert_eq!(value("!op read ${A}", CLAUDE.union(Syntax::COMMANDS)), "!op read ${A}");
    assert_eq!(value("!pass${A}", CLAUDE), "$!pass${A}");
    assert_eq!(value("!pass${A}", Syntax::LITERAL), "$!pass$${A}");
    assert_eq!(value("$!pass", Syntax::LITERAL), "$$!pass");
    assert_eq!(value("a!b", Syntax::LITERAL), "a!b");
    assert_eq!(value("!op {env:A}", Syntax::OURS), "!op {env:A}");
    assert_eq!(value("$!{env:A}", Syntax::OURS), "$!${A}");
}

#[test]
fn a_substitution_is_text_and_told_of() {
    let crush = CLAUDE.union(Syntax::DOLLAR).union(Syntax::SUBSTITUTION);
    let translated = translate("Bearer $(cat $A ${A}) $A", crush);
    assert_eq!(translated.text, "Bearer $(cat $A $${A}) ${A}");
    assert!(translated.not_run);
    assert!(!translate("$(cat key)", CLAUDE).not_run);
    all_become(crush, &[("$(cat $A", "$(cat ${A}"), ("$()", "$()")]);
}

#[test]
fn every_field_of_a_definition_with_references_is_translated() {
    let mut definition = json!({
        "command": "$C", "args": ["$A", 7], "cwd": "$D", "envFile": "$F", "url": "$U",
        "env": {"E": "$E", "N": 1, "X": "!x"}, "headers": {"H": "$(run)"}, "other": "$O",
    });
    let syntax = GEMINI.union(Syntax::SUBSTITUTION);
    let fields = definition.as_object_mut().expect("an object");
    assert_eq!(translate_definition(fields, syntax), ["headers"]);
    assert_eq!(
        definition,
        json!({
            "command": "${C}", "args": ["${A}", 7], "cwd": "${D}", "envFile": "${F}", "url": "${U}",
            "env": {"E": "${E}", "N": 1, "X": "$!x"}, "headers": {"H": "$(run)"}, "other": "$O",
        })
    );
}

#[test]
fn where_only_headers_have_references_the_rest_is_literal() {
    let mut definition = json!({"url": "${U}", "env": {"E": "${E}"}, "headers": {"H": "${H}"}});
    let syntax = Syntax::BRACES.union(Syntax::HEADERS_ONLY);
    translate_definition(definition.as_object_mut().expect("an object"), syntax);
    assert_eq!(
        definition,
        json!({"url": "$${U}", "env": {"E": "$${E}"}, "headers": {"H": "${H}"}})
    );
}

#[test]
fn hostile_text_takes_linear_time() {
    let every = Syntax::all().difference(Syntax::HEADERS_ONLY);
    // More than linear time would not finish.
    for unit in
        ["${", "${A:-", "{env:", "{file:", "%A", "${{ secrets.", "${{ ", "$", "}", "$$", "${A:-}"]
    {
        let text = unit.repeat((1 << 18) / unit.len());
        for syntax in [every, every.difference(Syntax::CANONICAL), Syntax::OURS, Syntax::LITERAL] {
            translate(&text, syntax);
        }
    }
    let closed = format!("{}{}", "${A:-".repeat(100_000), "}".repeat(100_000));
    translate(&closed, every);
}
