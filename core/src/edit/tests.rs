use std::path::Path;

use serde_json::json;

use super::*;

fn target(directory: &Path, name: &str, text: &str) -> EditTarget {
    let file = directory.join(name);
    std::fs::write(&file, text).unwrap();
    EditTarget::file(file)
}

fn changed(name: &str, text: &str, with: impl FnOnce(&EditTarget) -> Result<Edited>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let target = target(directory.path(), name, text);
    with(&target).unwrap_or_else(|error| panic!("{error}\n{text}"));
    std::fs::read_to_string(target.path().unwrap()).unwrap()
}

fn refused(name: &str, text: &str, with: impl FnOnce(&EditTarget) -> Result<Edited>) -> Error {
    let directory = tempfile::tempdir().unwrap();
    let target = target(directory.path(), name, text);
    let error = with(&target).unwrap_err();
    assert_eq!(std::fs::read_to_string(target.path().unwrap()).unwrap(), text, "left alone");
    error
}

/// Indented texts in the tests, without their common indentation.
fn lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_start_matches('\n').lines().collect();
    let indent = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = indent.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| format!("{}\n", line.get(indent..).unwrap_or(""))).collect::<String>()
}

fn search() -> Value {
    json!({"command": "npx", "args": ["-y", "search"], "env": {"KEY": "${KEY}", "on": "yes: #"}})
}

#[test]
fn a_server_is_added_behind_the_others_in_json() {
    let before = lines(
        r#"
        // my servers
        {
            "$schema": "x", // keep
            "mcpServers": {
                /* the first */
                "a": {"command": "x"}, // inline
            },
            "other": [1,2 , 3],
        }"#,
    );
    let after = changed("mcp.json", &before, |target| add(target, "b", search()));
    let expected = lines(
        r#"
        // my servers
        {
            "$schema": "x", // keep
            "mcpServers": {
                /* the first */
                "a": {"command": "x"}, // inline
                "b": {
                    "command": "npx",
                    "args": ["-y", "search"],
                    "env": {
                        "KEY": "${KEY}",
                        "on": "yes: #",
                    },
                },
            },
            "other": [1,2 , 3],
        }"#,
    );
    assert_eq!(after, expected);
}

#[test]
fn a_server_is_added_behind_the_others_in_toml() {
    let before = lines(
        r#"
        # my config
        model = "x" # keep

        # the first
        [mcp_servers.a]
        command = 'x'
        [mcp_servers.a.env]
        A = "1"

        # others
        [other]
        b   =   1"#,
    );
    let after = changed("config.toml", &before, |target| add(target, "b.c", search()));
    let expected = lines(
        r#"
        # my config
        model = "x" # keep

        # the first
        [mcp_servers.a]
        command = 'x'
        [mcp_servers.a.env]
        A = "1"

        [mcp_servers."b.c"]
        command = "npx"
        args = ["-y", "search"]
        env_vars = ["KEY"]
        env = { on = "yes: #" }

        # others
        [other]
        b   =   1"#,
    );
    assert_eq!(after, expected);
}

#[test]
fn a_server_is_added_behind_the_others_in_yaml() {
    let before = lines(
        r#"
        # my config
        extensions:
            # the first
            a:   # about a
                cmd: x
                args: [ 'y' ]
                # timeout: 5

        # others
        other: &x
          - 1
        last: *x"#,
    );
    let after = changed("config.yaml", &before, |target| add(target, "b", search()));
    let expected = lines(
        r#"
        # my config
        extensions:
            # the first
            a:   # about a
                cmd: x
                args: [ 'y' ]
                # timeout: 5
            b:
                type: stdio
                cmd: npx
                args:
                    - "-y"
                    - search
                envs:
                    KEY: "${KEY}"
                    "on": "yes: #"
                name: b
                description: ""
                enabled: true

        # others
        other: &x
          - 1
        last: *x"#,
    );
    assert_eq!(after, expected);
}

#[test]
fn the_first_server_makes_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let texts = [
        (
            "mcp.json",
            "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\"\n    }\n  }\n}\n",
        ),
        ("mcp.yaml", "mcpServers:\n  a:\n    command: x\n"),
        ("mcp.toml", "[mcpServers.a]\ncommand = \"x\"\n"),
    ];
    for (name, text) in texts {
        let path = directory.path().join("deep/er").join(name);
        let edited =
            add(&EditTarget::file(&path), "a", json!({"command": "x", "cwd": null})).unwrap();
        assert_eq!(edited.path, path);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn line_ends_and_byte_order_marks_and_missing_last_line_ends_stay() {
    let texts = [
        (
            "mcp.json",
            "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"}\r\n\t}\r\n}",
        ),
        ("mcp.yaml", "\u{feff}mcpServers:\r\n  a:\r\n    command: x # é\r\n    args:\r\n    - y"),
        ("mcp.toml", "\u{feff}# é\r\n[mcpServers.a]\r\ncommand = 'x'\r\n"),
    ];
    for (name, text) in texts {
        let after = changed(name, text, |target| add(target, "b", search()));
        assert!(after.starts_with('\u{feff}'), "{after:?}");
        assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
        assert_eq!(after.ends_with('\n'), text.ends_with('\n'), "{after:?}");
        let back = changed(name, &after, |target| remove(target, "b"));
        let squeezed = |text: &str| text.replace(['\r', '\n'], "");
        assert_eq!(squeezed(&back), squeezed(text), "{back:?}");
    }
}

#[test]
fn removing_leaves_the_comments_of_others_and_those_above() {
    let json = "{\n  \"mcpServers\": {\n    // a\n    \"a\": {\"command\": \"x\"}, // tail\n    // b\n    \"b\": {\n      \
                // inside\n      \"command\": \"y\"\n    }\n  }\n}\n";
    let after = changed("m.json", json, |target| remove(target, "b"));
    let expected = "{\n  \"mcpServers\": {\n    // a\n    \"a\": {\"command\": \"x\"} // tail\n    // b\n  }\n}\n";
    assert_eq!(after, expected);
    let yaml = "# head\nmcpServers:\n  # a\n  a: {command: x} # tail\n\n  # b\n  b:\n    # inside\n    command: y\n\
                # end\nother: 1\n";
    let after = changed("m.yaml", yaml, |target| remove(target, "b"));
    assert_eq!(
        after,
        "# head\nmcpServers:\n  # a\n  a: {command: x} # tail\n\n  # b\n# end\nother: 1\n"
    );
    let toml = "# head\n\n# a\n[mcp_servers.a]\ncommand = 'x'\n# a env\n[mcp_servers.a.env]\nA = '1'\n\n# b\n\
                [mcp_servers.b]\ncommand = 'y'\n# end\n";
    let after = changed("m.toml", toml, |target| remove(target, "a"));
    assert_eq!(after, "# head\n\n# a\n# a env\n\n# b\n[mcp_servers.b]\ncommand = 'y'\n# end\n");
    let after = changed("m.toml", toml, |target| remove(target, "b"));
    assert!(after.contains("# b") && after.contains("# end") && !after.contains("'y'"), "{after}");
}

#[test]
fn the_last_server_leaves_an_empty_place_that_takes_the_next() {
    let texts = [
        ("m.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"k\": 1}"),
        ("m.yaml", "mcpServers: # all\n  a:\n    command: x\nk: 1\n"),
        ("m.yaml", "{mcpServers: {a: {command: x}}, k: 1}\n"),
        ("m.toml", "k = 1\n[mcpServers.a]\ncommand = 'x'\n"),
        ("m.toml", "k = 1\nmcpServers.a.command = 'x'\n"),
        ("m.toml", "k = 1\nmcpServers = {a = {command = 'x'}}\n"),
        ("m.toml", "k = 1\n[mcpServers]\na = {command = 'x'}\n"),
    ];
    for (name, text) in texts {
        let empty = changed(name, text, |target| remove(target, "a"));
        let value = parse::parse(&empty, Format::from_path(Path::new(name))).unwrap().value;
        assert_eq!(value, json!({"mcpServers": {}, "k": 1}), "{empty}");
        let again = changed(name, &empty, |target| add(target, "b", search()));
        let value = parse::parse(&again, Format::from_path(Path::new(name))).unwrap().value;
        assert_eq!(value, json!({"mcpServers": {"b": search()}, "k": 1}), "{again}");
    }
}

#[test]
fn fields_are_changed_one_by_one() {
    let changes =
        json!({"timeout": 7, "args": ["p", "q"], "env": {"B": "2"}, "cwd": null, "url": null});
    let json = "{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\", // the program\n    \"timeout\": 5, // ms\n    \
                \"cwd\": \"/\",\n    \"k\": 1 // odd\n  }\n}}\n";
    let after = changed("m.json", json, |target| update(target, "a", changes.clone()));
    let expected = "{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\", // the program\n    \"timeout\": 7, // ms\n    \
                    \"k\": 1, // odd\n    \"args\": [\"p\", \"q\"],\n    \"env\": {\n      \"B\": \"2\"\n    }\n  }\n}}\n";
    assert_eq!(after, expected);
    let yaml = "mcpServers:\n  a:\n    command: x # the program\n    timeout: 5 # ms\n    cwd: /\n    args: [o]\n    k: 1\n";
    let after = changed("m.yaml", yaml, |target| update(target, "a", changes.clone()));
    let expected = "mcpServers:\n  a:\n    command: x # the program\n    timeout: 7 # ms\n    args:\n      - p\n      - q\n    \
                    k: 1\n    env:\n      B: \"2\"\n";
    assert_eq!(after, expected);
    let toml = "[mcpServers.a]\ncommand = 'x' # the program\ntimeout = 5 # ms\n# where\ncwd = '/'\nk = 1\n";
    let after = changed("m.toml", toml, |target| update(target, "a", changes.clone()));
    let expected = "[mcpServers.a]\ncommand = 'x' # the program\ntimeout = 7 # ms\n# where\nk = 1\n\
                    args = [\"p\", \"q\"]\nenv = { B = \"2\" }\n";
    assert_eq!(after, expected);
}

#[test]
fn an_update_is_checked_as_a_whole() {
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    let error = refused("m.json", text, |target| update(target, "a", json!({"url": "http://h/"})));
    assert!(error.message().starts_with("Invalid server config: Server \"a\": both \"command\""));
    let other = json!({"command": null, "url": "http://h/"});
    let after = changed("m.json", text, |target| update(target, "a", other));
    assert!(after.contains("http://h/") && !after.contains("command"), "{after}");
    let error = refused("m.json", text, |target| update(target, "a", json!([])));
    assert!(error.message().starts_with("Invalid server config: "));
}

#[test]
fn enable_and_disable_use_the_field_that_is_there() {
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    let off = changed("m.json", text, |target| disable(target, "a"));
    assert!(off.contains("\"enabled\": false"), "{off}");
    assert_eq!(changed("m.json", &off, |target| disable(target, "a")), off, "nothing to do");
    let on = changed("m.json", &off, |target| enable(target, "a"));
    assert!(!on.contains("enabled"), "{on}");
    assert_eq!(changed("m.json", text, |target| enable(target, "a")), text, "nothing to do");
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"disabled\": true}}, \"disabledServers\": [\"a\"]}";
    let on = changed("m.json", text, |target| enable(target, "a"));
    assert_eq!(
        on,
        "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"disabled\": false}}, \"disabledServers\": []}"
    );
    let off = changed("m.json", &on, |target| disable(target, "a"));
    assert!(off.contains("\"disabled\": true"), "{off}");
    let text = "mcpServers:\n  a: {command: x}\nenabledServers: []\n";
    assert!(
        changed("m.yaml", text, |target| enable(target, "a")).ends_with("enabledServers:\n  - a\n")
    );
}

#[test]
fn a_server_of_another_file_is_hidden_by_name() {
    let texts = [
        ("m.json", ""),
        (
            "m.json",
            "{\n  \"mcpServers\": {},\n  \"disabledServers\": [\n    \"a\" // why\n  ]\n}\n",
        ),
        ("m.yaml", ""),
        ("m.yaml", "disabledServers:\n- a # why\nmcpServers: {}\n"),
        ("m.yaml", "disabledServers: [a]\nmcpServers:\n"),
        ("m.yaml", "disabledServers:\n    - a\n    # more\n\nmcpServers: {}\n"),
        ("m.yaml", "disabledServers:\nmcpServers: {}\n"),
        ("m.toml", ""),
        ("m.toml", "disabledServers = [\n  'a', # why\n]\n[mcpServers.a]\ncommand = 'x'\n"),
    ];
    for (name, text) in texts {
        let value =
            |text: &str| parse::parse(text, Format::from_path(Path::new(name))).unwrap().value;
        let hidden = changed(name, text, |target| hide(target, "b"));
        let names = value(&hidden)["disabledServers"].clone();
        assert!(names == json!(["b"]) || names == json!(["a", "b"]), "{hidden}");
        assert!(value(&hidden)["mcpServers"].is_object(), "{hidden}");
        assert_eq!(hidden.matches("# why").count(), text.matches("# why").count());
        assert_eq!(changed(name, &hidden, |target| hide(target, "b")), hidden, "once is enough");
        let shown = changed(name, &hidden, |target| unhide(target, "b"));
        let names = value(&shown)["disabledServers"].clone();
        assert!(names == json!([]) || names == json!(["a"]), "{shown}");
        assert_eq!(changed(name, &shown, |target| unhide(target, "b")), shown);
        if names == json!(["a"]) {
            let none = changed(name, &shown, |target| unhide(target, "a"));
            assert_eq!(value(&none)["disabledServers"], json!([]), "{none}");
        }
    }
    let error = refused("m.json", "{\"disabledServers\": \"a\"}", |target| hide(target, "b"));
    assert!(error.message().contains("is not a list"), "{error}");
}

#[test]
fn the_container_is_the_one_that_is_there() {
    let texts = [
        ("m.json", "{\"servers\": {}}", "servers"),
        ("m.json", "{\"context_servers\": {}}", "context_servers"),
        ("m.json", "{\"mcp\": {\"a\": {\"type\": \"stdio\", \"command\": \"y\"}}}", "mcp"),
        ("m.json", "{\"mcp\": {\"allowed\": []}}", "mcpServers"),
        ("m.json", "{\"extensions\": {\"recommendations\": []}}", "mcpServers"),
        ("m.json", "{\"mcpServers\": null, \"servers\": 7}", "mcpServers"),
        ("m.json", "", "mcpServers"),
        ("m.toml", "[mcp_servers]\n", "mcp_servers"),
        ("m.toml", "x = 1\n", "mcpServers"),
        ("m.yaml", "mcpServers:\n", "mcpServers"),
        ("m.yaml", "mcpServers: # none yet\n  # really\nx: 1\n", "mcpServers"),
        ("m.yaml", "mcpServers: ~\n", "mcpServers"),
        ("m.yaml", "# only a comment\n", "mcpServers"),
        ("m.yaml", "---\nmcpServers: {}\n...\n", "mcpServers"),
        ("m.yaml", "---\n", "mcpServers"),
        ("m.yaml", "{}", "mcpServers"),
    ];
    for (name, text, container) in texts {
        let after = changed(name, text, |target| add(target, "n", json!({"command": "x"})));
        let value = parse::parse(&after, Format::from_path(Path::new(name))).unwrap().value;
        assert_eq!(value[container]["n"]["command"], "x", "{after}");
    }
    for text in ["{\"mcpServers\": []}", "[]", "7"] {
        let error = refused("m.json", text, |target| add(target, "n", json!({"command": "x"})));
        assert!(error.message().contains("not an object"), "{error}");
    }
}

#[test]
fn mistakes_have_the_contracts_texts_and_leave_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let text = "{\"mcpServers\": {\"search\": {\"command\": \"x\"}}}";
    let target = target(directory.path(), "mcp.json", text);
    let shown = target.path().unwrap().display().to_string();
    let error = add(&target, "search", json!({"command": "x"})).unwrap_err();
    assert_eq!(error.message(), format!("Server \"search\" already exists in {shown}"));
    for verb in [remove, enable, disable] {
        let error = verb(&target, "serch").unwrap_err();
        assert_eq!(error.message(), format!("Server \"serch\" not found in {shown}"));
        assert_eq!(error.hint(), Some("did you mean \"search\"?"));
        assert_eq!(error.code(), "SERVER_NOT_FOUND");
    }
    let error = add(&target, "b", json!({})).unwrap_err();
    assert_eq!(
        error.message(),
        "Invalid server config: Server \"b\": stdio server requires \"command\" field"
    );
    let error = add(&target, "b c", json!({"command": "x"})).unwrap_err();
    assert!(error.message().starts_with("Server name \"b c\" may only"), "{error}");
    let edited = add(&target, "b", json!({"command": "x", "colour": 1})).unwrap();
    assert_eq!(
        edited.warnings,
        ["Server \"b\": \"colour\" is no field of a server and has no effect"]
    );
    let missing = EditTarget::file(directory.path().join("none/mcp.json"));
    assert_eq!(remove(&missing, "a").unwrap_err().code(), "SERVER_NOT_FOUND");
    assert!(!directory.path().join("none").exists(), "nothing is made for nothing");
}

#[test]
fn what_cannot_be_read_is_never_written() {
    for (name, text) in
        [("m.json", "{\"a\": hunter2"), ("m.yaml", "a: [hunter2"), ("m.toml", "a = hunter2")]
    {
        let error = refused(name, text, |target| add(target, "n", json!({"command": "x"})));
        assert_eq!(error.code(), "CONFIG_INVALID");
        assert!(
            error.message().contains(&format!("{name}:")) && !error.message().contains("hunter2")
        );
    }
}

#[test]
fn what_cannot_be_changed_in_place_is_refused() {
    let alias = "base: &b {command: x}\nmcpServers:\n  a: *b\n";
    let error = refused("m.yaml", alias, |target| update(target, "a", json!({"timeout": 5})));
    assert!(error.message().contains("alias"), "{error}");
    let anchor = "mcpServers:\n  a: &a {command: x}\n  b: *a\n";
    let error = refused("m.yaml", anchor, |target| remove(target, "a"));
    assert!(error.message().contains("cannot be changed"), "{error}");
    let merged = "base: &b {command: x, timeout: 5}\nmcpServers:\n  a:\n    <<: *b\n";
    refused("m.yaml", merged, |target| update(target, "a", json!({"timeout": null})));
    let null = json!({"command": "x", "auth": {"a": null}});
    let error = refused("m.toml", "", |target| add(target, "a", null.clone()));
    assert!(error.message().contains("null"), "{error}");
    let twice = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"a\": {\"command\": \"y\"}}}";
    refused("m.json", twice, |target| remove(target, "a"));
    let after = changed("m.json", twice, |target| add(target, "b", json!({"command": "x"})));
    assert!(after.contains("\"b\""), "the duplicate stays what it is");
}

#[test]
fn odd_yaml_keeps_its_look() {
    let texts = [
        "mcpServers: {a: {command: x}, b: {command: y, }, }\n",
        "mcpServers: {\n  a: {command: x},\n  b: {command: y} # last\n}\n",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"command\": \"y\"}}}",
        "\"mcpServers\" :\n      'a' :\n         command : x\n      b: {}\nz: |+\n  text\n\n\n",
        "mcpServers:\n  a:\n    command: >-\n      x\n\n  b:\n    command: |\n      y\n\n\n",
        "mcpServers:\n  a: !!map\n    command: x\n  b: &anchor\n    command: y\nc: *anchor\n",
        "mcpServers:\n  a:\n    args:\n    - x\n    - - y\n      - z\n    command: x\n  b:\n    env:\n",
        "%YAML 1.2\n---\nmcpServers:\n  a: {command: x}\n  b: {command: y}\n---\nmcpServers: {}\n",
        "mcpServers:\n  a:\n    command: a very long\n      text # with a comment\n  b:\n    command: \"two\n      lines\"",
        "é: ü # ñ\nmcpServers:\n  a: {command: é}\n  b: {command: \"ü\"} # 🦀\n# 🦀\n",
    ];
    let value = |text: &str| parse::parse(text, Format::Yaml).unwrap().value;
    for text in texts {
        let mut expected = value(text);
        let after = changed("m.yaml", text, |target| add(target, "n", search()));
        expected["mcpServers"]["n"] = search();
        assert_eq!(value(&after), expected, "{after}");
        let back = changed("m.yaml", &after, |target| remove(target, "n"));
        assert_eq!(value(&back), value(text), "{after}");
        assert_eq!(back.trim_end(), text.trim_end(), "{after}");
        let after = changed("m.yaml", text, |target| disable(target, "a"));
        assert_eq!(value(&after)["mcpServers"]["a"]["enabled"], json!(false), "{after}");
        let back = changed("m.yaml", &after, |target| enable(target, "a"));
        assert_eq!(back.trim_end(), text.trim_end(), "{after}");
    }
}

#[test]
fn any_value_goes_into_any_format_and_out_again() {
    let mut rng = fastrand::Rng::with_seed(11);
    let letters = [
        "a", "Z", " ", "é", "\"", "\\", "${X}", "\n", "🦀", ":", "#", "-", "'", "0", "\t", "{",
        "]", ",", "&", "*", "!", "|", ">", "%", "@", "`", "\u{7f}", "\u{85}", "\u{2028}",
        "\u{feff}", "\r", "null", "~", "1e5", "yes", "\u{1}", "=", "?",
    ];
    let text = |rng: &mut fastrand::Rng| -> String {
        (0..rng.usize(0..5)).map(|_| letters[rng.usize(0..letters.len())]).collect()
    };
    for (name, head) in [("m.json", "// keep\n"), ("m.yaml", "# keep\n"), ("m.toml", "# keep\n")] {
        let directory = tempfile::tempdir().unwrap();
        let target = target(directory.path(), name, head);
        let mut expected = json!({"mcpServers": {}});
        for round in 0..150 {
            let key = format!("s{}", rng.usize(0..8));
            let definition = json!({
                "command": format!("x{}", text(&mut rng)), "args": [text(&mut rng), text(&mut rng)],
                "env": {text(&mut rng): text(&mut rng), "A": text(&mut rng)}, "timeout": rng.u32(1..),
            });
            let there = expected["mcpServers"].get(&key).is_some();
            let before = std::fs::read_to_string(target.path().unwrap()).unwrap();
            let outcome = match rng.u8(0..4) {
                0 if there => {
                    expected["mcpServers"].as_object_mut().unwrap().shift_remove(&key);
                    remove(&target, &key)
                }
                1 if there => {
                    expected["mcpServers"][&key]["env"] = definition["env"].clone();
                    expected["mcpServers"][&key]["args"] = definition["args"].clone();
                    update(
                        &target,
                        &key,
                        json!({"env": definition["env"], "args": definition["args"]}),
                    )
                }
                _ if !there => {
                    expected["mcpServers"][&key] = definition.clone();
                    add(&target, &key, definition)
                }
                _ => continue,
            };
            outcome.unwrap_or_else(|error| panic!("{name} {round}: {error}\n{before}"));
            let after = std::fs::read_to_string(target.path().unwrap()).unwrap();
            let read = parse::parse(&after, Format::from_path(Path::new(name))).unwrap();
            assert_eq!(read.value, expected, "{after}");
            assert!(after.contains("keep"), "{after}");
        }
    }
}

#[test]
fn any_text_is_edited_or_refused_and_keeps_its_comments() {
    let yaml = [
        "mcpServers:",
        "\n",
        "\n  ",
        "\n    ",
        "\n      ",
        "a:",
        " b:",
        " {",
        "}",
        "[",
        "]",
        ",",
        " x",
        " # c\n",
        "- ",
        " |\n",
        " >-\n",
        " 'q'",
        " \"d\"",
        " &k",
        " *k",
        " ~",
        "? ",
        ": ",
        "---\n",
        "é",
        "\t",
        "disabledServers:",
        " command: x",
        "\r\n",
        " !!str",
        "<<: *k",
        "\n  a:\n    command: x",
        "\n  b: {command: y}",
    ];
    let json = [
        "{",
        "}",
        "\"mcpServers\":",
        "\"a\":",
        "{\"command\": \"x\"}",
        "[",
        "]",
        ",",
        "\n",
        "  ",
        "// c\n",
        "/* c */",
        "null",
        "1",
        "\"disabledServers\":",
        "\"é\"",
        "\r\n",
        "\"b\": {}",
        "\t",
    ];
    let toml = [
        "[mcpServers]\n",
        "[mcpServers.a]\n",
        "[mcpServers.a.env]\n",
        "command = 'x'\n",
        "a = {command = 'x'}\n",
        "# c\n",
        "\n",
        "mcpServers.b.command = 'x'\n",
        "[[x]]\n",
        "y = [1, # c\n 2]\n",
        "disabledServers = ['a']\n",
        "\r\n",
        "[z]\n",
        "  ",
        "'é' = 1\n",
        "[mcpServers.b]\n",
    ];
    let mut rng = fastrand::Rng::with_seed(3);
    let mut edited = 0;
    for round in 0..6000 {
        let (format, pieces): (_, &[&str]) =
            [(Format::Yaml, &yaml[..]), (Format::Json, &json[..]), (Format::Toml, &toml[..])]
                [round % 3];
        let head = ["mcpServers:\n  a:", "{\"mcpServers\": {\"a\": {}", ""][round % 3];
        let count = rng.usize(0..10);
        let random: String = (0..count).map(|_| pieces[rng.usize(0..pieces.len())]).collect();
        let tail = if format == Format::Json && rng.bool() { "}}" } else { "" };
        let text = format!("{}{random}{tail}", if rng.u8(0..4) == 0 { "" } else { head });
        let Ok(parsed) = parse::parse(&text, format) else { continue };
        if !parsed.value.is_object() {
            continue;
        }
        let changes = [
            DocumentChange::set(vec!["mcpServers".into(), "n".into()], search()),
            DocumentChange::set(
                vec!["mcpServers".into(), "a".into(), "enabled".into()],
                json!(false),
            ),
            DocumentChange::remove(vec!["mcpServers".into(), "a".into()]),
            DocumentChange::push(vec!["disabledServers".into()], "a"),
            DocumentChange::pull(vec!["disabledServers".into()], "a"),
        ];
        for change in changes {
            let mut intended = parsed.value.clone();
            change.apply(&mut intended);
            let is_removal =
                matches!(change, DocumentChange::Remove { .. } | DocumentChange::Pull { .. });
            let mut intended = parsed.value.clone();
            change.apply(&mut intended);
            if let Ok(new) = rewritten(&text, format, &intended, &[change]) {
                edited += 1;
                assert_eq!(parse::parse(&new, format).unwrap().value, intended);
                let comments = |text: &str| text.matches(['#', '/']).count();
                assert!(is_removal || comments(&new) >= comments(&text), "{text}\n→\n{new}");
            }
        }
    }
    assert!(edited > 1000, "{edited}");
}

#[test]
fn an_entry_of_an_object_changes_without_its_neighbours() {
    let change = |name: &str, text: &str, changes: Value| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        update(&EditTarget::file(&path), "a", changes).unwrap();
        std::fs::read_to_string(&path).unwrap()
    };
    let env = || json!({"env": {"B": "3", "C": "4"}});
    let texts = [
        (
            "c.jsonc",
            "{\"mcpServers\": {\"a\": {\n  \"command\": \"x\",\n  \"env\": {\n    \"A\": \"1\",\n    // why\n    \"B\": \"2\" // two\n  }\n}}}\n",
            "{\"mcpServers\": {\"a\": {\n  \"command\": \"x\",\n  \"env\": {\n    // why\n    \"B\": \"3\", // two\n    \"C\": \"4\"\n  }\n}}}\n",
        ),
        (
            "c.yaml",
            "mcpServers:\n  a:\n    command: x\n    env:\n      A: one\n      # why\n      B: two # two\n    lazy: true # later\n",
            "mcpServers:\n  a:\n    command: x\n    env:\n      # why\n      B: \"3\" # two\n      C: \"4\"\n    lazy: true # later\n",
        ),
        (
            "c.toml",
            "[mcpServers.a]\ncommand = \"x\"\n\n[mcpServers.a.env]\nA = \"1\"\n# why\nB = \"2\" # two\n",
            "[mcpServers.a]\ncommand = \"x\"\n\n[mcpServers.a.env]\n# why\nB = \"3\" # two\nC = \"4\"\n",
        ),
        (
            ".config/goose/config.yaml",
            "extensions:\n  a:\n    type: stdio\n    cmd: x\n    envs:\n      A: one\n      # why\n      B: two # two\n    enabled: true # later\n",
            "extensions:\n  a:\n    type: stdio\n    cmd: x\n    envs:\n      # why\n      B: \"3\" # two\n      C: \"4\"\n    enabled: true # later\n",
        ),
    ];
    for (name, text, expected) in texts {
        assert_eq!(change(name, text, env()), expected, "{name}");
    }
    let alias = "x: &e {A: '1'}\nmcpServers:\n  a:\n    command: x\n    env: *e\n";
    assert!(change("c.yaml", alias, env()).contains("x: &e {A: '1'}"));
}

#[test]
fn a_change_replaces_every_other_word_for_the_field() {
    let cases = [
        (
            json!({"httpUrl": "https://old/"}),
            json!({"url": "https://new/"}),
            json!({"url": "https://new/"}),
        ),
        (
            json!({"httpUrl": "https://old/"}),
            json!({"url": null, "command": "new"}),
            json!({"command": "new"}),
        ),
        (
            json!({"command": "x", "disabled": true}),
            json!({"enabled": true}),
            json!({"command": "x"}),
        ),
        (
            json!({"command": "x", "disabled": true}),
            json!({"enabled": null}),
            json!({"command": "x"}),
        ),
        (
            json!({"command": "x", "enabled": true}),
            json!({"disabled": true}),
            json!({"command": "x", "enabled": false}),
        ),
        (
            json!({"command": "x", "enabled_tools": ["a"]}),
            json!({"enabledTools": ["b"]}),
            json!({"command": "x", "enabledTools": ["b"]}),
        ),
        (
            json!({"command": "x", "tools": ["a"]}),
            json!({"enabledTools": ["b"]}),
            json!({"command": "x", "enabledTools": ["b"]}),
        ),
        (
            json!({"command": "x", "tools": {"a": {"enabled": false}}}),
            json!({"disabledTools": ["b"]}),
            json!({"command": "x", "disabledTools": ["b", "a"]}),
        ),
        (
            json!({"command": "x", "tools": ["a"]}),
            json!({"tools": {"b": {"enabled": false}}}),
            json!({"command": "x", "disabledTools": ["b"]}),
        ),
        (
            json!({"command": "x", "startup_timeout_sec": 5}),
            json!({"timeout": null}),
            json!({"command": "x"}),
        ),
        (
            json!({"command": ["x", "y"]}),
            json!({"args": ["z"]}),
            json!({"command": "x", "args": ["z"]}),
        ),
        (
            json!({"command": "x", "env_vars": ["P", "Q"]}),
            json!({"env": {"P": "${P}", "A": "1"}}),
            json!({"command": "x", "env": {"A": "1", "P": "${P}"}}),
        ),
    ];
    for (entry, changes, wanted) in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("own.json");
        std::fs::write(&path, json!({"mcpServers": {"a": entry}}).to_string()).unwrap();
        update(&EditTarget::file(&path), "a", changes.clone()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let config = crate::config::Config::from_file(&path).unwrap();
        let read = config.servers["a"].config.as_ref().unwrap().to_value();
        assert_eq!(read, wanted, "{changes}: {text}");
    }
}
