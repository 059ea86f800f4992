//! `mcpool doctor` finds problems, says what to do, and leaves nothing behind.

use serde_json::{Value, json};

#[path = "cli/support.rs"]
mod support;

use support::{Home, Ran, demo, fixture, write};

fn fault(knobs: &[&str]) -> Value {
    let args: Vec<&str> = std::iter::once("stdio").chain(knobs.iter().copied()).collect();
    json!({"command": fixture(), "args": args})
}

fn verdict<'a>(report: &'a Value, server: &str) -> &'a Value {
    let servers = report["servers"].as_array().unwrap();
    servers.iter().find(|it| it["name"] == server).unwrap_or_else(|| panic!("{server}: {report}"))
}

/// The first finding that is a problem.
fn finding<'a>(report: &'a Value, server: &str) -> &'a Value {
    let findings = verdict(report, server)["findings"].as_array().unwrap();
    findings.iter().find(|it| it["verdict"] != "ok").unwrap_or(&Value::Null)
}

fn doctor(home: &Home, servers: Value) -> (Ran, Value) {
    write(&home.own(), servers);
    let ran = home.run(&["doctor", "--json"]);
    let report = ran.json();
    (ran, report)
}

#[test]
fn all_is_well_when_all_is_well() {
    let home = Home::new("doctor-well");
    let (ran, report) = doctor(&home, json!({"demo": demo()}));
    assert_eq!((ran.code, &report["ok"]), (0, &json!(true)), "{report}");
    let demo = verdict(&report, "demo");
    let checks: Vec<&Value> =
        demo["findings"].as_array().unwrap().iter().map(|it| &it["check"]).collect();
    assert_eq!(checks, ["program", "handshake", "tools"], "{report}");
    let ran = home.run(&["doctor"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("4 tools") && ran.out.contains(" 0 broken"), "{}", ran.out);
    assert!(ran.out.contains("~/.config/mcpool/mcp.json"), "{}", ran.out);
}

#[test]
fn each_trouble_is_named_with_what_to_do() {
    let home = Home::new("doctor-troubles");
    let mut slow = fault(&["--hang", "initialize"]);
    slow["timeout"] = json!(300);
    let (ran, report) = doctor(
        &home,
        json!({
            "fine": demo(),
            "invalid": {"type": "stdio"},
            "off": {"command": "x", "enabled": false},
            "missing": {"command": "no-such-program-anywhere"},
            "uv": {"command": "uvx", "env": {"PATH": "/nowhere"}},
            "dies": fault(&["--stderr", "last words", "--exit-at", "start:3"]),
            "slow": slow,
            "refused": {"url": "http://127.0.0.1:1/mcp"},
            "nowhere": {"url": "http://no-such-host.invalid/mcp"},
        }),
    );
    assert_eq!((ran.code, &report["ok"]), (1, &json!(false)), "{report}");
    assert_eq!(verdict(&report, "fine")["verdict"], "ok");
    assert_eq!(verdict(&report, "off")["verdict"], "off");
    let broken = ["invalid", "missing", "uv", "dies", "slow", "refused", "nowhere"];
    for name in broken {
        assert_eq!(verdict(&report, name)["verdict"], "broken", "{name}: {report}");
    }
    let advice = |name: &str| finding(&report, name)["advice"].as_str().unwrap_or_default();
    assert_eq!(finding(&report, "missing")["check"], "program");
    assert!(advice("uv").contains("install uv"), "{report}");
    assert_eq!(finding(&report, "dies")["stderr"], json!(["last words"]));
    assert!(finding(&report, "dies")["detail"].as_str().unwrap().contains("code 3"), "{report}");
    for name in broken {
        assert!(!advice(name).is_empty(), "{name}: {report}");
    }
    assert!(advice("slow").contains("\"timeout\" (now 300 ms)"), "{report}");
    let steps = |name: &str| verdict(&report, name)["findings"].to_string();
    assert!(steps("refused").contains("\"tcp\""), "{report}");
    assert!(steps("nowhere").contains("\"dns\""), "{report}");
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("| last words") && ran.out.contains("→ install uv"), "{}", ran.out);
}

#[test]
fn one_server_can_be_asked_about() {
    let home = Home::new("doctor-one");
    write(&home.own(), json!({"demo": demo(), "broken": {"command": "no-such-program"}}));
    let ran = home.run(&["doctor", "demo", "--json"]);
    assert_eq!((ran.code, ran.json()["servers"].as_array().unwrap().len()), (0, 1));
    assert_eq!(home.run(&["doctor", "broken"]).code, 1);
    let ran = home.run(&["doctor", "brokn"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("did you mean \"broken\"?"), "{}", ran.err);
}

#[test]
fn files_are_looked_at_too() {
    let home = Home::new("doctor-files");
    write(
        &home.own(),
        json!({"demo": {"command": "x", "env": {"API_KEY": "abc"}, "enabled": false}}),
    );
    std::fs::create_dir_all(home.home(".cursor")).unwrap();
    std::fs::write(home.home(".cursor/mcp.json"), "{\n  \"mcpServers\": oops\n}").unwrap();
    let report = home.run(&["doctor", "--json"]).json();
    let file = |end: &str| {
        let files = report["files"].as_array().unwrap();
        files.iter().find(|it| it["name"].as_str().unwrap().ends_with(end)).unwrap().clone()
    };
    assert_eq!(file(".cursor/mcp.json")["verdict"], "broken", "{report}");
    assert!(file(".cursor/mcp.json").to_string().contains("2:"), "{report}");
    assert_eq!(file(".config/mcpool/mcp.json")["verdict"], "warning", "{report}");
    assert!(file(".config/mcpool/mcp.json").to_string().contains("chmod 600"), "{report}");
    assert_eq!(report["ok"], false);
}

#[test]
fn an_untrusted_project_and_an_unset_name_are_warnings() {
    let home = Home::new("doctor-warnings");
    write(&home.project(".mcp.json"), json!({"theirs": demo()}));
    let mut ours = demo();
    ours["env"] = json!({"X": "${NO_SUCH_NAME}", "Y": "${NO_OTHER:-fine}"});
    let (ran, report) = doctor(&home, json!({ "ours": ours }));
    assert_eq!(ran.code, 0, "{report}");
    assert_eq!(verdict(&report, "theirs")["verdict"], "warning");
    assert!(finding(&report, "theirs").to_string().contains("mcpool trust"), "{report}");
    assert!(finding(&report, "ours").to_string().contains("NO_SUCH_NAME"), "{report}");
    assert!(!report.to_string().contains("NO_OTHER"), "{report}");
}

#[test]
fn a_projects_address_on_this_machine_is_not_dialled_before_trust() {
    let home = Home::new("doctor-private");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let proxy = url.trim_end_matches("/mcp");
    // A proxy would dial unchecked addresses, so untrusted servers bypass it.
    let servers = json!({"here": {"url": url}, "name": {"url": "http://no-such-host.invalid/mcp"}});
    write(&home.project(".mcp.json"), servers);
    let doctor = || -> Ran {
        let mut command = home.command(&["doctor", "--json"]);
        command.env("http_proxy", proxy).output().unwrap().into()
    };
    let report = doctor().json();
    assert_eq!(finding(&report, "here")["code"], "UNTRUSTED", "{report}");
    assert!(finding(&report, "here")["advice"].to_string().contains("mcpool trust"), "{report}");
    assert_eq!(finding(&report, "name")["code"], "CONNECT_FAILED", "{report}");
    assert!(listener.accept().is_err(), "somebody was dialled: {report}");
}

#[test]
fn a_bridge_is_offered_as_the_direct_way() {
    let home = Home::new("doctor-bridge");
    let url = "http://127.0.0.1:1/mcp";
    let bridge = json!({"command": "npx", "args": ["-y", "mcp-remote", url], "timeout": 1});
    let (_, report) = doctor(&home, json!({ "bridged": bridge }));
    let findings = verdict(&report, "bridged")["findings"].to_string();
    assert!(findings.contains("mcpool add bridged --url"), "{report}");
    assert!(home.run(&["discover"]).out.contains("Bridged by mcp-remote"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_is_gone_is_broken() {
    let home = Home::new("doctor-gone");
    let gone = home.project("gone");
    std::fs::create_dir_all(&gone).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "rmdir \"$PWD\"; exec \"$0\" doctor --json", support::MCPOOL]);
    let like = home.command(&[]);
    shell.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran: Ran = shell.current_dir(&gone).output().unwrap().into();
    assert_eq!((ran.code, &ran.json()["ok"]), (1, &json!(false)), "{}", ran.out);
    assert!(ran.out.contains("DISCOVERY_FAILED"), "{}", ran.out);
}

#[test]
fn a_program_is_named_without_the_secrets_in_its_path() {
    let home = Home::new("doctor-secret-path");
    let directory = home.home("hunterhunter");
    std::fs::create_dir_all(&directory).unwrap();
    std::os::unix::fs::symlink(fixture(), directory.join("server")).unwrap();
    let server = |program: &str| json!({"command": format!("${{TOKEN}}/{program}"), "args": ["stdio"], "env": {"TOKEN": directory}});
    let mut nowhere = server("server");
    nowhere["cwd"] = json!("${TOKEN}/no-such-directory");
    let mut no_file = server("server");
    no_file["envFile"] = json!("${TOKEN}/no-such-file");
    let (ran, report) = doctor(
        &home,
        json!({"there": server("server"), "gone": server("gone"), "nowhere": nowhere, "no_file": no_file}),
    );
    let program = &verdict(&report, "there")["findings"][0];
    assert_eq!(
        (&program["check"], &program["verdict"]),
        (&json!("program"), &json!("ok")),
        "{report}"
    );
    assert!(program.to_string().contains("***/server"), "{report}");
    for server in ["gone", "nowhere", "no_file"] {
        assert_eq!(verdict(&report, server)["verdict"], "broken", "{report}");
    }
    let text = home.run(&["doctor"]);
    for said in [&ran.out, &ran.err, &text.out, &text.err] {
        assert!(!said.contains("hunterhunter"), "{said}");
    }
}
