//! Owns the progress line while servers connect: how many are done, and which are slow. Written to stderr if that is a
//! terminal.
//! Invariant: the line is erased when the progress is over.

use std::pin::pin;
use std::time::{Duration, Instant};

use indexmap::IndexSet;

use super::screen::Screen;
use crate::event::{Event, EventKind};
use crate::manager::Manager;
use crate::status::State;

const REFRESH: Duration = Duration::from_millis(100);
/// Servers that take longer are named.
const SLOW: Duration = Duration::from_secs(1);

/// Shows progress while `work` connects these servers.
pub(super) async fn with_progress<T>(
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
    let mut progress =
        ConnectProgress { total: servers.len(), connecting: servers.iter().cloned().collect() };
    let mut work = pin!(work);
    let mut refresh = tokio::time::interval_at((began + REFRESH).into(), REFRESH);
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                screen.waiting_for("");
                return done;
            }
            Some(event) = events.next() => progress.record_event(&event),
            _ = refresh.tick() => screen.waiting_for(&progress.line(began.elapsed())),
        }
    }
}

struct ConnectProgress {
    total: usize,
    connecting: IndexSet<String>,
}

impl ConnectProgress {
    fn record_event(&mut self, event: &Event) {
        if let EventKind::Status { state, .. } = event.kind
            && !matches!(state, State::Idle | State::Connecting)
        {
            self.connecting.shift_remove(&event.server);
        }
    }

    fn line(&self, elapsed: Duration) -> String {
        let names = || self.connecting.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut line = match (self.total, self.connecting.len()) {
            (1, 1) => format!("connecting {} …", names()),
            (total, connecting) => format!("connecting {}/{total} …", total - connecting),
        };
        if elapsed >= SLOW && self.total > 1 && !self.connecting.is_empty() {
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

    fn progress(servers: &[&str]) -> ConnectProgress {
        ConnectProgress {
            total: servers.len(),
            connecting: servers.iter().map(ToString::to_string).collect(),
        }
    }

    fn status_event(server: &str, state: State) -> Event {
        let kind =
            EventKind::Status { state, error: None, reason: None, attempt: 1, next_retry_ms: None };
        Event { seq: 1, time_ms: 0, server: server.to_owned(), identity: None, kind }
    }

    #[test]
    fn who_has_settled_is_counted_and_who_is_slow_is_named() {
        let mut progress = progress(&["a", "b", "c"]);
        progress.record_event(&status_event("a", State::Connecting));
        assert_eq!(progress.line(Duration::ZERO), "connecting 0/3 …");
        progress.record_event(&status_event("a", State::Connected));
        assert_eq!(progress.line(SLOW), "connecting 1/3 … slow: b, c");
        progress.record_event(&status_event("b", State::Failed));
        progress.record_event(&status_event("b", State::Failed));
        assert_eq!(progress.line(SLOW), "connecting 2/3 … slow: c");
    }

    #[test]
    fn one_server_alone_is_named_at_once() {
        assert_eq!(progress(&["a"]).line(Duration::ZERO), "connecting a …");
        assert_eq!(progress(&["a"]).line(Duration::from_secs(7)), "connecting a … 7 s");
    }
}
