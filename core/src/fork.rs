//! Owns fork safety. A fork copies memory but not threads, and a lock that another thread held stays locked. So each
//! process creates its own statics and leaks what it inherited.
//! Invariant: nothing here waits for a lock of the parent, and no value of the parent is dropped in a child.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::error::Result;
use crate::sync::lock;

#[cfg(unix)]
mod descriptors;
#[cfg(unix)]
mod handler;

#[cfg(unix)]
pub(crate) use descriptors::LocalFd;

static GENERATION: AtomicU64 = AtomicU64::new(1);

/// Changes with every fork: another number means another process. It may grow by more than one.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Identifies the process that created a value.
#[derive(Clone, Copy)]
pub(crate) struct ForkGeneration(u64);

impl ForkGeneration {
    pub(crate) fn current() -> ForkGeneration {
        // Windows has no fork.
        #[cfg(unix)]
        handler::watch_forks();
        ForkGeneration(generation())
    }

    /// Whether the value was created by a process that this one was forked from.
    pub(crate) fn is_inherited(self) -> bool {
        self.0 != generation()
    }
}

/// A value that only its own process drops. In a forked child, dropping it could take locks of threads that do not
/// exist, wake tasks, or end the parent's resources.
#[derive(Clone)]
pub(crate) struct ProcessLocal<T> {
    value: ManuallyDrop<T>,
    made_in: ForkGeneration,
}

impl<T> ProcessLocal<T> {
    pub(crate) fn new(value: T) -> Self {
        ProcessLocal { value: ManuallyDrop::new(value), made_in: ForkGeneration::current() }
    }

    /// Whether the value was inherited by a fork.
    pub(crate) fn is_inherited(&self) -> bool {
        self.made_in.is_inherited()
    }
}

impl<T> Deref for ProcessLocal<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for ProcessLocal<T> {
    fn drop(&mut self) {
        if !self.is_inherited() {
            // SAFETY: the value is not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// A static that each process creates on first use.
pub(crate) struct PerProcess<T: Send + Sync + 'static> {
    init: fn() -> T,
    /// Null, or a leaked slot; each process that uses it installs a new one.
    slot: AtomicPtr<Slot<T>>,
}

struct Slot<T> {
    generation: u64,
    value: OnceLock<T>,
}

impl<T: Send + Sync + 'static> PerProcess<T> {
    pub(crate) const fn new(init: fn() -> T) -> Self {
        PerProcess { init, slot: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// This process's value; the first use creates it.
    pub(crate) fn get(&'static self) -> &'static T {
        self.created().unwrap_or_else(|| self.create())
    }

    /// This process's value, if it exists.
    pub(crate) fn created(&'static self) -> Option<&'static T> {
        let slot = in_this_process(self.slot.load(Ordering::Acquire), generation())?;
        slot.value.get()
    }

    #[cold]
    fn create(&'static self) -> &'static T {
        let ForkGeneration(generation) = ForkGeneration::current();
        let mut seen = self.slot.load(Ordering::Acquire);
        loop {
            if let Some(slot) = in_this_process(seen, generation) {
                return slot.value.get_or_init(self.init);
            }
            let fresh = Box::into_raw(Box::new(Slot { generation, value: OnceLock::new() }));
            let order = (Ordering::AcqRel, Ordering::Acquire);
            seen = match self.slot.compare_exchange(seen, fresh, order.0, order.1) {
                Ok(_) => fresh,
                Err(other) => {
                    // SAFETY: it was created above and never published.
                    drop(unsafe { Box::from_raw(fresh) });
                    other
                }
            };
        }
    }
}

/// A static that each process starts on first use. Starting can fail and is retried on the next use.
pub(crate) struct Startable<T: Send + Sync + 'static> {
    start: fn() -> Result<T>,
    starting: PerProcess<Starting<T>>,
}

struct Starting<T> {
    started: OnceLock<T>,
    turn: Mutex<()>,
}

impl<T: Send + Sync + 'static> Startable<T> {
    pub(crate) const fn new(start: fn() -> Result<T>) -> Self {
        let starting =
            PerProcess::new(|| Starting { started: OnceLock::new(), turn: Mutex::new(()) });
        Startable { start, starting }
    }

    /// This process's value; the first use starts it.
    pub(crate) fn get(&'static self) -> Result<&'static T> {
        let starting = self.starting.get();
        if let Some(started) = starting.started.get() {
            return Ok(started);
        }
        let _turn = lock(&starting.turn);
        match starting.started.get() {
            Some(started) => Ok(started),
            None => {
                let started = (self.start)()?;
                Ok(starting.started.get_or_init(|| started))
            }
        }
    }
}

/// A static with the same value in every process, computed on first use. It never blocks: concurrent threads each
/// compute it and one value stays; a forked child uses its parent's value if that was ready.
pub(crate) struct Computed<T: Send + Sync + 'static> {
    compute: fn() -> T,
    /// Null, or leaked.
    value: AtomicPtr<T>,
}

impl<T: Send + Sync + 'static> Computed<T> {
    pub(crate) const fn new(compute: fn() -> T) -> Self {
        Computed { compute, value: AtomicPtr::new(std::ptr::null_mut()) }
    }
}

impl<T: Send + Sync + 'static> Deref for Computed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let ready = self.value.load(Ordering::Acquire);
        // SAFETY: a published pointer is never freed.
        if let Some(value) = unsafe { ready.as_ref() } {
            return value;
        }
        let fresh = Box::into_raw(Box::new((self.compute)()));
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match self.value.compare_exchange(ready, fresh, order.0, order.1) {
            // SAFETY: as above; it is published now.
            Ok(_) => unsafe { &*fresh },
            Err(other) => {
                // SAFETY: the first was created above and never published; the other is published.
                unsafe {
                    drop(Box::from_raw(fresh));
                    &*other
                }
            }
        }
    }
}

fn in_this_process<T>(slot: *const Slot<T>, generation: u64) -> Option<&'static Slot<T>> {
    // SAFETY: a published pointer is never freed.
    let slot = unsafe { slot.as_ref() }?;
    (slot.generation == generation).then_some(slot)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use super::*;
    use crate::error::{Error, ErrorKind};

    /// Whether `holds` is true in a forked child.
    fn holds_in_child(holds: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child runs only the closure and exits without unwinding into the test harness.
        match unsafe { libc::fork() } {
            0 => {
                let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(holds));
                unsafe { libc::_exit(i32::from(!held.unwrap_or(false))) }
            }
            child => {
                let mut status = -1;
                // SAFETY: it is our child, and nobody else waits for it.
                child > 0 && unsafe { libc::waitpid(child, &mut status, 0) } == child && status == 0
            }
        }
    }

    #[test]
    fn a_child_creates_its_own_value_once() {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        static VALUE: PerProcess<usize> =
            PerProcess::new(|| MADE.fetch_add(1, Ordering::Relaxed) + 1);
        assert_eq!((VALUE.created(), VALUE.get(), VALUE.get()), (None, &1, &1));
        assert!(holds_in_child(|| (VALUE.created(), VALUE.get(), VALUE.get()) == (None, &2, &2)));
        assert_eq!((VALUE.get(), MADE.load(Ordering::Relaxed)), (&1, 1));
    }

    #[test]
    fn a_failed_start_is_retried_and_succeeds_once() {
        static TRIED: AtomicUsize = AtomicUsize::new(0);
        static VALUE: Startable<usize> =
            Startable::new(|| match TRIED.fetch_add(1, Ordering::Relaxed) {
                0 => Err(Error::new(ErrorKind::LimitExceeded, "not yet")),
                tried => Ok(tried),
            });
        assert!(VALUE.get().is_err());
        assert_eq!((VALUE.get().unwrap(), VALUE.get().unwrap()), (&1, &1));
        assert!(holds_in_child(|| VALUE.get().is_ok_and(|created| *created == 2)));
    }

    #[test]
    fn a_child_does_not_wait_for_a_thread_that_was_creating_the_value() {
        static VALUE: PerProcess<bool> = PerProcess::new(|| {
            let maker = std::thread::current().name() == Some("maker");
            if maker {
                BEGUN.store(true, Ordering::Release);
                while !DONE.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            }
            maker
        });
        static BEGUN: AtomicBool = AtomicBool::new(false);
        static DONE: AtomicBool = AtomicBool::new(false);
        let maker = std::thread::Builder::new().name("maker".into()).spawn(|| *VALUE.get());
        while !BEGUN.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let created = holds_in_child(|| !*VALUE.get());
        DONE.store(true, Ordering::Release);
        assert!(created && maker.unwrap().join().unwrap() && *VALUE.get());
    }

    #[test]
    fn a_computed_value_is_inherited_once_it_is_ready() {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        static BEGUN: AtomicBool = AtomicBool::new(false);
        static DONE: AtomicBool = AtomicBool::new(false);
        static VALUE: Computed<usize> = Computed::new(|| {
            if std::thread::current().name() == Some("maker") {
                BEGUN.store(true, Ordering::Release);
                while !DONE.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            }
            MADE.fetch_add(1, Ordering::Relaxed) + 1
        });
        let maker = std::thread::Builder::new().name("maker".into()).spawn(|| *VALUE);
        while !BEGUN.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        assert!(holds_in_child(|| *VALUE == 1 && MADE.load(Ordering::Relaxed) == 1));
        DONE.store(true, Ordering::Release);
        assert_eq!((maker.unwrap().join().unwrap(), *VALUE), (1, 1));
        assert!(holds_in_child(|| *VALUE == 1 && MADE.load(Ordering::Relaxed) == 1));
    }

    /// A blocking static would make a child wait forever for a thread that was not forked with it.
    #[test]
    fn no_static_makes_a_child_wait_for_a_thread_of_its_parent() {
        let mut left = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut found = Vec::new();
        while let Some(path) = left.pop() {
            if path.is_dir() {
                left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let is_waited_for = |line: &str| {
                let line = line.trim_start();
                let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
                let of = line.strip_prefix("static ").and_then(|rest| rest.split_once(": "));
                let waiting = ["LazyLock<", "OnceLock<", "Once ", "Mutex<", "RwLock<"];
                of.is_some_and(|(_, of)| waiting.iter().any(|kind| of.starts_with(kind)))
            };
            found.extend(text.lines().filter(|line| is_waited_for(line)).map(str::to_owned));
        }
        assert!(found.is_empty(), "PerProcess and Computed are for that: {found:?}");
    }

    #[test]
    fn only_the_process_that_created_a_value_drops_it() {
        let value = std::sync::Arc::new(());
        let local = ProcessLocal::new(value.clone());
        assert!(holds_in_child(|| {
            let inherited = local.is_inherited();
            // SAFETY: this process exits without using it again.
            drop(unsafe { std::ptr::read(&local) });
            inherited && std::sync::Arc::strong_count(&value) == 2
        }));
        assert!(!local.is_inherited());
        drop(local);
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
    }
}
