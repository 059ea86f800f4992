use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::config::Config;
use crate::edit::{EditTarget, Edited, add, disable, enable, remove, update};
use crate::provider::{PROVIDERS, recognise};

/// A file of a product, in a directory of its own.
struct Sample {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl Sample {
    fn new(path: &str, text: &str) -> Sample {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        Sample { _directory: directory, path }
    }

    fn edit(&self, with: impl FnOnce(&EditTarget) -> Result<Edited>) -> Edited {
        let text = self.text();
        with(&EditTarget::file(&self.path)).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn refuses(&self, with: impl FnOnce(&EditTarget) -> Result<Edited>) -> Error {
        let text = self.text();
        let error = with(&EditTarget::file(&self.path)).expect_err(&text);
        assert_eq!(self.text(), text, "left alone");
        error
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }

    /// The definition of a server, as it is read from the file.
    fn read(&self, name: &str) -> Value {
        let config = Config::from_file(&self.path).unwrap();
        let declared = config.servers.get(name).unwrap_or_else(|| panic!("{}", self.text()));
        declared.config.as_ref().unwrap().to_value()
    }
}

/// Every file of every product among the samples of the importer.
fn samples() -> Vec<(&'static str, String, String)> {
    fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => walk(&path, found),
                path => found.push(path),
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/configs");
    let mut samples = Vec::new();
    for provider in PROVIDERS.iter().filter(|provider| !provider.is_own) {
        let mut found = Vec::new();
        walk(&root.join(provider.name).join("linux"), &mut found);
        for path in found.iter().filter(|path| path.extension().is_some_and(|it| it != "md")) {
            let text = std::fs::read_to_string(path).unwrap();
            let relative = path.strip_prefix(root.join(provider.name).join("linux")).unwrap();
            let relative = relative.to_str().unwrap().to_owned();
            let Ok(document) = crate::config::parse_document(path, &text) else { continue };
            let document = document.value.as_object().cloned().unwrap_or_default();
            let by_path = recognise(Some(path), &document);
            if by_path.iter().any(|it| it.name == provider.name) {
                samples.push((provider.name, relative, text));
            }
        }
    }
    samples
}

#[test]
fn two_times_of_one_update_are_both_kept() {
    let text = r#"{"mcpServers": {"s": {"command": "p", "timeout": 5}}}"#;
    let sample = Sample::new("cline_mcp_settings.json", text);
    let changes = json!({"timeout": 9000, "toolTimeout": 8000});
    sample.edit(|target| update(target, "s", changes));
    let read = sample.read("s");
    assert_eq!((&read["timeout"], &read["toolTimeout"]), (&json!(9000), &json!(8000)));
    let edited = sample.edit(|target| update(target, "s", json!({"toolTimeout": 7000})));
    assert_eq!(sample.read("s")["toolTimeout"], 7000, "{:?}", edited.warnings);
    assert_eq!(sample.read("s")["timeout"], 9000, "{:?}", edited.warnings);
}

#[test]
fn a_server_comes_and_goes_in_every_products_file() {
    let mut products = std::collections::BTreeSet::new();
    for (product, path, text) in samples() {
        products.insert(product);
        let sample = Sample::new(&path, &text);
        let program = json!({"command": "npx", "args": ["-y", "a b"], "env": {"KEY": "v"}, "timeout": 20_000});
        sample.edit(|file| add(file, "new-one", program));
        let read = sample.read("new-one");
        assert_eq!(read["command"], "npx", "{product}: {}", sample.text());
        assert_eq!(read["args"], json!(["-y", "a b"]), "{product}");
        assert_eq!(read["env"], json!({"KEY": "v"}), "{product}");
        assert_eq!(read["timeout"], 20_000, "{product}: {}", sample.text());
        sample.edit(|file| update(file, "new-one", json!({"args": ["c"], "timeout": null})));
        assert_eq!(sample.read("new-one")["args"], json!(["c"]), "{product}");
        assert_eq!(sample.read("new-one")["timeout"], Value::Null, "{product}: {}", sample.text());
        sample.edit(|file| disable(file, "new-one"));
        assert_eq!(sample.read("new-one")["enabled"], false, "{product}: {}", sample.text());
        sample.edit(|file| enable(file, "new-one"));
        assert_eq!(sample.read("new-one")["enabled"], Value::Null, "{product}: {}", sample.text());
        sample.edit(|file| remove(file, "new-one"));
        let parse = |text: &str| crate::config::parse_document(&sample.path, text).unwrap().value;
        let (mut now, was) = (parse(&sample.text()), parse(&text));
        // The list of a product that names what is on has the name, which does no harm.
        if let Some(allowed) = now.pointer_mut("/mcp/allowed").and_then(Value::as_array_mut) {
            allowed.retain(|name| name != "new-one");
        }
        if was.get("mcp").is_none() {
            now.as_object_mut().unwrap().shift_remove("mcp");
        }
        assert_eq!(now, was, "{product}");
        let comments = |text: &str| text.matches("//").count() + text.matches('#').count();
        assert_eq!(comments(&sample.text()), comments(&text), "{product}: {}", sample.text());
    }
    // A `.mcp.json` could be anybody's, so it is read as our own.
    products.insert("fallback");
    let missing: Vec<_> = PROVIDERS
        .iter()
        .filter(|provider| !provider.is_own && !products.contains(provider.name))
        .map(|provider| provider.name)
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_server_of_every_products_file_can_be_changed() {
    for (product, path, text) in samples() {
        let sample = Sample::new(&path, &text);
        let config = Config::from_file(&sample.path).unwrap();
        for (name, declared) in &config.servers {
            let Ok(before) = &declared.config else { continue };
            let before = before.to_value();
            let sample = Sample::new(&path, &text);
            sample.edit(|file| update(file, name, json!({"timeout": 7000})));
            let mut after = sample.read(name);
            assert_eq!(after["timeout"], 7000, "{product} {name}: {}", sample.text());
            let mut same = before.clone();
            for field in ["timeout", "toolTimeout"] {
                after.as_object_mut().unwrap().shift_remove(field);
                same.as_object_mut().unwrap().shift_remove(field);
            }
            assert_eq!(after, same, "{product} {name}: {}", sample.text());
            let sample = Sample::new(&path, &text);
            let (turn, is_on) = match before.get("enabled") {
                Some(_) => (enable as fn(&EditTarget, &str) -> Result<Edited>, Value::Null),
                None => (disable as fn(&EditTarget, &str) -> Result<Edited>, json!(false)),
            };
            sample.edit(|file| turn(file, name));
            assert_eq!(sample.read(name)["enabled"], is_on, "{product} {name}: {}", sample.text());
        }
    }
}

#[test]
fn fields_that_nobody_asked_about_stay_as_they_are_written() {
    let text = "// mine\n{\"mcpServers\": {\"a\": {\n  \"type\": \"streamableHttp\", // theirs\n  \"url\": \"https://h/\",\n  \
                \"headers\": {\"A\": \"Bearer ${env:TOKEN}\"},\n  \"autoApprove\": [\"x\"],\n  \"timeout\": 60\n}}}\n";
    let sample = Sample::new("cline_mcp_settings.json", text);
    sample.edit(|file| update(file, "a", json!({"timeout": 5000})));
    assert_eq!(sample.text(), text.replace("60", "5"));
    sample.edit(|file| disable(file, "a"));
    assert!(sample.text().contains("\"disabled\": true"), "{}", sample.text());
    sample.edit(|file| update(file, "a", json!({"headers": {"A": "${B}"}, "enabled": null})));
    assert!(sample.text().contains("\"A\": \"${env:B}\""), "{}", sample.text());
    assert!(sample.text().contains("\"autoApprove\": [\"x\"]"), "{}", sample.text());
}

#[test]
fn a_list_of_servers_stays_a_list() {
    let text = "# mine\nname: x\nmcpServers:\n  - name: one # first\n    command: a\n  - command: b\n    name: two\n";
    let sample = Sample::new(".continue/mcpServers/x.yaml", text);
    sample.edit(|file| {
        add(file, "three", json!({"command": "c", "args": ["d"], "env": {"A": "${B}"}}))
    });
    let added = "  - name: three\n    type: stdio\n    command: c\n    args:\n      - d\n    env:\n      A: \"${{ secrets.B }}\"\n";
    assert_eq!(sample.text(), format!("{text}{added}"));
    sample.edit(|file| update(file, "two", json!({"command": "e", "timeout": 8000})));
    assert!(
        sample.text().contains("  - command: e\n    name: two\n    connectionTimeout: 8000\n"),
        "{}",
        sample.text()
    );
    sample.edit(|file| remove(file, "one"));
    sample.edit(|file| remove(file, "three"));
    sample.edit(|file| remove(file, "two"));
    assert_eq!(sample.text(), "# mine\nname: x\nmcpServers: []\n");
    sample.edit(|file| add(file, "four", json!({"url": "https://h/"})));
    assert_eq!(sample.read("four")["url"], "https://h/");
}

#[test]
fn a_new_file_has_the_form_that_its_place_tells() {
    let program = || json!({"command": "x", "timeout": 3000});
    let cases = [
        (".vscode/mcp.json", "servers"),
        (".codex/config.toml", "mcp_servers"),
        ("ael-config.yaml", "mcp_servers"),
        ("opencode.json", "mcp"),
        ("crush.json", "mcp"),
        (".zed/settings.json", "context_servers"),
        ("goose/config.yaml", "extensions"),
        (".gemini/settings.json", "mcpServers"),
    ];
    for (path, key) in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(path);
        add(&EditTarget::file(&path), "s", program()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let document = crate::config::parse_document(&path, &text).unwrap().value;
        assert!(document[key]["s"].is_object(), "{text}");
        let config = Config::from_file(&path).unwrap();
        assert_eq!(
            config.servers["s"].config.as_ref().unwrap().timeout.as_millis(),
            3000,
            "{text}"
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(".continue/mcpServers/new.yaml");
    add(&EditTarget::file(&path), "s", program()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("schema: v1") && text.contains("- name: s"), "{text}");
}

#[test]
fn what_a_product_cannot_say_is_refused_and_names_field_and_file() {
    let sample = Sample::new(".zed/settings.json", "{\"context_servers\": {}}");
    let secret = json!({"command": "x", "env": {"TOKEN": "${TOKEN}"}});
    let error = sample.refuses(|file| add(file, "a", secret));
    let path = sample.path.display().to_string();
    assert!(error.message().contains(&path) && error.message().contains("\"env\""), "{error}");
    assert_eq!(error.code(), "CONFIG_INVALID");
    let odd = json!({"command": "x", "autoApprove": ["*"]});
    let error = sample.refuses(|file| add(file, "a", odd));
    assert!(error.message().contains("\"requiresApproval\""), "{error}");
    let goose = Sample::new("goose/config.yaml", "extensions: {}\n");
    let none = goose.refuses(|file| add(file, "a", json!({"command": "x", "enabledTools": []})));
    assert!(none.message().contains("\"enabledTools\""), "{none}");
    let sample = Sample::new(
        "opencode.json",
        "{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"x\"]}}}",
    );
    let error = sample.refuses(|file| update(file, "a", json!({"lazy": true})));
    assert!(error.message().contains("\"lazy\""), "{error}");
}

#[test]
fn a_field_that_only_we_know_is_written_as_ours_with_a_warning() {
    let sample = Sample::new(".cursor/mcp.json", "{\"mcpServers\": {}}");
    let edited = sample.edit(|file| add(file, "a", json!({"command": "x", "lazy": true})));
    assert_eq!(edited.warnings.len(), 1, "{:?}", edited.warnings);
    assert!(edited.warnings[0].contains("\"lazy\""), "{:?}", edited.warnings);
    assert_eq!(sample.read("a")["lazy"], true);
    let edited = sample.edit(|file| disable(file, "a"));
    assert!(edited.warnings[0].contains("\"enabled\""), "{:?}", edited.warnings);
}

#[test]
fn a_program_becomes_an_address() {
    let sample = Sample::new(
        "opencode.json",
        "{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"x\", \"y\"], \"cwd\": \"/\"}}}",
    );
    let changes = json!({"command": null, "args": null, "cwd": null, "url": "https://h/"});
    sample.edit(|file| update(file, "a", changes));
    assert_eq!(sample.read("a"), json!({"url": "https://h/"}));
    assert!(sample.text().contains("\"type\": \"remote\""), "{}", sample.text());
}

#[test]
fn names_that_we_change_are_found_by_either_name() {
    let text = "{\"mcpServers\": {\"My Notes\": {\"type\": \"stdio\", \"command\": \"x\"}}}";
    let sample = Sample::new(".claude.json", text);
    sample.edit(|file| update(file, "My-Notes", json!({"args": ["y"]})));
    assert!(sample.text().contains("\"My Notes\"") && sample.text().contains("\"y\""));
    sample.edit(|file| remove(file, "My Notes"));
    assert!(!sample.text().contains("Notes"), "{}", sample.text());
}

#[test]
fn settings_by_tool_stay_when_lists_of_tools_are_set() {
    let codex = "[mcp_servers.c]\ncommand = \"x\"\n\n[mcp_servers.c.tools.search]\napproval_mode = \"approve\"\n";
    let sample = Sample::new(".codex/config.toml", codex);
    sample.edit(|file| update(file, "c", json!({"disabledTools": ["drop"]})));
    assert!(sample.text().contains("approval_mode = \"approve\""), "{}", sample.text());
    assert_eq!(sample.read("c")["disabledTools"], json!(["drop"]));

    let cursor = r#"{"mcpServers": {"c": {"command": "x", "tools": {"a": {"x": 1}, "b": {"enabled": false}}}}}"#;
    let sample = Sample::new(".cursor/mcp.json", cursor);
    sample.edit(|file| update(file, "c", json!({"disabledTools": ["drop"]})));
    assert_eq!(sample.read("c")["disabledTools"], json!(["drop", "b"]), "{}", sample.text());
    assert!(sample.text().contains(r#""a": {"x": 1}"#), "{}", sample.text());
    sample.edit(|file| update(file, "c", json!({"enabledTools": ["a"]})));
    assert_eq!(sample.read("c")["disabledTools"], json!(["drop", "b"]), "{}", sample.text());
    sample.edit(|file| update(file, "c", json!({"disabledTools": null, "enabledTools": null})));
    assert!(!sample.text().contains("abledTools"), "{}", sample.text());
    assert!(sample.text().contains(r#""tools": {"a": {"x": 1}, "b""#), "{}", sample.text());
    sample.edit(|file| update(file, "c", json!({"tools": null})));
    assert_eq!(sample.read("c"), json!({"command": "x"}), "{}", sample.text());

    let sidecar = r#"{"sidecar.mcpServers": {"c": {"type": "stdio", "command": "x",
        "tools": {"a": {"x": 1}, "b": {"enabled": false}, "d": {"enabled": false, "y": 2}, "e": false}}}}"#;
    let sample = Sample::new(".vscode/settings.json", sidecar);
    sample.edit(|file| update(file, "c", json!({"disabledTools": ["new", "d"]})));
    let document = crate::config::parse_document(&sample.path, &sample.text()).unwrap().value;
    assert_eq!(
        document["sidecar.mcpServers"]["c"]["tools"],
        json!({"a": {"x": 1}, "d": {"enabled": false, "y": 2}, "new": {"enabled": false}}),
    );
    sample.edit(|file| update(file, "c", json!({"disabledTools": null})));
    let document = crate::config::parse_document(&sample.path, &sample.text()).unwrap().value;
    assert_eq!(document["sidecar.mcpServers"]["c"]["tools"], json!({"a": {"x": 1}, "d": {"y": 2}}),);
}

#[test]
fn a_list_of_tools_is_replaced_and_stays_beside_another_list() {
    let copilot =
        r#"{"mcpServers": {"c": {"type": "local", "command": "x", "tools": ["a", "b"]}}}"#;
    let sample = Sample::new(".copilot/mcp-config.json", copilot);
    sample.edit(|file| update(file, "c", json!({"disabledTools": ["b"]})));
    assert!(sample.text().contains(r#""tools": ["a", "b"]"#), "{}", sample.text());
    assert_eq!(sample.read("c")["disabledTools"], json!(["b"]), "{}", sample.text());
    sample.edit(|file| update(file, "c", json!({"enabledTools": ["d"]})));
    assert_eq!(sample.read("c")["enabledTools"], json!(["d"]), "{}", sample.text());
    sample.edit(|file| update(file, "c", json!({"enabledTools": null})));
    assert!(sample.text().contains(r#""tools": ["*"]"#), "{}", sample.text());
}

#[test]
fn references_by_name_stay_unless_they_are_changed() {
    let goose = "extensions:\n  g:\n    type: stdio\n    cmd: x\n    args: []\n    env_keys:\n      - GITHUB_TOKEN # mine\n    name: g\n";
    let sample = Sample::new("goose/config.yaml", goose);
    let env = json!({"GITHUB_TOKEN": "${GITHUB_TOKEN}", "A": "1"});
    sample.edit(|file| update(file, "g", json!({"env": env})));
    assert_eq!(sample.text(), format!("{goose}    envs:\n      A: \"1\"\n"));
    assert_eq!(sample.read("g")["env"], env);

    let codex = "[mcp_servers.c]\ncommand = \"x\"\nenv_vars = [\"P\", { name = \"A\", source = \"remote\" }]\n";
    let sample = Sample::new(".codex/config.toml", codex);
    let env = json!({"P": "${P}", "A": "${A}", "B": "1"});
    sample.edit(|file| update(file, "c", json!({"env": env})));
    assert!(sample.text().starts_with(codex), "{}", sample.text());
    assert_eq!(sample.read("c")["env"], env);
    let env = json!({"P": "2", "A": "${A}", "N": "${N}"});
    sample.edit(|file| update(file, "c", json!({"env": env})));
    let document = crate::config::parse_document(&sample.path, &sample.text()).unwrap().value;
    let entry = &document["mcp_servers"]["c"];
    assert_eq!(entry["env_vars"], json!([{"name": "A", "source": "remote"}, "N"]));
    assert_eq!(entry["env"], json!({"P": "2"}));

    let codex = "[mcp_servers.c]\nurl = \"https://h/\"\nbearer_token_env_var = \"T\" # mine\nenv_http_headers = { X = \"Y\", Z = \"W\" } # too\n";
    let sample = Sample::new(".codex/config.toml", codex);
    let with = |x: &str| json!({"headers": {"X": x, "Z": "${W}", "Authorization": "Bearer ${T}", "N": "1"}});
    sample.edit(|file| update(file, "c", with("${Y}")));
    assert!(sample.text().starts_with(codex), "{}", sample.text());
    sample.edit(|file| update(file, "c", with("literal")));
    assert!(sample.text().contains("bearer_token_env_var = \"T\" # mine"), "{}", sample.text());
    assert_eq!(sample.read("c")["headers"]["X"], "literal", "{}", sample.text());
    assert_eq!(sample.read("c")["headers"]["Z"], "${W}", "{}", sample.text());
    sample.edit(|file| update(file, "c", json!({"headers": null})));
    assert_eq!(sample.text(), "[mcp_servers.c]\nurl = \"https://h/\"\n");
}

#[test]
fn a_time_under_any_name_is_changed() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "startup_timeout_sec": 10}}}"#;
    let sample = Sample::new(".cursor/mcp.json", text);
    sample.edit(|file| update(file, "a", json!({"timeout": null})));
    assert_eq!(sample.read("a"), json!({"command": "x"}), "{}", sample.text());
}

#[test]
fn an_address_changes_under_a_transport_of_either_name() {
    let text = r#"{"mcpServers": {"a": {"transport": "sse", "url": "https://old/"}}}"#;
    let sample = Sample::new(".cursor/mcp.json", text);
    sample.edit(|file| update(file, "a", json!({"url": "https://new/"})));
    assert_eq!(sample.read("a"), json!({"type": "sse", "url": "https://new/"}));
}

#[test]
fn a_server_is_taken_off_our_own_list_in_another_products_file() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}}, "disabledServers": ["a"], "enabledServers": ["b"]}"#;
    let sample = Sample::new(".cursor/mcp.json", text);
    sample.edit(|file| enable(file, "a"));
    let document = crate::config::parse_document(&sample.path, &sample.text()).unwrap().value;
    assert_eq!(document["disabledServers"], json!([]));
    assert_eq!(document["enabledServers"], json!(["b", "a"]));
    sample.edit(|file| disable(file, "a"));
    let document = crate::config::parse_document(&sample.path, &sample.text()).unwrap().value;
    assert_eq!(document["disabledServers"], json!([]), "the entry has the switch");
}

#[test]
fn plain_text_that_names_a_variable_is_refused_where_names_are_references() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "env": {"OLD": "PATH"}}}}"#;
    let sample = Sample::new(".omp/mcp.json", text);
    let error =
        sample.refuses(|file| update(file, "a", json!({"env": {"OLD": "PATH", "KIND": "PATH"}})));
    assert!(error.message().contains("\"env\""), "{error}");
    sample.refuses(|file| add(file, "b", json!({"command": "x", "env": {"KIND": "PATH"}})));
    sample.edit(|file| update(file, "a", json!({"env": {"OLD": "PATH", "KIND": "plain"}})));
    assert_eq!(sample.read("a")["env"], json!({"OLD": "PATH", "KIND": "plain"}));
}
