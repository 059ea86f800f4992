//! Owns starting a program by fork, where the C library's `posix_spawn` lacks what we need.
//! Invariant: between fork and exec only system calls are made, since another thread may hold any lock.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Pid;

use super::{FIRST_NON_STDIO, Program, Stdio};

pub(super) fn spawn(
    program: &Program,
    stdio: Stdio,
    close_others: fn() -> io::Result<()>,
) -> io::Result<Pid> {
    let mut command = Command::new(&program.path);
    command.args(&program.args).env_clear().envs(&program.env);
    if let Some(cwd) = &program.cwd {
        command.current_dir(cwd);
    }
    let [stdin, stdout, stderr] = stdio;
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    let prepare = move || {
        rustix::process::setsid()?;
        close_others()
    };
    // SAFETY: `prepare` only makes system calls.
    let child = unsafe { command.pre_exec(prepare) }.spawn()?;
    Pid::from_raw(child.id() as i32).ok_or_else(|| io::ErrorKind::Other.into())
}

/// Sets close-on-exec on all other descriptors. Closing them here would also close the one that reports a failed exec.
pub(super) fn keep_only_stdio() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if mark_range().is_ok() || mark_listed().is_ok() {
        return Ok(());
    }
    mark_each()
}

/// Sets it on the whole range: Linux 5.11 and later.
#[cfg(target_os = "linux")]
pub(super) fn mark_range() -> io::Result<()> {
    let (first, last, flags) = (FIRST_NON_STDIO as u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    // SAFETY: it only changes descriptor flags of this child, which is about to exec.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets it on the descriptors that the system lists.
#[cfg(target_os = "linux")]
pub(super) fn mark_listed() -> io::Result<()> {
    use std::mem::MaybeUninit;

    use rustix::fs::{Mode, OFlags, RawDir};

    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(c"/proc/self/fd", flags, Mode::empty())?;
    let mut buffer = [const { MaybeUninit::uninit() }; 4096];
    let mut listed = RawDir::new(&directory, &mut buffer);
    while let Some(entry) = listed.next() {
        let entry = entry?;
        let number = entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
        if let Some(fd) = number.filter(|fd| *fd >= FIRST_NON_STDIO) {
            mark(fd);
        }
    }
    Ok(())
}

/// Sets it on every possible descriptor.
pub(super) fn mark_each() -> io::Result<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.and_then(|limit| i32::try_from(limit).ok()).unwrap_or(i32::MAX);
    (FIRST_NON_STDIO..limit).for_each(mark);
    Ok(())
}

fn mark(fd: i32) {
    // SAFETY: the kernel refuses a number that is not open.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}
