//! Owns the one timer of a phase, which is computed from the phase.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::super::phase::{Phase, PhaseEvent};
use super::Actor;

/// The one timer of a phase.
pub(super) struct PhaseTimer {
    /// By the clock.
    pub(super) due: Duration,
    event: PhaseEvent,
    pub(super) alarm: BoxFuture<'static, ()>,
}

impl Actor {
    pub(super) fn on_timer(&mut self) {
        match self.timer.take().map(|timer| timer.event) {
            Some(PhaseEvent::Held { generation }) if self.has_served() => {
                self.apply_event(PhaseEvent::Stable { generation }, None);
            }
            Some(event) => self.apply_event(event, None),
            None => {}
        }
    }

    pub(super) fn set_timer(&mut self, before: Phase) {
        let timer = self.phase.timer();
        if timer == before.timer() {
            return;
        }
        let from = match self.phase {
            Phase::Ready { .. } => self.link.as_ref().map(|link| link.live.up_at),
            _ => None,
        };
        let from = from.unwrap_or_else(|| self.shared.clock.now());
        self.timer = timer.map(|(delay, event)| {
            let due = from + delay;
            PhaseTimer { due, event, alarm: Box::pin(self.shared.clock.sleep_until(due)) }
        });
    }
}
