use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use super::*;
use futures_util::FutureExt;

use crate::runtime;

fn request(directory: &Path, command: &str) -> CommandRequest {
    let env = BTreeMap::from([
        ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
        ("NAME".to_owned(), "world".to_owned()),
    ]);
    let host_env = HostEnv::new(Some(env), None, None);
    let scope = Scope { directory: Some(directory.into()), host_env, ..Scope::default() };
    CommandRequest::new(command, &scope)
}

fn output(request: CommandRequest) -> Result<String, CommandFailure> {
    output_within(request, TIME_LIMIT)
}

fn output_within(request: CommandRequest, limit: Duration) -> Result<String, CommandFailure> {
    let said = runtime::block_on(request.output_within(limit));
    said.map(|said| said.expose().to_owned())
}

fn count(directory: &Path) -> usize {
    std::fs::read_to_string(directory.join("runs")).unwrap_or_default().lines().count()
}

#[test]
fn what_a_command_prints_is_trimmed_and_asked_for_once() {
    let dir = tempfile::tempdir().unwrap();
    let greet = request(dir.path(), "echo run >> runs; echo \"  hello $NAME \"; echo no >&2");
    assert_eq!(output(greet.clone()).unwrap(), "hello world");
    assert_eq!(output(greet).unwrap(), "hello world");
    assert_eq!(count(dir.path()), 1);
}

#[test]
fn the_mark_is_escaped_by_one_dollar_sign() {
    let values = ["!id", "$!id", "$$!id", "$id", "$", "", "x$!id"];
    let meant = values.map(|value| (command_of(value).is_some(), without_escape(value)));
    assert_eq!(
        meant,
        [
            (true, "!id"),
            (false, "!id"),
            (false, "$!id"),
            (false, "$id"),
            (false, "$"),
            (false, ""),
            (false, "x$!id"),
        ]
    );
}

#[test]
fn the_users_own_commands_run_at_home_and_not_in_somebodys_project() {
    let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let places = [(Level::User, home.path()), (Level::Explicit, project.path())];
    for (level, place) in places {
        let host_env = HostEnv::new(None, Some(home.path().into()), None);
        let directory = Some(project.path().to_owned());
        let scope = Scope { level, directory, host_env, ..Scope::default() };
        assert_eq!(
            output(CommandRequest::new("pwd -P", &scope)).unwrap(),
            place.canonicalize().unwrap().display().to_string()
        );
    }
}

#[test]
fn who_asks_at_the_same_time_shares_one_run() {
    let dir = tempfile::tempdir().unwrap();
    let slow = request(dir.path(), "echo run >> runs; sleep 0.2; echo done");
    let all: Vec<_> = (0..32).map(|_| runtime::spawn(slow.clone().output())).collect();
    for one in all {
        assert_eq!(runtime::block_on(one).unwrap().unwrap().expose(), "done");
    }
    assert_eq!(count(dir.path()), 1);
}

#[test]
fn a_failure_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let flaky = request(dir.path(), "echo run >> runs; [ $(wc -l < runs) -gt 1 ] && echo ok");
    assert_eq!(output(flaky.clone()), Err(CommandFailure::Failed));
    assert_eq!(output(flaky).unwrap(), "ok");
}

#[test]
fn each_kind_of_silence_has_its_name() {
    let dir = tempfile::tempdir().unwrap();
    for (command, silence) in [
        ("exit 3", CommandFailure::Failed),
        ("no-such-program-at-all", CommandFailure::Failed),
        ("kill -9 $$", CommandFailure::Failed),
        ("echo said; exit 1", CommandFailure::Failed),
        ("echo", CommandFailure::Empty),
        ("head -c 70000 /dev/zero", CommandFailure::TooLong),
        ("yes", CommandFailure::TooLong),
        ("printf 'a\\000b'", CommandFailure::Unreadable),
        ("printf '\\377'", CommandFailure::Unreadable),
    ] {
        assert_eq!(output(request(dir.path(), command)), Err(silence), "{command}");
    }
    assert_eq!(output(request(&dir.path().join("none"), "echo x")), Err(CommandFailure::Failed));
}

#[test]
fn a_command_reads_nothing_and_what_it_leaves_behind_does_not_hold_it_up() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(output(request(dir.path(), "cat; echo end")).unwrap(), "end");
    let began = Instant::now();
    assert_eq!(output(request(dir.path(), "sleep 60 & echo $! > pid; echo end")).unwrap(), "end");
    assert!(began.elapsed() < Duration::from_secs(8));
    gone(dir.path());
}

#[test]
fn a_late_command_ends_with_everything_it_has_started() {
    let dir = tempfile::tempdir().unwrap();
    let late = request(dir.path(), "sh -c 'echo $$ > pid; sleep 60' ; echo never");
    assert_eq!(output_within(late, Duration::from_millis(300)), Err(CommandFailure::Late));
    gone(dir.path());
}

#[test]
fn a_command_ends_when_the_last_who_waits_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let long = request(dir.path(), "echo $$ > pid; sleep 60; echo never");
    let mut other = Box::pin(long.clone().output());
    // Polled once, so that both wait before one of them gives up.
    assert!(runtime::block_on(async { (&mut other).now_or_never() }).is_none());
    let (one, other) = (runtime::spawn(long.output()), runtime::spawn(other));
    until(|| !pid(dir.path()).is_empty());
    one.abort();
    std::thread::sleep(Duration::from_millis(50));
    assert!(lives(&pid(dir.path())));
    other.abort();
    gone(dir.path());
}

fn pid(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("pid")).unwrap_or_default().trim().to_owned()
}

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !matches!(rest.trim().chars().next(), None | Some('Z')))
}

fn gone(directory: &Path) {
    let pid = pid(directory);
    assert!(!pid.is_empty());
    until(|| !lives(&pid));
}

fn until(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(10), "it did not come true");
        std::thread::sleep(Duration::from_millis(5));
    }
}
