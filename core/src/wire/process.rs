//! Owns child processes: starting one in a session of its own, its last words on stderr, its exit, and the end of
//! its whole tree.
//! Invariant: no process that was started here outlives its owner; at the exit of our process none is left.

use std::collections::HashSet;
use std::ffi::OsString;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Once, OnceLock, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::process::Child;
use tokio::sync::{oneshot, watch};

use crate::error::{Error, ErrorKind, Result};
use crate::runtime;
use crate::sync::lock;

mod stderr;

use stderr::Tail;

/// How long each step of asking a tree to end may take.
const STEP: Duration = Duration::from_secs(1);
/// How long a dying server's last words are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// A large result then needs few turns; the kernel allots the memory only when it is used.
const PIPE_SIZE: usize = 1 << 20;

/// What to start.
pub(crate) struct Launch {
    pub(crate) program: OsString,
    pub(crate) args: Vec<String>,
    /// The child's whole environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: Option<PathBuf>,
}

pub(crate) struct Process {
    group: Pid,
    exit: Exit,
    tail: Arc<Mutex<Tail>>,
    stderr_done: watch::Receiver<bool>,
}

/// Tells when and how a process ended.
#[derive(Clone)]
pub(crate) struct Exit(watch::Receiver<Option<ExitStatus>>);

impl Exit {
    pub(crate) async fn wait(&self) -> Option<ExitStatus> {
        let mut receiver = self.0.clone();
        // The sender goes only with the runtime.
        receiver.wait_for(Option::is_some).await.ok().and_then(|status| *status)
    }
}

impl Process {
    /// Starts the program; gives its standard input and output, ready for non-blocking use.
    pub(crate) async fn start(launch: Launch) -> Result<(Process, OwnedFd, OwnedFd)> {
        let program = launch.program.to_string_lossy().into_owned();
        let cwd = launch.cwd.clone();
        let pipes = pipes().map_err(|error| cannot_start(&program, cwd.as_ref(), error.into()))?;
        let (ours, theirs) = pipes;
        let mut child = spawn_on_lasting_thread(command(launch, theirs))
            .await
            .map_err(|error| cannot_start(&program, cwd.as_ref(), error))?
            .adopt();

        let id = child.id().and_then(|id| Pid::from_raw(id as i32));
        let group = id.ok_or_else(|| {
            Error::new(ErrorKind::ConnectFailed, format!("\"{program}\" ended before it began"))
        })?;
        enlist(group);
        let tail = Arc::new(Mutex::new(Tail::default()));
        let (done, stderr_done) = watch::channel(false);
        if let Some(mut stderr) = child.stderr.take() {
            let tail = tail.clone();
            runtime::spawn(async move {
                let mut chunk = vec![0; 4096];
                while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
                    lock(&tail).push(&chunk[..count]);
                }
                let _ = done.send(true);
            });
        }
        let (told, exit) = watch::channel(None);
        runtime::spawn(async move {
            let status = child.wait().await.unwrap_or_else(|_| ExitStatus::from_raw(0));
            let _ = told.send(Some(status));
            end_rest_of(group).await;
            discharge(group);
        });
        Ok((Process { group, exit: Exit(exit), tail, stderr_done }, ours.0, ours.1))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.group.as_raw_nonzero().get() as u32
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit.clone()
    }

    /// What can be said of the end: exit code or signal, and the last lines of stderr.
    pub(crate) fn obituary(&self) -> impl Future<Output = String> + Send + use<> {
        let (exit, tail, mut done) =
            (self.exit.clone(), self.tail.clone(), self.stderr_done.clone());
        async move {
            let status = tokio::time::timeout(LAST_WORDS, exit.wait()).await.ok().flatten();
            let _ = tokio::time::timeout(LAST_WORDS, done.wait_for(|done| *done)).await;
            let ended = match status {
                Some(status) => match (status.code(), status.signal()) {
                    (Some(code), _) => format!("The server exited with code {code}"),
                    (None, Some(signal)) => format!("The server was ended by signal {signal}"),
                    (None, None) => "The server exited".to_owned(),
                },
                None => "The server closed its output".to_owned(),
            };
            lock(&tail).quote_after(ended)
        }
    }

    /// The last lines of stderr behind `message`, for errors of a server that still runs.
    pub(crate) fn with_last_words(&self, message: String) -> String {
        lock(&self.tail).quote_after(message)
    }

    /// Waits for the tree to end by itself (its input is closed by now), then asks, then forces. Bounded.
    pub(crate) async fn end(&self) {
        end_tree(self.group, self.exit.clone()).await;
    }

    /// The same without waiting; for drops.
    pub(crate) fn end_in_background(&self) {
        runtime::spawn(end_tree(self.group, self.exit.clone()));
    }
}

async fn end_tree(group: Pid, exit: Exit) {
    for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        if let Some(signal) = signal {
            signal_group(group, signal);
        }
        if tokio::time::timeout(STEP, exit.wait()).await.is_ok() {
            break;
        }
    }
    // The leader is gone; the task that saw it go ends whatever is left of its group.
    let deadline = Instant::now() + 2 * STEP;
    while is_enlisted(group) && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Ends grandchildren that outlived the leader.
async fn end_rest_of(group: Pid) {
    for signal in [Signal::TERM, Signal::KILL] {
        if !signal_group(group, signal) {
            return;
        }
        let deadline = Instant::now() + STEP;
        while Instant::now() < deadline {
            if rustix::process::test_kill_process_group(group).is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Whether there was anybody to signal.
fn signal_group(group: Pid, signal: Signal) -> bool {
    rustix::process::kill_process_group(group, signal).is_ok()
}

/// Our ends and the child's ends of standard input and output.
type Pipes = ((OwnedFd, OwnedFd), (OwnedFd, OwnedFd));

fn pipes() -> rustix::io::Result<Pipes> {
    let (stdin_theirs, stdin_ours) = cloexec_pipe()?;
    let (stdout_ours, stdout_theirs) = cloexec_pipe()?;
    for fd in [&stdin_ours, &stdout_ours] {
        let flags = rustix::fs::fcntl_getfl(fd)?;
        rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?;
    }
    // A user over the system's share of pipe memory keeps the small size.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&stdout_ours, PIPE_SIZE);
    Ok(((stdin_ours, stdout_ours), (stdin_theirs, stdout_theirs)))
}

#[cfg(target_os = "linux")]
fn cloexec_pipe() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
}

#[cfg(not(target_os = "linux"))]
fn cloexec_pipe() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let pipe = rustix::pipe::pipe()?;
    rustix::io::fcntl_setfd(&pipe.0, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::fcntl_setfd(&pipe.1, rustix::io::FdFlags::CLOEXEC)?;
    Ok(pipe)
}

fn command(launch: Launch, theirs: (OwnedFd, OwnedFd)) -> std::process::Command {
    let mut command = std::process::Command::new(&launch.program);
    command.args(&launch.args).env_clear().envs(launch.env);
    if let Some(cwd) = &launch.cwd {
        command.current_dir(cwd);
    }
    command.stdin(theirs.0).stdout(theirs.1).stderr(Stdio::piped());
    // SAFETY: only system calls that are safe between fork and exec.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            #[cfg(target_os = "linux")]
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        });
    }
    command
}

/// A child on its way to its owner; if nobody takes it, it ends at once.
struct Newborn(Option<Child>);

impl Newborn {
    fn adopt(mut self) -> Child {
        self.0.take().expect("it is taken once")
    }
}

impl Drop for Newborn {
    fn drop(&mut self) {
        let orphan = self.0.as_ref().and_then(Child::id);
        if let Some(group) = orphan.and_then(|id| Pid::from_raw(id as i32)) {
            signal_group(group, Signal::KILL);
        }
    }
}

/// The kernel's "die with your parent" means the parent *thread*, so all children start on one that never ends.
async fn spawn_on_lasting_thread(command: std::process::Command) -> std::io::Result<Newborn> {
    type Job = (std::process::Command, oneshot::Sender<std::io::Result<Newborn>>);
    static JOBS: OnceLock<mpsc::Sender<Job>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("mcpool-spawn".into())
            .stack_size(256 << 10)
            .spawn(move || {
                let _runtime = runtime::handle().enter();
                for (command, reply) in jobs {
                    let child = tokio::process::Command::from(command).spawn();
                    let _ = reply.send(child.map(|child| Newborn(Some(child))));
                }
            })
            .expect("the system refuses to start a thread");
        sender
    });
    let (reply, newborn) = oneshot::channel();
    let stopped = || std::io::Error::other("the spawning thread has stopped");
    jobs.send((command, reply)).map_err(|_| stopped())?;
    newborn.await.map_err(|_| stopped())?
}

fn cannot_start(program: &str, cwd: Option<&PathBuf>, error: std::io::Error) -> Error {
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    let failed = |text| Error::new(ErrorKind::ConnectFailed, text);
    match cwd {
        Some(cwd) if missing && !cwd.is_dir() => {
            failed(format!("The working directory {} does not exist", cwd.display()))
                .with_hint("correct \"cwd\"")
        }
        _ if missing => failed(format!("Command \"{program}\" was not found"))
            .with_hint("is it installed, and on the PATH that the server gets?"),
        _ => failed(format!("Command \"{program}\" could not be started: {error}")),
    }
}

/// Every group that lives, for the exit of our process.
static ENLISTED: LazyLock<Mutex<HashSet<i32>>> = LazyLock::new(Mutex::default);
static OWNER: AtomicU32 = AtomicU32::new(0);

fn enlist(group: Pid) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        OWNER.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: the function is `extern "C"`, takes nothing and stays loaded as long as the process.
        unsafe { libc::atexit(end_all_at_exit) };
    });
    lock(&ENLISTED).insert(group.as_raw_nonzero().get());
}

fn discharge(group: Pid) {
    lock(&ENLISTED).remove(&group.as_raw_nonzero().get());
}

fn is_enlisted(group: Pid) -> bool {
    lock(&ENLISTED).contains(&group.as_raw_nonzero().get())
}

/// The net below `close`: whoever exits with servers running takes them along, asking first.
extern "C" fn end_all_at_exit() {
    // A forked child that exits must not end its parent's servers.
    if OWNER.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    for (signal, patience) in [(Signal::TERM, 300), (Signal::KILL, 200)] {
        let groups: Vec<i32> = lock(&ENLISTED).iter().copied().collect();
        for group in groups.into_iter().filter_map(Pid::from_raw) {
            signal_group(group, signal);
        }
        let deadline = Instant::now() + Duration::from_millis(patience);
        while !lock(&ENLISTED).is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
