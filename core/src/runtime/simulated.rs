//! Owns a runtime of one thread for simulations. What that thread spawns runs on it, so nothing runs at the same time;
//! limits on a peer's answers are by a clock that is moved by hand. For tests only.

use std::cell::RefCell;
use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::clock::Clock;

struct Simulated {
    handle: &'static Handle,
    limits: Clock,
}

thread_local! {
    static CURRENT: RefCell<Option<Simulated>> = const { RefCell::new(None) };
}

/// Runs `work` with everything that it spawns on this thread. `limits` is the clock of limits on answers.
pub(crate) fn run<T>(limits: &Clock, work: impl Future<Output = T>) -> T {
    thread_local! {
        // Never dropped: handles are given out for ever, as those of the real runtime.
        static RUNTIME: &'static Runtime = Box::leak(Box::new(
            // Without a count of turns, which would last from one simulation to the next.
            Builder::new_current_thread().global_queue_interval(u32::MAX).enable_time().build().expect("a runtime"),
        ));
    }
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            CURRENT.take();
        }
    }
    let runtime = RUNTIME.with(|runtime| *runtime);
    CURRENT.replace(Some(Simulated { handle: runtime.handle(), limits: limits.clone() }));
    let _reset = Reset;
    runtime.block_on(work)
}

/// The runtime of this thread's simulation.
pub(super) fn handle() -> Option<&'static Handle> {
    CURRENT.with_borrow(|current| current.as_ref().map(|simulated| simulated.handle))
}

fn limits() -> Option<Clock> {
    CURRENT.with_borrow(|current| current.as_ref().map(|simulated| simulated.limits.clone()))
}

/// The time of this thread's simulation for limits on answers, in microseconds.
pub(crate) fn now_us() -> Option<u64> {
    limits().map(|clock| clock.now().as_micros() as u64)
}

/// Waits in the time of this thread's simulation, if there is one; otherwise in real time.
pub(super) async fn sleep(time: Duration) {
    match limits() {
        Some(clock) => clock.sleep(time).await,
        None => tokio::time::sleep(time).await,
    }
}
