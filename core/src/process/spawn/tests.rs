use std::io::Read;
use std::os::fd::AsRawFd;

use super::*;
use crate::process::pipe::cloexec_pipe;

type SpawnFn = fn(&Program, Stdio) -> io::Result<Pid>;

const SPAWN_FNS: &[(&str, SpawnFn)] = &[
    ("chosen", spawn),
    ("posix", |program, stdio| posix::spawn(program, &stdio, posix::Extras::get().unwrap())),
    ("fork", |program, stdio| fork::spawn(program, stdio, fork::keep_only_stdio)),
    ("fork, each", |program, stdio| fork::spawn(program, stdio, fork::mark_each)),
    #[cfg(target_os = "linux")]
    ("fork, range", |program, stdio| fork::spawn(program, stdio, fork::mark_range)),
    #[cfg(target_os = "linux")]
    ("fork, listed", |program, stdio| fork::spawn(program, stdio, fork::mark_listed)),
];

fn shell(script: &str) -> Program {
    let script = format!("read go; {script}");
    let args = ["-c", &script, "shell"].map(str::to_owned).into();
    let env = BTreeMap::from([("A".into(), "1".into())]);
    Program { path: "/bin/sh".into(), args, env, cwd: Some("/".into()) }
}

/// The program's output. The program waits on stdin, so that it can be inspected first.
fn output_of(spawn: SpawnFn, program: &Program) -> io::Result<String> {
    let (waits, go) = cloexec_pipe()?;
    let (ours, theirs) = cloexec_pipe()?;
    let pid = spawn(program, [waits, theirs, null()?])?;
    assert_eq!(rustix::process::getsid(Some(pid))?, pid);
    drop(go);
    let mut text = String::new();
    File::from(ours).read_to_string(&mut text)?;
    rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty())?;
    Ok(text)
}

#[test]
fn a_program_gets_its_arguments_environment_and_directory() {
    for (name, spawn) in SPAWN_FNS {
        let output = output_of(*spawn, &shell("echo $A, $0, $(pwd), $PPID")).unwrap();
        let us = std::process::id();
        assert_eq!(output, format!("1, shell, /, {us}\n"), "{name}");
    }
}

#[test]
fn a_program_leads_its_session_and_has_nothing_else_open() {
    let secret = tempfile::tempfile().unwrap();
    // SAFETY: the inheritable copy is closed below.
    let inheritable = unsafe { libc::dup(secret.as_raw_fd()) };
    let flags = || unsafe { libc::fcntl(inheritable, libc::F_GETFD) };
    assert_eq!(flags(), 0);
    for (name, spawn) in SPAWN_FNS {
        let script = format!("(: <&{inheritable}) 2>/dev/null && echo open; echo done");
        assert_eq!(output_of(*spawn, &shell(&script)).unwrap(), "done\n", "{name}");
        assert_eq!(flags(), 0, "{name}: the host's own is as it was");
    }
    // SAFETY: the descriptor is ours.
    unsafe { libc::close(inheritable) };
}

#[test]
fn a_program_that_cannot_be_started_is_an_error() {
    for (name, spawn) in SPAWN_FNS {
        let kind = |program: Program| output_of(*spawn, &program).unwrap_err().kind();
        let missing = Program { path: "/nothing/here".into(), ..shell("") };
        assert_eq!(kind(missing), io::ErrorKind::NotFound, "{name}");
        let nowhere = Program { cwd: Some("/nothing/here".into()), ..shell("") };
        assert_eq!(kind(nowhere), io::ErrorKind::NotFound, "{name}");
        let no_program = Program { path: "/etc/passwd".into(), ..shell("") };
        assert_eq!(kind(no_program), io::ErrorKind::PermissionDenied, "{name}");
        let cut = Program { args: vec!["a\0b".to_owned()], ..shell("") };
        assert_eq!(kind(cut), io::ErrorKind::InvalidInput, "{name}");
    }
}
