//! The command `mcpool` as cargo installs it; pip and npm start the same [`mcpool::cli`].

use std::ffi::OsString;
use std::io::Write;

const USAGE: i32 = 2;

fn main() {
    let mut words = std::env::args_os();
    let called = words.next().unwrap_or_default().to_string_lossy().into_owned();
    let program = std::env::current_exe().map_or(called, |path| path.display().to_string());
    // Replaced characters would name another file, or end up in a config.
    let Ok(words) = words.map(OsString::into_string).collect() else {
        let _ = writeln!(std::io::stderr(), "error: an argument is not UTF-8");
        std::process::exit(USAGE);
    };
    std::process::exit(mcpool::cli::run(words, vec![program]));
}
