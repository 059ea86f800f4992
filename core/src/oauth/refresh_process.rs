//! Owns refreshing a login in a process of its own. An authorisation server that rotates refresh tokens has used ours up
//! before its answer is stored: if this process is killed in between, the other one still stores it.
//! Invariant: whoever asks holds the lock of the login, in whatever process, and has room for the answer; a process that is
//! not ready gets no order; nothing secret is an argument.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Take};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::dpop::DpopKey;
use super::problem::Problem;
use super::random::hash;
use super::record::secret;
use super::renewal::{Renewal, RenewalSettings};
use super::seal::Key;
use super::store::{LOCK, LoginFile, Sealing};
use crate::fork::PerProcess;
use crate::process::{Detached, Program, Receiver, ignore_signals};
use crate::redact::Secret;
use crate::relaunch::REFRESHING;
use crate::runtime;

/// The argument that makes a command line of ours do it.
const ARGUMENT: &str = "refresh-login";
/// How many bytes an order or a report may have.
const BYTES: u64 = 8 << 20;
/// How long an interpreter may take to start.
const START: Duration = Duration::from_secs(10);
/// How long the process may take, besides waiting for the lock.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many processes refresh logins for us at the same time: an interpreter takes some memory.
const PROCESSES: usize = 4;
static ROOM: PerProcess<Semaphore> = PerProcess::new(|| Semaphore::new(PROCESSES));
/// How long that is waited for: an authorisation server that hangs must not hold others up.
const QUEUE: Duration = Duration::from_secs(1);

/// What has to be done.
#[derive(Serialize, Deserialize)]
pub(super) struct Order {
    directory: PathBuf,
    /// The key that the login is sealed with.
    #[serde(with = "secret")]
    key: Option<Secret>,
    /// The hash of the refresh token that is to be used.
    refresh_hash: String,
    settings: RenewalSettings,
}

/// A line that the process writes.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// It waits for its order.
    Ready,
    /// From now on the refresh token may be used up.
    Asking,
    Ended(Report),
}

/// What came of an order.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// There is another refresh token by now, or none.
    Changed,
    /// What came of it, and why it is not stored if it is not.
    Done { renewal: Box<Renewal>, not_stored: Option<String> },
}

impl Report {
    fn failed(problem: Problem) -> Report {
        Report::Done { renewal: Box::new(Renewal::Failed(problem)), not_stored: None }
    }
}

impl Order {
    /// Blocks.
    pub(super) fn new(
        file: &LoginFile,
        refresh: &Secret,
        settings: RenewalSettings,
    ) -> io::Result<Self> {
        let key = file.key()?.map(|key| key.text().clone());
        let (directory, refresh_hash) = (file.directory().to_owned(), hash(refresh.expose()));
        Ok(Order { directory, key, refresh_hash, settings })
    }

    /// Has another process do it, which these words start; `None` if that did not get to the point of asking.
    pub(super) async fn give(&self, words: &[String]) -> Option<Report> {
        let (path, args) = words.split_first()?;
        let args = args.iter().cloned().chain([ARGUMENT.to_owned()]).collect();
        let mut env: BTreeMap<_, _> = std::env::vars_os().collect();
        env.insert(REFRESHING.into(), "1".into());
        // They may stop it, or run other code.
        env.remove(OsStr::new("NODE_OPTIONS"));
        let program = Program::new(path.into(), args, env, None);
        let mut input = serde_json::to_vec(self).ok()?;
        input.push(b'\n');
        let _room = timeout(QUEUE, ROOM.get().acquire()).await.ok()?.ok()?;
        let process = Detached::start(&program)
            .inspect_err(|error| tracing::debug!(%error, "no process to refresh a login in"))
            .ok()?;
        let mut lines = Lines { stdout: process.stdout.take(BYTES), unread: Vec::new() };
        if !matches!(timeout(START, lines.next()).await, Ok(Some(Line::Ready))) {
            tracing::debug!("the process to refresh a login in does not start");
            process.group.kill();
            return None;
        }
        let mut stdin = process.stdin;
        let mut has_asked = false;
        let report = timeout(LOCK + PATIENCE, async {
            stdin.write_all(&input).await.ok()?;
            loop {
                match lines.next().await? {
                    Line::Ready => {}
                    Line::Asking => has_asked = true,
                    Line::Ended(report) => return Some(report),
                }
            }
        });
        match report.await.ok().flatten() {
            None if has_asked => {
                let text = "the process that refreshes the login has ended";
                Some(Report::failed(Problem::unanswered(text)))
            }
            report => report,
        }
    }

    /// Does it in this process; `None` if it cannot be begun. Blocks.
    pub(super) fn carry_out(&self, file: &LoginFile, on_asking: impl FnOnce()) -> Option<Report> {
        let lock = file.lock(LOCK).ok()??;
        let record = file.read().ok()??;
        let refresh = record.token.as_ref().and_then(|token| token.refresh.as_ref());
        if refresh.is_none_or(|refresh| hash(refresh.expose()) != self.refresh_hash) {
            return Some(Report::Changed);
        }
        let dpop = record.dpop_key.as_ref().map(|key| DpopKey::from_stored(key.expose()));
        let dpop = dpop.transpose().ok()?;
        runtime::start().ok()?;
        // First: an answer that cannot be stored is a lost login.
        let draft = file.draft(Sealing::AsBefore, &lock);
        if let Some(error) = draft.as_ref().err().filter(|error| is_shortage(error)) {
            let text = format!("the login could not be stored: {error}");
            return Some(Report::failed(Problem::unreachable(text)));
        }
        on_asking();
        let renewal = Box::new(runtime::block_on(self.settings.renew(record, dpop.as_ref())));
        let stored = match (renewal.record(), draft) {
            (Some(record), Ok(draft)) => file.finish(draft, record),
            (Some(_), Err(error)) => Err(error),
            (None, _) => Ok(()),
        };
        Some(Report::Done { renewal, not_stored: stored.err().map(|error| error.to_string()) })
    }
}

/// Whether there will be room on the disk again, as opposed to a disk that is not written to.
fn is_shortage(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// The lines of the process. Others may write to its stdout too.
struct Lines {
    stdout: Take<Receiver>,
    unread: Vec<u8>,
}

impl Lines {
    async fn next(&mut self) -> Option<Line> {
        let mut chunk = vec![0; 4096];
        loop {
            while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                if let Ok(line) = serde_json::from_slice(&line) {
                    return Some(line);
                }
            }
            let count = self.stdout.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
            self.unread.extend_from_slice(&chunk[..count]);
        }
    }
}

/// Refreshes one login for another process; returns the exit code. It is what a program does that was started with the words of
/// [`set_relaunch`](crate::set_relaunch) and the argument `refresh-login`. The command line does it too.
pub fn refresh_login() -> i32 {
    if io::stdin().is_terminal() {
        let _ = writeln!(io::stderr(), "error: mcpool starts this command itself");
        return 2;
    }
    write(&Line::Ready);
    let mut order = String::new();
    // Not to its end: a forked child of whoever gave it may keep it open.
    let read = io::stdin().lock().take(BYTES).read_line(&mut order);
    let Some(order) = read.ok().and_then(|_| serde_json::from_str::<Order>(&order).ok()) else {
        return 1;
    };
    // Whoever wants to end this has time: it takes seconds, and ends by itself.
    ignore_signals(LOCK + PATIENCE);
    let key = order.key.as_ref().and_then(Key::from_text);
    let file = LoginFile::with_key(order.directory.clone(), key);
    match order.carry_out(&file, || write(&Line::Asking)) {
        Some(report) => {
            write(&Line::Ended(report));
            0
        }
        None => 1,
    }
}

/// Writes a line. Whoever reads it may be gone, and others may have begun a line.
fn write(line: &Line) {
    if let Ok(text) = serde_json::to_string(line) {
        let mut stdout = io::stdout().lock();
        let _ = write!(stdout, "\n{text}\n").and_then(|()| stdout.flush());
    }
}
