//! Owns starting a program without a window, in a job of its own. It starts suspended, so that none of its children is
//! started outside of the job. The standard library quotes the arguments, also those of a batch file, which `cmd.exe`
//! reads by other rules.
//! Handles that the host itself left inheritable are inherited: the standard library cannot list those that are not.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::windows::io::{FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use windows_sys::Win32::Foundation::{ERROR_NO_MORE_FILES, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
};

use super::group::{self, Job, Pid};
use crate::file_system::NULL_DEVICE;

/// A program to start.
#[derive(Clone)]
pub(crate) struct Program {
    path: PathBuf,
    args: Args,
    /// The complete environment.
    env: BTreeMap<OsString, OsString>,
    cwd: Option<PathBuf>,
}

#[derive(Clone)]
enum Args {
    Words(Vec<String>),
    /// One text that is not quoted.
    Verbatim(String),
}

impl Program {
    pub(crate) fn new(
        path: PathBuf,
        args: Vec<String>,
        env: BTreeMap<OsString, OsString>,
        cwd: Option<PathBuf>,
    ) -> Self {
        Program { path, args: Args::Words(args), env, cwd }
    }

    /// The system's shell with this command. `/s` removes the outer quotes only, `/d` skips the user's startup commands.
    pub(crate) fn shell(
        command: &str,
        env: BTreeMap<OsString, OsString>,
        cwd: Option<PathBuf>,
    ) -> Self {
        let path = std::env::var_os("COMSPEC").unwrap_or_else(|| "cmd.exe".into()).into();
        Program { path, args: Args::Verbatim(format!("/d /s /c \"{command}\"")), env, cwd }
    }
}

/// The stdin, stdout and stderr of a program.
pub(super) type Stdio = [OwnedHandle; 3];

/// Starts the program. The caller must wait for its exit.
pub(super) fn spawn(program: &Program, stdio: Stdio) -> io::Result<Pid> {
    let [stdin, stdout, stderr] = stdio;
    let mut command = Command::new(&program.path);
    match &program.args {
        Args::Words(words) => command.args(words),
        Args::Verbatim(text) => command.raw_arg(text),
    };
    command.env_clear().envs(&program.env);
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    command.creation_flags(CREATE_NO_WINDOW | CREATE_SUSPENDED);
    if let Some(cwd) = &program.cwd {
        command.current_dir(cwd);
    }
    let job = Job::new()?;
    let mut child = command.spawn()?;
    match job.add(&child).and_then(|()| resume(child.id())) {
        Ok(()) => Ok(group::insert(child, job)),
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

/// Opens `NUL`.
pub(super) fn null() -> io::Result<OwnedHandle> {
    Ok(File::options().read(true).write(true).open(NULL_DEVICE)?.into())
}

/// Resumes all threads of a process that was started suspended. The standard library does not keep the handle of its
/// first thread, so the list of all threads is searched.
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is valid, and nobody else owns it.
    let _owned = unsafe { OwnedHandle::from_raw_handle(snapshot) };
    let mut thread =
        THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..Default::default() };
    let mut resumed = Err(io::Error::from_raw_os_error(ERROR_NO_MORE_FILES as i32));
    // SAFETY: the snapshot is open, and the entry has the size that it says.
    let mut found = unsafe { Thread32First(snapshot, &mut thread) };
    while found != 0 {
        if thread.th32OwnerProcessID == process {
            resume_thread(thread.th32ThreadID)?;
            resumed = Ok(());
        }
        // SAFETY: as above.
        found = unsafe { Thread32Next(snapshot, &mut thread) };
    }
    resumed
}

fn resume_thread(id: u32) -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let thread = unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, id) };
    if thread.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is valid, and nobody else owns it.
    let _owned = unsafe { OwnedHandle::from_raw_handle(thread) };
    // SAFETY: the handle is open.
    match unsafe { ResumeThread(thread) } {
        u32::MAX => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
