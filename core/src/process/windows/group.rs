//! Owns ending a process tree, which is a job here. Windows has no signal for a program without a window, so the polite
//! end is the end of its input.
//! Invariant: a wait for a job is bounded; a job is open as long as its child is waited for.

use std::collections::HashMap;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation,
    QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};

use super::Exit;
use crate::fork::PerProcess;
use crate::sync::lock;

/// The limit for each step of ending a process tree.
pub(super) const END_STEP_LIMIT: Duration = Duration::from_secs(1);
/// How often a job without its leader is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The exit code of processes that we end.
const ENDED: u32 = 1;

/// The id of the first process of a job. Windows does not use it again while a handle of the process is open.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pid(u32);

pub(super) fn number(group: Pid) -> u32 {
    group.0
}

static JOBS: PerProcess<Mutex<HashMap<Pid, Arc<Job>>>> = PerProcess::new(Mutex::default);

/// The processes of one program.
pub(super) struct Job {
    handle: OwnedHandle,
    /// Until it is waited for.
    leader: Mutex<Option<Child>>,
}

impl Job {
    pub(super) fn new() -> io::Result<Job> {
        // SAFETY: null means the default security and no name.
        let handle = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle is valid, and nobody else owns it.
        let handle = unsafe { OwnedHandle::from_raw_handle(handle) };
        Ok(Job { handle, leader: Mutex::new(None) })
    }

    /// Its future children belong to the job too.
    pub(super) fn add(&self, child: &Child) -> io::Result<()> {
        // SAFETY: both handles are open.
        check(unsafe {
            AssignProcessToJobObject(self.handle.as_raw_handle(), child.as_raw_handle())
        })
    }

    /// Lets the system end the processes with the last handle of the job, so also when we are killed.
    fn end_with_us(&self) -> io::Result<()> {
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the struct is the one of this class, and its size is given.
        check(unsafe {
            SetInformationJobObject(
                self.handle.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            )
        })
    }

    fn kill(&self) {
        // SAFETY: the handle is open.
        unsafe { TerminateJobObject(self.handle.as_raw_handle(), ENDED) };
    }

    fn is_empty(&self) -> bool {
        let mut counts = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the struct is the one of this class, and its size is given.
        let counted = check(unsafe {
            QueryInformationJobObject(
                self.handle.as_raw_handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut counts).cast(),
                size_of_val(&counts) as u32,
                std::ptr::null_mut(),
            )
        });
        counted.is_err() || counts.ActiveProcesses == 0
    }
}

fn check(done: i32) -> io::Result<()> {
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn job(group: Pid) -> Option<Arc<Job>> {
    lock(JOBS.get()).get(&group).cloned()
}

/// Keeps the job of a program that was just started.
pub(super) fn insert(leader: Child, job: Job) -> Pid {
    let group = Pid(leader.id());
    *lock(&job.leader) = Some(leader);
    lock(JOBS.get()).insert(group, Arc::new(job));
    group
}

/// Takes the leader, to wait for it.
pub(super) fn take_leader(group: Pid) -> Option<Child> {
    lock(&job(group)?.leader).take()
}

/// Forgets the job; what still runs in it ends.
pub(super) fn remove(group: Pid) {
    lock(JOBS.get()).remove(&group);
}

/// Makes the system end the group when this process ends.
pub(super) fn end_with_us(group: Pid) {
    if let Some(Err(error)) = job(group).map(|job| job.end_with_us()) {
        tracing::warn!(%error, "a killed host may leave this server behind");
    }
}

/// Waits for the leader to end by itself, then ends the job. Then waits for the rest of it.
pub(super) async fn end_group(group: Pid, exit: Exit) {
    if tokio::time::timeout(END_STEP_LIMIT, exit.wait()).await.is_err() {
        kill_group(group);
        let _ = tokio::time::timeout(END_STEP_LIMIT, exit.wait()).await;
    }
    exit.wait_for_group().await;
}

/// Ends grandchildren that outlived the leader.
pub(super) async fn end_orphans(group: Pid) {
    let Some(job) = job(group) else { return };
    job.kill();
    let deadline = Instant::now() + END_STEP_LIMIT;
    while !job.is_empty() && Instant::now() < deadline {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

pub(super) fn kill_group(group: Pid) {
    if let Some(job) = job(group) {
        job.kill();
    }
}
