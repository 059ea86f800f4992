//! Owns starting a program with `posix_spawn`: a fork would copy the page tables of the host's memory for each server.
//! The C library sets the session and the directory and closes descriptors.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_short};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use libc::{posix_spawn_file_actions_t as RawActions, posix_spawnattr_t as RawAttributes};
use rustix::process::Pid;

use super::{Program, Stdio};
use crate::fork::PerProcess;

#[cfg(target_os = "macos")]
const FLAGS: c_int = 0x0400 /* POSIX_SPAWN_SETSID */ | libc::POSIX_SPAWN_CLOEXEC_DEFAULT;
#[cfg(not(target_os = "macos"))]
const FLAGS: c_int = libc::POSIX_SPAWN_SETSID as c_int;

static EXTRAS: PerProcess<Option<Extras>> = PerProcess::new(Extras::find);

type AddChdir = unsafe extern "C" fn(*mut RawActions, *const c_char) -> c_int;
#[cfg(not(target_os = "macos"))]
type AddCloseFrom = unsafe extern "C" fn(*mut RawActions, c_int) -> c_int;

/// Functions that not every supported C library has, so they are looked up instead of linked: glibc has them since
/// 2.34. Where they exist, the flags are supported too.
pub(super) struct Extras {
    add_chdir: AddChdir,
    #[cfg(not(target_os = "macos"))]
    add_close_from: AddCloseFrom,
}

impl Extras {
    pub(super) fn get() -> Option<&'static Extras> {
        EXTRAS.get().as_ref()
    }

    fn find() -> Option<Extras> {
        // SAFETY: the functions with these names have these types.
        unsafe {
            Some(Extras {
                add_chdir: std::mem::transmute::<*mut libc::c_void, AddChdir>(symbol(
                    c"posix_spawn_file_actions_addchdir_np",
                )?),
                #[cfg(not(target_os = "macos"))]
                add_close_from: std::mem::transmute::<*mut libc::c_void, AddCloseFrom>(symbol(
                    c"posix_spawn_file_actions_addclosefrom_np",
                )?),
            })
        }
    }
}

fn symbol(name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: it only looks up a symbol.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

pub(super) fn spawn(program: &Program, stdio: &Stdio, extras: &Extras) -> io::Result<Pid> {
    let path = text(program.path.as_os_str())?;
    let mut words = vec![path.clone()];
    for arg in &program.args {
        words.push(text(arg.as_ref())?);
    }
    let mut env = Vec::new();
    for (name, value) in &program.env {
        env.push(text(&[name.as_os_str(), value].join(OsStr::new("=")))?);
    }
    let cwd = program.cwd.as_ref().map(|cwd| text(cwd.as_os_str())).transpose()?;

    let mut actions = FileActions::new()?;
    for (number, fd) in (0..).zip(stdio) {
        actions.duplicate(fd.as_raw_fd(), number)?;
    }
    if let Some(cwd) = &cwd {
        // SAFETY: both pointers are valid; the path is copied.
        check(unsafe { (extras.add_chdir)(&mut actions.0, cwd.as_ptr()) })?;
    }
    // On macOS a flag does this.
    #[cfg(not(target_os = "macos"))]
    // SAFETY: the pointer is valid.
    check(unsafe { (extras.add_close_from)(&mut actions.0, super::FIRST_NON_STDIO) })?;
    let attributes = SpawnAttributes::new()?;
    let (words, env) = (pointers(&words), pointers(&env));
    let mut pid = 0;
    // SAFETY: all pointers are valid during the call; both arrays end in a null.
    check(unsafe {
        let (words, env) = (words.as_ptr(), env.as_ptr());
        libc::posix_spawn(&mut pid, path.as_ptr(), &actions.0, &attributes.0, words, env)
    })?;
    Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::Other.into())
}

fn text(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

fn pointers(texts: &[CString]) -> Vec<*mut c_char> {
    let pointers = texts.iter().map(|text| text.as_ptr().cast_mut());
    pointers.chain([std::ptr::null_mut()]).collect()
}

fn check(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

struct FileActions(RawActions);

impl FileActions {
    fn new() -> io::Result<Self> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: it is initialised once the call succeeds.
        unsafe {
            check(libc::posix_spawn_file_actions_init(raw.as_mut_ptr()))?;
            Ok(FileActions(raw.assume_init()))
        }
    }

    fn duplicate(&mut self, fd: RawFd, number: RawFd) -> io::Result<()> {
        // SAFETY: the pointer is valid.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(&mut self.0, fd, number) })
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        unsafe { libc::posix_spawn_file_actions_destroy(&mut self.0) };
    }
}

struct SpawnAttributes(RawAttributes);

impl SpawnAttributes {
    /// A new session, and the default action for SIGPIPE, which we and most hosts ignore.
    fn new() -> io::Result<Self> {
        let mut raw = MaybeUninit::uninit();
        let mut signals = MaybeUninit::uninit();
        // SAFETY: each is initialised once its call succeeds; the set is copied.
        unsafe {
            check(libc::posix_spawnattr_init(raw.as_mut_ptr()))?;
            let mut attributes = SpawnAttributes(raw.assume_init());
            libc::sigemptyset(signals.as_mut_ptr());
            libc::sigaddset(signals.as_mut_ptr(), libc::SIGPIPE);
            let (raw, signals) = (&mut attributes.0, signals.assume_init());
            check(libc::posix_spawnattr_setsigdefault(raw, &signals))?;
            let flags = FLAGS | libc::POSIX_SPAWN_SETSIGDEF as c_int;
            check(libc::posix_spawnattr_setflags(raw, flags as c_short))?;
            Ok(attributes)
        }
    }
}

impl Drop for SpawnAttributes {
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        unsafe { libc::posix_spawnattr_destroy(&mut self.0) };
    }
}
