//! Shared by the tests of signing in: a server with an authorisation server, a browser, and a command that waits.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[path = "../common/page.rs"]
mod page;

use crate::support::{Home, Ran, fixture, write};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A user with one server, "docs", that demands a login.
pub(crate) struct Scene {
    pub(crate) home: Home,
    pub(crate) url: String,
    pub(crate) issuer: String,
    /// Variables of the commands; an empty one is not set.
    pub(crate) variables: Vec<(&'static str, String)>,
    server: Child,
}

impl Scene {
    pub(crate) fn new(test: &str, knobs: &[&str]) -> Scene {
        Scene::without_oauth(test, &[&["--oauth"], knobs].concat())
    }

    pub(crate) fn without_oauth(test: &str, knobs: &[&str]) -> Scene {
        let home = Home::new(&format!("auth-{test}"));
        let journal = home.home("journal.jsonl");
        let mut server = Command::new(fixture())
            .arg("http")
            .args(knobs)
            .arg("--journal")
            .arg(&journal)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        let (url, issuer) = (text("url"), text("issuer"));
        let scene = Scene { home, url, issuer, variables: Vec::new(), server };
        scene.define(json!({}));
        scene
    }

    /// Gives the definition of the server more members.
    pub(crate) fn define(&self, members: Value) {
        write(&self.home.own(), json!({ "docs": self.definition(members) }));
    }

    pub(crate) fn definition(&self, members: Value) -> Value {
        let mut definition = json!({"url": self.url});
        definition.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        definition
    }

    /// Runs a command; no output of any shows a token.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        without_tokens(self.command(args).output().unwrap().into())
    }

    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::new(self.command(args))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        for (name, value) in &self.variables {
            match value.as_str() {
                "" => command.env_remove(name),
                value => command.env(name, value),
            };
        }
        command
    }

    /// Signs in with a browser that returns by itself.
    pub(crate) fn sign_in(&self, args: &[&str]) -> Ran {
        let running = self.start(&[args, &["--no-browser"]].concat());
        let page = running.line();
        assert_eq!(visit(&page), 200, "{page}");
        running.end()
    }

    /// The files of the logins.
    pub(crate) fn logins(&self) -> Vec<PathBuf> {
        let directory = self.home.home(".config/mcpool/logins");
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().join("login.json")).filter(|path| path.exists()).collect()
    }

    /// The stored login.
    pub(crate) fn login(&self) -> Value {
        let files = self.logins();
        assert_eq!(files.len(), 1, "{files:?}");
        let mode = std::fs::metadata(&files[0]).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        serde_json::from_str(&std::fs::read_to_string(&files[0]).unwrap()).unwrap()
    }

    /// Changes the stored login.
    pub(crate) fn edit_login(&self, edit: impl FnOnce(&mut Value)) {
        let mut login = self.login();
        edit(&mut login);
        std::fs::write(&self.logins()[0], login.to_string()).unwrap();
    }

    /// How many requests an endpoint of OAuth has granted.
    pub(crate) fn count(&self, at: &str) -> usize {
        let text = std::fs::read_to_string(self.home.home("journal.jsonl")).unwrap_or_default();
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_one = |entry: &Value| entry["at"] == at && entry["outcome"] == "ok";
        entries.filter(is_one).count()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A command that waits for a person.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    err: JoinHandle<String>,
    out: std::cell::RefCell<String>,
}

impl Running {
    pub(crate) fn new(mut command: Command) -> Running {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut stderr = child.stderr.take().unwrap();
        let err = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        Running { child, lines, err, out: Default::default() }
    }

    /// The next line of stdout.
    pub(crate) fn line(&self) -> String {
        let line = self.lines.recv_timeout(PATIENCE).expect("a line");
        self.out.borrow_mut().push_str(&format!("{line}\n"));
        line
    }

    pub(crate) fn type_in(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: the process is our child, and was not waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    pub(crate) fn end(mut self) -> Ran {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    let _ = self.child.kill();
                    panic!("it does not end: {}", self.err.join().unwrap());
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let mut out = self.out.take();
        self.lines.iter().for_each(|line| out.push_str(&format!("{line}\n")));
        let code = status.code().expect("it was not ended by a signal");
        without_tokens(Ran { code, out, err: self.err.join().unwrap() })
    }
}

fn without_tokens(ran: Ran) -> Ran {
    let all = ran.all();
    for begin in ["at-", "rt-"] {
        // Numbers follow in a token.
        let mut after = all.split(begin).skip(1);
        assert!(!after.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit())), "{all}");
    }
    ran
}

/// Where a page sends the browser; the page itself is not shown.
pub(crate) fn redirect(page: &str) -> String {
    let loaded = page::load(page);
    assert_eq!(loaded.status, 302, "{page}");
    loaded.location.expect("a place to go to")
}

/// Follows a page to its end; returns the last status.
pub(crate) fn visit(page: &str) -> u16 {
    page::visit(page).status
}
