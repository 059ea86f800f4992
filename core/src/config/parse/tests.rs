use serde_json::json;

use super::*;

const ALL: [Format; 3] = [Format::Json, Format::Yaml, Format::Toml];

fn value(text: &str, format: Format) -> Value {
    let parsed = parse(text, format).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(parsed.remarks.is_empty(), "{:?}", parsed.remarks);
    parsed.value
}

fn error(text: &str, format: Format) -> SyntaxError {
    parse(text, format).expect_err(&text.chars().take(80).collect::<String>())
}

#[test]
fn the_ending_tells_the_format() {
    let formats = [
        ("a.json", Format::Json),
        ("a.jsonc", Format::Json),
        (".claude.json", Format::Json),
        ("a.YAML", Format::Yaml),
        ("a.yml", Format::Yaml),
        ("a.toml", Format::Toml),
        ("a", Format::Json),
        ("a.txt", Format::Json),
    ];
    for (path, format) in formats {
        assert_eq!(Format::from_path(Path::new(path)), format, "{path}");
    }
}

#[test]
fn the_same_config_reads_the_same_in_each_format() {
    let json = r#"{"mcpServers": {"b": {"command": "x", "args": ["-p", 80], "env": {"A": "1"}, "lazy": true},
                   "a": {"url": "http://h/", "timeout": 1.5}}}"#;
    let yaml = "mcpServers:\n  b:\n    command: x\n    args: [-p, 80]\n    env: {A: '1'}\n    lazy: true\n  \
                a:\n    url: http://h/\n    timeout: 1.5\n";
    let toml = "[mcpServers.b]\ncommand = \"x\"\nargs = [\"-p\", 80]\nenv = {A = \"1\"}\nlazy = true\n\
                [mcpServers.a]\nurl = 'http://h/'\ntimeout = 1.5\n";
    let expected = serde_json::from_str::<Value>(json).unwrap();
    for (text, format) in [json, yaml, toml].into_iter().zip(ALL) {
        let read = value(text, format);
        assert_eq!(read, expected);
        assert_eq!(read.to_string(), expected.to_string(), "order is kept");
        assert_eq!(value(&format!("\u{feff}{text}"), format), expected, "byte order mark");
        assert_eq!(value(&text.replace('\n', "\r\n"), format), expected, "line ends");
    }
}

#[test]
fn an_empty_text_is_an_empty_object() {
    let empty = ["", "\n \n", "\u{feff}"];
    for format in ALL {
        for text in empty {
            assert_eq!(value(text, format), json!({}));
        }
    }
    assert_eq!(value("// nothing\n/* yet */", Format::Json), json!({}));
    assert_eq!(value("# nothing\n---\n", Format::Yaml), json!({}));
    assert_eq!(value("# nothing\n", Format::Toml), json!({}));
}

#[test]
fn comments_and_trailing_commas_are_fine_in_json_and_nothing_else_is() {
    let text = "// a\n{\"a\": [1, /* b */ 2,], // c\n \"b\": \"// no comment\",}\n";
    assert_eq!(value(text, Format::Json), json!({"a": [1, 2], "b": "// no comment"}));
    for text in
        ["{a: 1}", "{'a': 1}", "{\"a\" 1}", "[1 2]", "[0x10]", "[+1]", "[NaN]", "[.5]", "{} {}"]
    {
        error(text, Format::Json);
    }
}

#[test]
fn an_error_says_where_and_never_what() {
    let mistakes = [
        ("{\n  \"a\": hunter2\n}", Format::Json, (2, 8)),
        ("{\n  \"a\": \"\\uD8AB hunter2\"\n}", Format::Json, (2, 9)),
        ("{\n  \"a\": \"hunter2", Format::Json, (2, 8)),
        ("{\"é\": \"hunter2\" \"hunter2\"}", Format::Json, (1, 16)),
        ("a: 1\nb: \"hunter2\n", Format::Yaml, (2, 4)),
        ("a: 1\nb: [hunter2\n", Format::Yaml, (3, 1)),
        ("a: 1\n  b: hunter2\n", Format::Yaml, (2, 4)),
        ("a: *hunter2\n", Format::Yaml, (1, 4)),
        ("a: !hunter2!x y\n", Format::Yaml, (1, 4)),
        ("a: \"\\hunter2\"\n", Format::Yaml, (1, 4)),
        ("a = 1\nb = hunter2\n", Format::Toml, (2, 5)),
        ("a = 1\na = 'hunter2'\n", Format::Toml, (2, 1)),
        ("hunter2 hunter2\n", Format::Toml, (1, 9)),
    ];
    for (text, format, place) in mistakes {
        let error = error(text, format);
        assert_eq!((error.line, error.column), place, "{error} in {text:?}");
        assert!(!error.message.contains("hunter2"), "{error}");
        assert!(!error.message.contains("D8AB") && !error.message.contains("d8ab"), "{error}");
        assert!(error.message.starts_with(&format!("not {}: ", format.name())), "{error}");
        assert!(error.message.len() > "not JSON: ".len() + 4, "{error}");
    }
}

#[test]
fn a_duplicate_key_is_a_warning_that_names_it() {
    let texts = [
        ("{\"a\": 1,\n  \"b\": 2, \"a\": 3}", Format::Json, (2, 11)),
        ("a: 1\nb: 2\na: 3\n", Format::Yaml, (3, 1)),
        ("{a: 1, b: 2,\n \"a\": 3}", Format::Yaml, (2, 2)),
    ];
    for (text, format, (line, column)) in texts {
        let parsed = parse(text, format).unwrap();
        assert_eq!(parsed.value, json!({"a": 3, "b": 2}));
        let message = "\"a\" is there twice; the last one counts".to_owned();
        assert_eq!(parsed.remarks, [Remark { line, column, message }]);
    }
    assert!(error("a = 1\na = 2\n", Format::Toml).message.contains("duplicate"));
}

#[test]
fn of_many_duplicate_keys_a_few_are_told_and_the_rest_is_counted() {
    let text = format!("{{{}}}", vec!["\"a\": 1"; 30_000].join(","));
    let parsed = parse(&text, Format::Json).unwrap();
    assert_eq!(parsed.remarks.len(), MOST_REMARKS + 1);
    assert_eq!(parsed.remarks[MOST_REMARKS].message, "29979 more keys are there twice");
}

#[test]
fn yaml_words_are_read_by_its_core_schema() {
    let words = [
        ("~", json!(null)),
        ("True", json!(true)),
        ("yes", json!("yes")),
        ("off", json!("off")),
        ("-7", json!(-7)),
        ("+7", json!(7)),
        ("0x1F", json!(31)),
        ("0o17", json!(15)),
        ("0x+1", json!("0x+1")),
        ("0123", json!("0123")),
        ("1.5e3", json!(1500.0)),
        (".5", json!(0.5)),
        ("1.2.3", json!("1.2.3")),
        ("1e999", json!("1e999")),
        (".inf", json!(".inf")),
        (".nan", json!(".nan")),
        ("18446744073709551615", json!(u64::MAX)),
        ("184467440737095516150", json!(184467440737095516150.0)),
        ("2026-07-28", json!("2026-07-28")),
        ("-", json!([null])),
        ("- ", json!([null])),
        ("--", json!("--")),
        ("-y", json!("-y")),
        ("'5'", json!("5")),
        ("!!str 5", json!("5")),
        ("!secret 5", json!("5")),
        ("|-\n  two\n  lines", json!("two\nlines")),
    ];
    for (word, expected) in words {
        let text = if word.starts_with("- ") || word == "-" {
            format!("a:\n{word}\n")
        } else {
            format!("a: {word}\n")
        };
        assert_eq!(value(&text, Format::Yaml), json!({"a": expected}), "{word}");
    }
}

#[test]
fn what_no_json_number_can_hold_stays_as_it_is_written() {
    assert_eq!(value("[1e999, 123456789012345678901234567890]", Format::Json)[0], json!("1e999"));
    let toml = "a = inf\nb = nan\nc = 1979-05-27T07:32:00Z\nd = 07:32:00\n";
    let read = json!({"a": "inf", "b": "nan", "c": "1979-05-27T07:32:00Z", "d": "07:32:00"});
    assert_eq!(value(toml, Format::Toml), read);
}

#[test]
fn yaml_aliases_are_copies_and_merges_fill_in() {
    let text = "base: &base {command: x, env: {A: '1'}}\nplain: *base\nmore:\n  <<: *base\n  command: y\n\
                both:\n  <<: [{a: 1}, {a: 2, b: 2}]\nquoted: {\"<<\": 1}\n";
    let base = json!({"command": "x", "env": {"A": "1"}});
    let expected = json!({
        "base": base, "plain": base, "more": {"command": "y", "env": {"A": "1"}},
        "both": {"a": 1, "b": 2}, "quoted": {"<<": 1},
    });
    assert_eq!(value(text, Format::Yaml), expected);
    assert!(error("a: &a [*a]\n", Format::Yaml).message.contains("itself"));
    assert!(error("a:\n  <<: 5\n", Format::Yaml).message.contains("mapping"));
    assert!(error("? [a]\n: 1\n", Format::Yaml).message.contains("key"));
}

#[test]
fn of_several_yaml_documents_the_first_counts() {
    let parsed = parse("a: 1\n---\nb: [unclosed\n", Format::Yaml).unwrap();
    assert_eq!(parsed.value, json!({"a": 1}));
    assert_eq!(parsed.remarks.len(), 1);
    assert_eq!((parsed.remarks[0].line, parsed.remarks[0].column), (2, 1));
    assert_eq!(value("---\na: 1\n...\n", Format::Yaml), json!({"a": 1}));
}

#[test]
fn a_short_yaml_cannot_become_a_long_value() {
    let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert!(error(&laughs, Format::Yaml).message.contains("aliases"));
    let long = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 1000].join(", "));
    assert!(error(&long, Format::Yaml).message.contains("aliases"));
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for level in 1..1000 {
        chain.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    assert!(error(&chain, Format::Yaml).message.contains("deep"));
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let deep = |open: &str, close: &str, n| format!("{}{}", open.repeat(n), close.repeat(n));
    for n in [DEEPEST + 2, 600, 100_000, 1 << 20] {
        for text in [deep("[", "]", n), "[".repeat(n), deep("{\"a\":", "}", n), "{\"a\":".repeat(n)]
        {
            let error = error(&text, Format::Json);
            assert!(error.message.contains("deep") || n < 200, "{error}");
        }
        for text in
            [deep("[", "]", n), "[".repeat(n), "{".repeat(n), "- ".repeat(n), "? ".repeat(n)]
        {
            error(&text, Format::Yaml);
        }
        error(&format!("a = {}", deep("[", "]", n)), Format::Toml);
        error(&format!("a = {}", "{a=".repeat(n)), Format::Toml);
        error(&format!("a{} = 1", ".a".repeat(n)), Format::Toml);
        error(&format!("[a{}]", ".a".repeat(n)), Format::Toml);
    }
    value(&deep("[", "]", 100), Format::Json);
    value(&deep("[", "]", 100), Format::Yaml);
}

#[test]
fn a_nul_is_a_character_like_any_other() {
    assert_eq!(value(r#"{"a": "x\u0000y"}"#, Format::Json), json!({"a": "x\0y"}));
    assert_eq!(value("a: \"x\\0y\"\n", Format::Yaml), json!({"a": "x\0y"}));
    assert_eq!(value("a = \"x\\u0000y\"\n", Format::Toml), json!({"a": "x\0y"}));
    for format in ALL {
        for text in ["\0", "a: \0\n", "{\"a\": \"\0\"}", "a = '\0'", "\0\0\0\0"] {
            let _ = parse(text, format);
        }
    }
}

#[test]
fn much_of_anything_is_read_or_refused() {
    let pieces = [
        "[",
        "]",
        "{",
        "}",
        "{\"a\":",
        "\"",
        "\\",
        "a",
        " ",
        "\n",
        "\t",
        "\r",
        ",",
        ":",
        "-",
        "- ",
        "- a\n",
        "? ",
        "a: ",
        "a: b\n",
        "a: {b: c}\n",
        "[a],",
        "&a ",
        "*a ",
        "!!str ",
        "! ",
        "|\n",
        ">\n",
        "#",
        "# a\n",
        "%TAG ! x\n",
        "---\n",
        "...\n",
        "/*",
        "//",
        "/**/",
        "'",
        "''",
        "\"\"",
        "\"\\u0041\"",
        "a = 1\n",
        "[a]\n",
        "[[a]]\n",
        "a.",
        "a.b=1\n",
        "=",
        "1,",
        "-1e5",
        "0",
        "é",
        "\u{2028}",
        "\0",
        "<<: *a\n",
        "a: &a b\n",
        " a:\n",
        "[a: b, ",
        "{? ",
    ];
    for piece in pieces {
        for format in ALL {
            let _ = parse(&piece.repeat((64 << 10) / piece.len()), format);
        }
    }
}
