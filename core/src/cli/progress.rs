//! Owns what is shown while servers connect: how many are done, and who is slow. On stderr, where somebody watches.
//! Invariant: nothing of it is left when the wait is over.

use std::pin::pin;
use std::time::{Duration, Instant};

use indexmap::IndexSet;

use super::screen::Screen;
use crate::event::{Event, EventKind};
use crate::manager::Manager;
use crate::status::State;

const REFRESH: Duration = Duration::from_millis(100);
/// Who takes longer is named.
const SLOW: Duration = Duration::from_secs(1);

/// Waits for `work`, which connects these servers.
pub(super) async fn shown_while<T>(
    manager: &Manager,
    servers: &[String],
    screen: &Screen,
    work: impl Future<Output = T>,
) -> T {
    if !screen.is_watched() {
        return work.await;
    }
    let events = manager.events();
    let began = Instant::now();
    let mut wait = Wait { total: servers.len(), open: servers.iter().cloned().collect() };
    let mut work = pin!(work);
    let mut refresh = tokio::time::interval_at((began + REFRESH).into(), REFRESH);
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                screen.waiting_for("");
                return done;
            }
            Some(event) = events.next() => wait.hear(&event),
            _ = refresh.tick() => screen.waiting_for(&wait.line(began.elapsed())),
        }
    }
}

struct Wait {
    total: usize,
    open: IndexSet<String>,
}

impl Wait {
    fn hear(&mut self, event: &Event) {
        if let EventKind::Status { state, .. } = event.kind
            && !matches!(state, State::Idle | State::Connecting)
        {
            self.open.shift_remove(&event.server);
        }
    }

    fn line(&self, elapsed: Duration) -> String {
        let names = || self.open.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut line = match (self.total, self.open.len()) {
            (1, 1) => format!("connecting {} …", names()),
            (total, open) => format!("connecting {}/{total} …", total - open),
        };
        if elapsed >= SLOW && self.total > 1 && !self.open.is_empty() {
            line.push_str(&format!(" slow: {}", names()));
        } else if elapsed >= SLOW {
            line.push_str(&format!(" {} s", elapsed.as_secs()));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(servers: &[&str]) -> Wait {
        Wait { total: servers.len(), open: servers.iter().map(ToString::to_string).collect() }
    }

    fn news(server: &str, state: State) -> Event {
        let kind =
            EventKind::Status { state, error: None, reason: None, attempt: 1, next_retry_ms: None };
        Event { seq: 1, time_ms: 0, server: server.to_owned(), kind }
    }

    #[test]
    fn who_has_settled_is_counted_and_who_is_slow_is_named() {
        let mut wait = wait(&["a", "b", "c"]);
        wait.hear(&news("a", State::Connecting));
        assert_eq!(wait.line(Duration::ZERO), "connecting 0/3 …");
        wait.hear(&news("a", State::Connected));
        assert_eq!(wait.line(SLOW), "connecting 1/3 … slow: b, c");
        wait.hear(&news("b", State::Failed));
        wait.hear(&news("b", State::Failed));
        assert_eq!(wait.line(SLOW), "connecting 2/3 … slow: c");
    }

    #[test]
    fn one_server_alone_is_named_at_once() {
        assert_eq!(wait(&["a"]).line(Duration::ZERO), "connecting a …");
        assert_eq!(wait(&["a"]).line(Duration::from_secs(7)), "connecting a … 7 s");
    }
}
