use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn host_env(home: &Path) -> HostEnv {
    HostEnv::new(Some(BTreeMap::new()), Some(home.into()), None)
}

fn one(path: &str, server: &str, fingerprint: &str) -> Trusted {
    let [path, server, fingerprint] = [path, server, fingerprint].map(str::to_owned);
    Trusted { path, server, fingerprint }
}

fn add(host_env: &HostEnv, trusted: &[Trusted]) -> Result<()> {
    Store::change(host_env, |store| store.add(trusted))
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_was_trusted_is_there_and_nobody_else_can_read_it() {
    let home = tempfile::tempdir().unwrap();
    let here = host_env(home.path());
    assert!(trusted(&here).unwrap().is_empty());
    add(&here, &[one("/p/.mcp.json", "a", "1"), one("/p/.mcp.json", "b", "2")]).unwrap();
    add(&here, &[one("/p/.mcp.json", "a", "3")]).unwrap();
    let all = [one("/p/.mcp.json", "a", "3"), one("/p/.mcp.json", "b", "2")];
    assert_eq!(trusted(&here).unwrap(), all);
    let directory = home.path().join(".config/mcpool");
    assert_eq!((mode(&directory), mode(&directory.join("trust.json"))), (0o700, 0o600));
    let store = Store::load(&here).unwrap();
    assert!(store.trusts(Path::new("/p/.mcp.json"), "a", "3"));
    for (path, server, fingerprint) in
        [("/p/.mcp.json", "a", "1"), ("/p/.mcp.json", "c", "3"), ("/q/.mcp.json", "a", "3")]
    {
        assert!(!store.trusts(Path::new(path), server, fingerprint));
    }
}

#[test]
fn trust_is_taken_back_by_file_name_and_directory() {
    let home = tempfile::tempdir().unwrap();
    let here = host_env(home.path());
    let all = [one("/p/a.json", "x", "1"), one("/p/a.json", "y", "2"), one("/pp/b.json", "x", "3")];
    add(&here, &all).unwrap();
    let y = ["y".to_owned()];
    assert_eq!(untrust(Path::new("/p/a.json"), Some(&y), &here).unwrap(), [all[1].clone()]);
    assert_eq!(untrust(Path::new("/p"), None, &here).unwrap(), [all[0].clone()]);
    assert_eq!(trusted(&here).unwrap(), [all[2].clone()]);
}

#[test]
fn a_damaged_store_trusts_nothing_and_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let here = host_env(home.path());
    let directory = home.path().join(".config/mcpool");
    std::fs::create_dir_all(&directory).unwrap();
    for damage in ["{", "[]", "{\"version\": 1, \"trusted\": 7}", "{\"version\": 0}"] {
        std::fs::write(directory.join("trust.json"), damage).unwrap();
        assert_eq!(trusted(&here).unwrap_err().code(), "CONFIG_INVALID", "{damage}");
        add(&here, &[one("/p", "a", "1")]).unwrap();
        assert_eq!(trusted(&here).unwrap().len(), 1);
        let kept = std::fs::read_to_string(directory.join("trust.json.damaged")).unwrap();
        assert_eq!(kept, damage);
    }
}

#[test]
fn what_a_newer_version_wrote_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let here = host_env(home.path());
    let file = home.path().join(".config/mcpool/trust.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{\"version\": 2, \"trusted\": []}").unwrap();
    assert!(trusted(&here).is_err() && add(&here, &[]).is_err());
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"version\": 2"));
}

#[test]
fn many_writers_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let here = host_env(home.path());
    let writers: Vec<_> = (0..16)
        .map(|n| {
            let here = here.clone();
            std::thread::spawn(move || add(&here, &[one("/p", &format!("s{n}"), "1")]).unwrap())
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(trusted(&here).unwrap().len(), 16);
}

#[test]
fn what_is_no_projects_file_cannot_be_trusted() {
    let home = tempfile::tempdir().unwrap();
    let here = host_env(home.path());
    let file = home.path().join("notes.txt");
    assert_eq!(trust(&file, None, &here).unwrap_err().code(), "CONFIG_IO");
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(trust(&file, None, &here).unwrap_err().code(), "CONFIG_INVALID");
}

/// The question about the only server of a project with these files.
fn question(
    server: serde_json::Value,
    files: &[(&str, &str)],
) -> (tempfile::TempDir, TrustQuestion) {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    std::fs::create_dir_all(project.join(".mcpool")).unwrap();
    for (name, text) in files {
        std::fs::write(project.join(name), text).unwrap();
    }
    let document = serde_json::json!({"mcpServers": {"s": server}});
    std::fs::write(project.join(".mcpool/mcp.json"), document.to_string()).unwrap();
    let env = BTreeMap::from([("TOKEN".to_owned(), "marker-77".to_owned())]);
    let here = HostEnv::new(Some(env), Some(home.path().into()), None);
    let question = questions(&project, &here).unwrap().remove(0);
    (home, question)
}

#[test]
fn a_question_shows_no_variable_in_the_path_of_a_file() {
    let definitions = [
        serde_json::json!({"url": "https://h/", "tls": {"ca": "${TOKEN}"}}),
        serde_json::json!({"command": "x", "envFile": "${TOKEN}"}),
        serde_json::json!({"command": "x", "args": ["${file:${TOKEN}}"]}),
    ];
    for definition in definitions {
        let (_home, question) = question(definition, &[]);
        let paths: Vec<_> = question.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["${TOKEN}"]);
        assert!(!serde_json::to_string(&question).unwrap().contains("marker-77"));
    }
    let definition = serde_json::json!({"command": "x", "envFile": "${workspaceFolder}/vars"});
    let (home, question) = question(definition, &[("vars", "A=1")]);
    let there = physical(&home.path().join("project/vars"));
    assert_eq!(question.files[0].path, there.display().to_string());
}

#[test]
fn a_question_shows_no_private_key() {
    let key = "-----BEGIN PRIVATE KEY-----\nhidden\n-----END PRIVATE KEY-----\n";
    let (both, ca) = (format!("certificate\n{key}"), "authority\n");
    let files = [("me.key", "hidden"), ("me.pem", both.as_str()), ("ca.pem", ca)];
    let tls = serde_json::json!({"ca": "ca.pem", "cert": "me.pem", "key": "me.key"});
    let definition = serde_json::json!({"url": "https://h/", "tls": tls});
    let (_home, question) = question(definition, &files);
    assert!(!serde_json::to_string(&question).unwrap().contains("hidden"));
    let shown = question.files.iter().map(|file| (file.text.as_deref(), file.size));
    let hidden = |text: &str| (None, Some(text.len()));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [(Some(ca), Some(ca.len())), hidden("hidden"), hidden(&both)]
    );
}
