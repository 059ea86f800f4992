//! The command `mcpool` as cargo installs it; pip and npm start the same [`mcpool::cli`].

fn main() {
    let mut words = std::env::args_os();
    let called = words.next().unwrap_or_default().to_string_lossy().into_owned();
    let program = std::env::current_exe().map_or(called, |path| path.display().to_string());
    std::process::exit(mcpool::cli::run_os(words.collect(), vec![program]));
}
