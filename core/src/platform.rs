//! Owns the choice between the means of Linux and the portable ones, which every Unix has: what macOS runs can be tested
//! on Linux.
//! Invariant: the choice is the same for the whole life of a process.

use crate::fork::Computed;

/// The variable that switches the means of Linux off.
const SWITCH: &str = "MCPOOL_PORTABLE";

static PORTABLE: Computed<bool> = Computed::new(|| {
    cfg!(not(target_os = "linux")) || std::env::var_os(SWITCH).is_some_and(|value| value == "1")
});

/// Whether only portable means are used.
pub fn portable() -> bool {
    *PORTABLE
}
