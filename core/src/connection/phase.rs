//! Owns where a connection stands and what moves it on: a pure function, so that every order of events can be tried.
//!
//! ```text
//! Idle ──Start──▶ Dialing ──Dialed(up)──▶ Ready ──Lost──▶ Down
//!                    │                      │               │
//!                    └──Dialed(failed)──▶ Down ──Start──▶ Dialing
//! any ──Stop──▶ Stopped ──Start──▶ Dialing
//! any ──Close──▶ Closed, for good
//! ```
//! Every attempt has a generation; late news of an old one is ignored.

use crate::status::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Dialing { generation: u64 },
    Ready { generation: u64 },
    Down,
    Stopped,
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Start,
    Dialed { generation: u64, up: bool },
    Lost { generation: u64 },
    Stop,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Begin this attempt.
    Dial { generation: u64 },
    /// Tell the askers how the attempt ended.
    Settle,
    /// The link is gone; forget it.
    Forget,
    /// End the attempt or the link.
    HangUp,
    /// Nothing to do.
    Nothing,
}

impl Phase {
    /// `last` is the newest generation so far.
    pub(super) fn on(self, event: Event, last: u64) -> (Phase, Effect) {
        match (self, event) {
            (Phase::Closed, _) => (Phase::Closed, Effect::Nothing),
            (Phase::Dialing { .. } | Phase::Ready { .. }, Event::Close) => {
                (Phase::Closed, Effect::HangUp)
            }
            (_, Event::Close) => (Phase::Closed, Effect::Nothing),
            (Phase::Dialing { .. } | Phase::Ready { .. }, Event::Start) => (self, Effect::Nothing),
            (_, Event::Start) => {
                let generation = last + 1;
                (Phase::Dialing { generation }, Effect::Dial { generation })
            }
            (Phase::Dialing { generation }, Event::Dialed { generation: of, up })
                if of == generation =>
            {
                (if up { Phase::Ready { generation } } else { Phase::Down }, Effect::Settle)
            }
            (Phase::Ready { generation }, Event::Lost { generation: of }) if of == generation => {
                (Phase::Down, Effect::Forget)
            }
            // News of an attempt that is over, or that settles by its own result.
            (_, Event::Dialed { .. } | Event::Lost { .. }) => (self, Effect::Nothing),
            (Phase::Dialing { .. } | Phase::Ready { .. }, Event::Stop) => {
                (Phase::Stopped, Effect::HangUp)
            }
            (_, Event::Stop) => (Phase::Stopped, Effect::Nothing),
        }
    }

    pub(super) fn state(self) -> State {
        match self {
            Phase::Idle => State::Idle,
            Phase::Dialing { .. } => State::Connecting,
            Phase::Ready { .. } => State::Connected,
            Phase::Down => State::Failed,
            Phase::Stopped | Phase::Closed => State::Disconnected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_straight_road() {
        let (phase, effect) = Phase::Idle.on(Event::Start, 0);
        assert_eq!(effect, Effect::Dial { generation: 1 });
        let (phase, effect) = phase.on(Event::Dialed { generation: 1, up: true }, 1);
        assert_eq!((phase, effect), (Phase::Ready { generation: 1 }, Effect::Settle));
        let (phase, effect) = phase.on(Event::Lost { generation: 1 }, 1);
        assert_eq!((phase, effect), (Phase::Down, Effect::Forget));
        assert_eq!(phase.on(Event::Start, 1).1, Effect::Dial { generation: 2 });
    }

    #[test]
    fn late_news_of_an_old_attempt_is_ignored() {
        let ready = Phase::Ready { generation: 2 };
        for event in [Event::Lost { generation: 1 }, Event::Dialed { generation: 1, up: false }] {
            assert_eq!(ready.on(event, 2), (ready, Effect::Nothing));
        }
    }

    #[test]
    fn a_second_start_joins_the_first() {
        let dialing = Phase::Dialing { generation: 1 };
        assert_eq!(dialing.on(Event::Start, 1), (dialing, Effect::Nothing));
    }

    #[test]
    fn closed_is_final() {
        for phase in [Phase::Idle, Phase::Ready { generation: 1 }, Phase::Stopped] {
            let (closed, _) = phase.on(Event::Close, 1);
            for event in [Event::Start, Event::Stop, Event::Dialed { generation: 1, up: true }] {
                assert_eq!(closed.on(event, 1), (Phase::Closed, Effect::Nothing));
            }
        }
    }

    #[test]
    fn stopping_is_always_possible_and_repeatable() {
        for phase in [Phase::Idle, Phase::Down, Phase::Stopped] {
            assert_eq!(phase.on(Event::Stop, 3), (Phase::Stopped, Effect::Nothing));
        }
        assert_eq!(Phase::Dialing { generation: 3 }.on(Event::Stop, 3).1, Effect::HangUp);
    }
}
