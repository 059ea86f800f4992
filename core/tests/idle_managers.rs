//! Hazard: a manager that never connects holds much memory, which a host with many forgotten managers pays for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use mcpool::{Config, Manager, ManagerOptions, Pool, PoolOptions};
use serde_json::json;

/// Counts the bytes that are in use.
struct Counting;

static IN_USE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MANAGERS: usize = 100;
/// The most bytes of one manager with one server.
const LIMIT: isize = 16 << 10;

fn config() -> Config {
    Config::from_json(&json!({"mcpServers": {"a": {"command": "true"}}}).to_string()).unwrap()
}

fn managers(pool: &Pool) -> Vec<Manager> {
    let options = || ManagerOptions::default().pool(Some(pool.clone()));
    (0..MANAGERS).map(|_| Manager::new(config(), options())).collect()
}

/// One test, because it counts the memory of the whole process.
#[tokio::test]
async fn a_manager_that_never_connects_is_small_and_leaves_nothing() {
    let pool = Pool::new(PoolOptions::default());
    // What lives as long as the process exists from now on.
    for manager in managers(&pool) {
        drop(manager.events());
        manager.close().await;
    }
    let before = IN_USE.load(Ordering::Relaxed);
    let made = managers(&pool);
    let each = (IN_USE.load(Ordering::Relaxed) - before) / MANAGERS as isize;
    assert!(each < LIMIT, "{each} bytes");
    for manager in &made {
        manager.close().await;
    }
    let closed = (IN_USE.load(Ordering::Relaxed) - before) / MANAGERS as isize;
    assert!(closed < LIMIT, "{closed} bytes after close");
    drop(made);
    let left = (IN_USE.load(Ordering::Relaxed) - before) / MANAGERS as isize;
    assert!(left < 256, "{left} bytes are left of each");
}
