//! Hazard: the tests for macOS run the code of Linux, because `MCPOOL_PORTABLE` switches nothing.

mod common;

use std::fs;
use std::process::{Child, Command};

use common::{Journal, stdio, until};
use mcpool::host::{Mailbox, portable};
use serde_json::json;

/// A host with one server, in the middle of a call.
struct Host {
    process: Child,
    config: std::path::PathBuf,
}

impl Host {
    async fn in_a_call(variable: Option<&str>) -> Host {
        let name = format!("means-{}", variable.unwrap_or("unset"));
        let journal = Journal::new(&name);
        let server = stdio(&["--journal", journal.path()]);
        let config = std::env::temp_dir().join(format!("mcpool-{name}-{}", std::process::id()));
        fs::write(&config, json!({"mcpServers": {"s": server}}).to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpool"));
        command.args(["call", "--config", config.to_str().unwrap(), "s", "sleep", "ms=60000"]);
        command.env_remove("MCPOOL_PORTABLE").envs(variable.map(|it| ("MCPOOL_PORTABLE", it)));
        let process = command.spawn().unwrap();
        let is_called =
            || journal.entries().iter().any(|entry| entry["method"] == json!("tools/call"));
        until("the call", is_called).await;
        Host { process, config }
    }

    fn has_descriptor(&self, kind: &str) -> bool {
        let all = fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().flatten();
        let mut links = all.filter_map(|entry| fs::read_link(entry.path()).ok());
        links.any(|link| link.to_string_lossy().contains(kind))
    }

    fn has_thread(&self, name: &str) -> bool {
        let all = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap().flatten();
        let mut names = all.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
        names.any(|thread| thread.trim() == name)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.config);
    }
}

#[tokio::test]
async fn the_variable_decides_how_the_exit_of_a_server_is_noticed() {
    for (variable, by_thread) in [(None, false), (Some("0"), false), (Some("1"), true)] {
        let host = Host::in_a_call(variable).await;
        assert_eq!(host.has_thread("mcpool-wait"), by_thread, "{variable:?}");
        assert_eq!(host.has_descriptor("pidfd"), !by_thread, "{variable:?}");
    }
}

#[test]
fn the_means_of_this_process_are_those_that_it_was_started_with() {
    use std::os::fd::AsRawFd;
    assert_eq!(portable(), std::env::var_os("MCPOOL_PORTABLE").is_some_and(|value| value == "1"));
    let mailbox = Mailbox::new().unwrap();
    let descriptor = mailbox.descriptor().as_raw_fd();
    let kind = fs::read_link(format!("/proc/self/fd/{descriptor}")).unwrap();
    let expected = if portable() { "pipe:" } else { "eventpoll" };
    assert!(kind.to_string_lossy().contains(expected), "{}", kind.display());
}
