//! Owns how the command line of this program is started again, for work that must go on if this process is killed.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

/// Without a lock: a forked child could find it held.
static WORDS: ArcSwapOption<Vec<String>> = ArcSwapOption::const_empty();

/// The variable that is set in a process that was started so: it starts no other one.
pub(crate) const REFRESHING: &str = "MCPOOL_REFRESHING";

/// Says that these words, followed by the argument `refresh-login`, start a program that calls
/// [`refresh_login`](crate::refresh_login). Logins are then refreshed in a process of their own: what a refresh yields is
/// stored even if this process is killed meanwhile. The packages of Python and Node and the program `mcpool` say it by
/// themselves.
///
/// ```no_run
/// if std::env::args().nth(1).as_deref() == Some("refresh-login") {
///     std::process::exit(mcpool::refresh_login());
/// }
/// mcpool::set_relaunch(vec![std::env::current_exe().unwrap().display().to_string()]);
/// ```
pub fn set_relaunch(words: Vec<String>) {
    WORDS.store((!words.is_empty()).then(|| Arc::new(words)));
}

/// The words, if they are known.
pub(crate) fn relaunch() -> Option<Arc<Vec<String>>> {
    WORDS.load_full().filter(|_| std::env::var_os(REFRESHING).is_none())
}
