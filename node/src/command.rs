//! Owns the way from the npm command to the core's command line.

use napi_derive::napi;

/// Runs the command line; `itself` is the command that starts this program again. Gives the exit code.
#[napi]
pub fn run_command(arguments: Vec<String>, itself: Vec<String>) -> i32 {
    let _ = (arguments, itself);
    2
}
