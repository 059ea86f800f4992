//! Owns child processes: starting one in its own session, keeping the end of its stderr, its exit, and ending its whole
//! process group.
//! Invariant: no process that was started here outlives its owner, except one that is started to do so (`detached`).

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::watch;

use crate::descriptors::{is_shortage, shortage};
use crate::error::{Error, ErrorKind, Message, Result, Stage};
use crate::redact::Mask;
use crate::runtime;
use crate::sync::lock;

mod activity;
#[cfg_attr(windows, path = "process/windows/child.rs")]
mod child;
mod detached;
#[cfg_attr(windows, path = "process/windows/group.rs")]
mod group;
#[cfg_attr(windows, path = "process/windows/guardian.rs")]
mod guardian;
#[cfg_attr(windows, path = "process/windows/pipe.rs")]
mod pipe;
mod run_command;
#[cfg_attr(windows, path = "process/windows/signals.rs")]
mod signals;
#[cfg_attr(windows, path = "process/windows/spawn.rs")]
mod spawn;
mod stderr;
mod stderr_log;
mod stdout;

pub(crate) use activity::Activity;
use child::{Child, signal_of};
pub(crate) use detached::Detached;
use group::{END_STEP_LIMIT, Pid, end_group, end_orphans};
use guardian::{permit_to_start, register, unregister};
#[cfg(unix)]
pub(crate) use pipe::cloexec_pipe;
use pipe::pipes;
pub(crate) use pipe::{PipeEnd, Receiver, last_output_arrived};
pub(crate) use run_command::{RunError, run_command};
pub(crate) use signals::ignore_signals;
#[cfg(feature = "cli")]
pub(crate) use signals::kill_process;
pub(crate) use spawn::Program;
use spawn::spawn;
use stderr::StderrTail;
use stderr_log::{PAUSE, StderrLog};
use stdout::StrayOutput;

/// How long a server that closed its output may take to exit: on a busy machine the exit is seen much later.
const EXIT_WAIT: Duration = Duration::from_secs(1);
/// How long the rest of a dead server's stderr is waited for.
const STDERR_WAIT: Duration = Duration::from_millis(200);
/// The longest time that [`Process::exit_report`] takes.
pub(crate) const EXIT_REPORT: Duration = EXIT_WAIT.saturating_add(STDERR_WAIT);

/// A program to start.
pub(crate) struct Launch {
    /// The server it is started for.
    pub(crate) server: Arc<str>,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// The child's complete environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: Option<PathBuf>,
    /// Hides the values that the server was given.
    pub(crate) mask: Mask,
}

pub(crate) struct Process {
    group: Pid,
    mask: Mask,
    exit: Exit,
    tail: Arc<Mutex<StderrTail>>,
    /// `None` once the server has connected.
    stray_output: Arc<Mutex<Option<StrayOutput>>>,
    stderr_done: watch::Receiver<bool>,
}

/// Which of its pipes a server has closed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    Input,
    Output,
}

/// Resolves when the process has exited.
#[derive(Clone)]
pub(crate) struct Exit(watch::Receiver<Option<ExitStatus>>);

impl Exit {
    pub(crate) async fn wait(&self) -> Option<ExitStatus> {
        let mut receiver = self.0.clone();
        // The sender is dropped only with the runtime.
        receiver.wait_for(Option::is_some).await.ok().and_then(|status| *status)
    }

    /// Waits for the rest of the group: the task that ends it drops the sender last. Bounded.
    async fn wait_for_group(&self) {
        let mut receiver = self.0.clone();
        let dropped = async { while receiver.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(2 * END_STEP_LIMIT, dropped).await;
    }

    fn is_over(&self) -> bool {
        self.0.borrow().is_some()
    }
}

impl Process {
    /// Starts the program; returns its stdin and stdout, ready for non-blocking I/O.
    pub(crate) fn start(launch: Launch) -> Result<(Process, PipeEnd, PipeEnd)> {
        let mask = launch.mask.clone();
        let program = mask.text(&launch.program.display().to_string()).into_owned();
        let (server, cwd) = (launch.server.clone(), launch.cwd.clone());
        let server_name = server.clone();
        let cannot_start = |error| match is_shortage(&error) {
            true => shortage(&server_name),
            false => cannot_start(&program, cwd.as_ref(), &mask, error),
        };
        let (stdin, stdout, mut stderr, theirs) = pipes().map_err(cannot_start)?;
        let _permit = permit_to_start().ok_or_else(|| {
            let text = Message::default().command(&format!("Command \"{program}\""));
            Error::new(
                ErrorKind::ConnectFailed,
                text.text(" is not started: this process is ending"),
            )
        })?;
        let group = spawn(&launch.into(), theirs).map_err(cannot_start)?;
        register(group);
        let mut child = Child::watch(group).map_err(|error| {
            unregister(group);
            cannot_start(error)
        })?;

        let tail = Arc::new(Mutex::new(StderrTail::new(mask.clone())));
        let (done, stderr_done) = watch::channel(false);
        let (shared, stderr_mask) = (tail.clone(), mask.clone());
        runtime::spawn(async move {
            let mut log = StderrLog::new(server, stderr_mask);
            let mut chunk = vec![0; 4096];
            loop {
                let pause = if log.is_waiting() { PAUSE } else { Duration::MAX };
                match tokio::time::timeout(pause, stderr.read(&mut chunk)).await {
                    Ok(Ok(count @ 1..)) => {
                        lock(&shared).push(&chunk[..count]);
                        log.push(&chunk[..count]);
                    }
                    Ok(_) => break,
                    Err(_) => log.pause(),
                }
            }
            let _ = done.send(true);
        });
        let (exit_sender, exit) = watch::channel(None);
        runtime::spawn(async move {
            let _ = exit_sender.send(Some(child.wait().await));
            end_orphans(group).await;
            unregister(group);
        });
        let stray_output = Arc::new(Mutex::new(Some(StrayOutput::new(mask.clone()))));
        let process = Process { group, mask, exit: Exit(exit), tail, stray_output, stderr_done };
        Ok((process, stdin, stdout))
    }

    pub(crate) fn mask(&self) -> &Mask {
        &self.mask
    }

    pub(crate) fn pid(&self) -> u32 {
        group::number(self.group)
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit.clone()
    }

    /// Keeps a line of stdout that is not a message.
    pub(crate) fn note_stray_line(&self, line: &[u8]) {
        if let Some(stray_output) = &mut *lock(&self.stray_output) {
            stray_output.push(line);
        }
    }

    pub(crate) fn forget_stray_lines(&self) {
        *lock(&self.stray_output) = None;
    }

    /// The error of a connection that ended with its process: exit code or signal, stray lines of stdout, and the last
    /// lines of stderr.
    pub(crate) fn exit_report(&self, closed: Closed) -> impl Future<Output = Error> + Send + use<> {
        let (exit, mut done) = (self.exit.clone(), self.stderr_done.clone());
        let (stray_output, tail) = (self.stray_output.clone(), self.tail.clone());
        async move {
            // A server that closes only its input is not about to exit.
            let wait = if closed == Closed::Input { Duration::ZERO } else { EXIT_WAIT };
            let status = tokio::time::timeout(wait, exit.wait()).await.ok().flatten();
            if status.is_some() || closed == Closed::Output {
                let _ = tokio::time::timeout(STDERR_WAIT, done.wait_for(|done| *done)).await;
            }
            let exit_code = status.and_then(|status| status.code());
            let signal = status.and_then(signal_of);
            let text = match (exit_code, signal) {
                (Some(code), _) => format!("The server exited with code {code}"),
                (None, Some(signal)) => format!("The server was ended by signal {signal}"),
                (None, None) if status.is_some() => "The server exited".to_owned(),
                _ if closed == Closed::Input => "The server closed its input".to_owned(),
                _ => "The server closed its output".to_owned(),
            };
            let ended = Error::new(ErrorKind::ConnectionLost, text).with_exit(exit_code, signal);
            with_output(ended, &stray_output, &tail)
        }
    }

    /// Attaches what the process has written so far, for errors of a server that still runs.
    pub(super) fn with_output(&self, error: Error) -> Error {
        with_output(error, &self.stray_output, &self.tail)
    }

    /// Resolves when the rest of the group has ended too, or at once while the leader lives. Bounded.
    pub(crate) fn rest_ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let exit = self.exit.clone();
        async move {
            if exit.is_over() {
                exit.wait_for_group().await;
            }
        }
    }

    /// Waits for the group to end by itself (its input is closed by now), then ends it. Bounded.
    pub(crate) async fn end(&self) {
        end_group(self.group, self.exit.clone()).await;
    }

    /// Like [`Process::end`], without waiting; for `Drop`.
    pub(crate) fn end_in_background(&self) {
        runtime::spawn(end_group(self.group, self.exit.clone()));
    }
}

fn with_output(
    error: Error,
    stray_output: &Mutex<Option<StrayOutput>>,
    tail: &Mutex<StderrTail>,
) -> Error {
    let stdout = lock(stray_output).as_ref().and_then(StrayOutput::text);
    error.with_stdout(stdout).with_stderr(lock(tail).text())
}

impl From<Launch> for Program {
    fn from(launch: Launch) -> Program {
        let Launch { program: path, args, env, cwd, .. } = launch;
        Program::new(path, args, env.into_iter().collect(), cwd)
    }
}

fn cannot_start(program: &str, cwd: Option<&PathBuf>, mask: &Mask, error: std::io::Error) -> Error {
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    let failed =
        |text: Message| Error::new(ErrorKind::ConnectFailed, text).with_stage(Stage::Spawn);
    let command = Message::default().command(&format!("Command \"{program}\""));
    match cwd {
        Some(cwd) if missing && !cwd.is_dir() => {
            let cwd = cwd.display().to_string();
            let text = Message::new("The working directory");
            failed(text.detail(&format!(" \"{}\"", mask.text(&cwd))).text(" does not exist"))
                .with_hint("correct \"cwd\"")
        }
        _ if missing => failed(command.text(" was not found")).caused_by(&error),
        _ => failed(command.text(&format!(" could not be started: {error}"))).caused_by(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_of_a_server_that_ends_slowly_is_waited_for() {
        let launch = Launch {
            server: "s".into(),
            program: "/bin/sh".into(),
            args: ["-c", "sleep 0.3; exit 4"].map(str::to_owned).into(),
            env: Vec::new(),
            cwd: None,
            mask: Mask::default(),
        };
        let error = runtime::block_on(async {
            let (process, ..) = Process::start(launch).unwrap();
            process.exit_report(Closed::Output).await
        });
        assert_eq!((error.exit_code(), error.signal()), (Some(4), None));
    }
}
