//! Hazard: a server inherits its host's descriptors or its controlling terminal.
#![cfg(target_os = "linux")]

mod common;

use std::io::Write;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{Journal, fixture, lives, stdio, until};
use serde_json::{Value, json};

/// Descriptor numbers of a careless host; higher ones must be closed too.
const SECRET: i32 = 8;
const LISTENER: i32 = 9;
const FAR: i32 = 700;

/// Both ends of a new terminal.
fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    let (name, settings, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: both numbers are written on success, and nobody else owns them.
    unsafe {
        let opened = libc::openpty(&mut ours, &mut theirs, name, settings, size);
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    }
}

/// The command line, run by a host that leads a terminal's session and has inheritable descriptors open.
fn careless_host(config: &Path, terminal: OwnedFd) -> Child {
    let mut secret = tempfile::tempfile().unwrap();
    secret.write_all(b"secret").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (from, other) = (secret.as_raw_fd(), listener.as_raw_fd());
    let mut host = Command::new(env!("CARGO_BIN_EXE_mcpool"));
    host.args(["call", "--config", config.to_str().unwrap(), "s", "sleep", "ms=600000"]);
    host.stdin(terminal).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec only system calls are made. A copy is inherited.
    unsafe {
        host.pre_exec(move || {
            let copied = libc::dup2(from, SECRET) | libc::dup2(other, LISTENER);
            let taken = libc::setsid() > 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0;
            let all = taken && copied > 0 && libc::dup2(from, FAR) == FAR;
            if all { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
    host.spawn().unwrap()
}

/// A process's parent, session and terminal, from the kernel.
fn stat(pid: i64) -> Option<[i64; 3]> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse().ok();
    Some([number(1)?, number(3)?, number(4)?])
}

fn children(parent: i64) -> Vec<i64> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| stat(pid).is_some_and(|stat| stat[0] == parent)).collect()
}

fn descriptors(pid: i64) -> Vec<i64> {
    let all = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn start_of(journal: &Journal) -> Value {
    let entries = journal.entries();
    entries.into_iter().find(|entry| entry["event"] == "start").unwrap_or_default()
}

#[tokio::test]
async fn children_inherit_no_descriptor_and_no_terminal() {
    let (server, asked) = (Journal::new("inherits-server"), Journal::new("inherits-command"));
    let (fixture, log) = (fixture(), asked.path());
    let command = format!("!{} stdio --journal {log} </dev/null; echo x", fixture.display());
    let mut definition = stdio(&["--journal", server.path()]);
    definition["env"] = json!({ "ASKED": command });
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("mcp.json");
    std::fs::write(&config, json!({"mcpServers": {"s": definition}}).to_string()).unwrap();

    let (ours, theirs) = terminal();
    let mut host = careless_host(&config, theirs);
    let called = || server.entries().iter().any(|entry| entry["method"] == "tools/call");
    until("the call", called).await;
    let host_pid = i64::from(host.id());
    let [_, host_session, host_terminal] = stat(host_pid).unwrap();
    assert_eq!(host_session, host_pid);
    assert_ne!(host_terminal, 0, "the host has a terminal");
    let open = descriptors(host_pid);
    assert!([SECRET, LISTENER, FAR].iter().all(|&fd| open.contains(&fd.into())), "{open:?}");

    let started = start_of(&server);
    assert_eq!(started["descriptors"], json!([0, 1, 2]), "{started}");
    assert_eq!((&started["session"], &started["terminal"]), (&started["pid"], &json!(false)));
    let told = start_of(&asked);
    assert_eq!(told["descriptors"], json!([0, 1, 2]), "{told}");
    assert_eq!(told["terminal"], false);
    assert_ne!(told["session"], host_session);

    let servers = server.pids();
    let others = children(host_pid).into_iter().filter(|pid| !servers.contains(pid));
    let others: Vec<i64> = others.collect();
    assert_eq!(others.len(), 1, "the guardian");
    for pid in others {
        assert_eq!(stat(pid).map(|stat| (stat[1], stat[2])), Some((pid, 0)));
        assert!(descriptors(pid).iter().all(|fd| *fd < 3), "{:?}", descriptors(pid));
    }

    host.kill().unwrap();
    host.wait().unwrap();
    until("the end of the server", || servers.iter().all(|&pid| !lives(pid))).await;
    drop(ours);
}
