//! Owns where a connection stands and what moves it on: a pure function, so that every order of events can be tried.
//!
//! ```text
//! Idle ──Start, Wake──▶ Dialing ──Dialed(up)──▶ Ready ──Lost, Expired, Probed(dead)──▶ Waiting ──RetryDue──▶ Dialing
//!                          │                      │ ▲                           ▲  │
//!                          └──Dialed(failed)──────┼─┼───────────────────────────┘  └──Start──▶ Dialing
//!                                                 │ └ Probed(alive), Held, Stable
//!      policy at its end, Dialed(hopeless) ──▶ Down ──Start──▶ Dialing, from the foot of the ladder
//!                          Down is failed, needs_auth or blocked, by the cause of the last loss or attempt
//! Ready ──Idled──▶ Idle          any ──Stop──▶ Stopped ──Start──▶ Dialing
//! any but Idle, Stopped ──Replaced──▶ Dialing          any ──Close──▶ Closed, for good
//! ```
//! Every attempt has a generation; late news of an old one is ignored. The one timer that runs is read off the phase,
//! so none can outlive it.

use std::time::Duration;

use crate::config::RestartPolicy;
use crate::status::{Reason, State};

mod outcome;

pub(super) use outcome::{Dialed, DownCause};

/// A connection that held this long starts again from the foot of the ladder.
pub(super) const STABLE: Duration = Duration::from_secs(30);
/// One that has answered calls does so after this time.
pub(super) const STABLE_IN_USE: Duration = Duration::from_secs(10);
/// What refuses our credentials is asked again no sooner than this: they may be granted later.
const REFUSED: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(60)];
/// The longest wait that a server can ask for, unless the policy has a longer one.
const LONGEST_ASKED: Duration = Duration::from_secs(60);
/// How often a handshake is tried that a retry is not likely to cure.
const INCURABLE_ATTEMPTS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Dialing {
        generation: u64,
        ladder: Ladder,
        reason: Reason,
    },
    Ready {
        generation: u64,
        ladder: Ladder,
        health: Health,
        /// It has held for [`STABLE_IN_USE`], without having been of use by then.
        held: bool,
    },
    /// The next attempt is due after `delay`.
    Waiting {
        ladder: Ladder,
        reason: Reason,
        delay: Duration,
    },
    /// Nothing more is tried until somebody asks.
    Down {
        ladder: Ladder,
        reason: Reason,
        cause: DownCause,
    },
    Stopped,
    Closed,
}

/// How far the restarts have come since the connection was last stable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ladder {
    pub(super) attempts: u32,
    pub(super) restarts: u32,
    /// How many of the attempts since it was last up were incurable.
    pub(super) incurable: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Sound,
    /// A call timed out or an answer was odd: a probe finds out.
    Doubtful,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Somebody asks for a connection.
    Start,
    /// A call needs one; what is down for a reason stays down.
    Wake,
    Dialed {
        generation: u64,
        outcome: Dialed,
    },
    Lost {
        generation: u64,
        reason: Reason,
        cause: DownCause,
    },
    /// The server forgot the session; `served` tells whether that had been of any use.
    Expired {
        generation: u64,
        served: bool,
    },
    RetryDue,
    /// It has held for [`STABLE_IN_USE`].
    Held {
        generation: u64,
    },
    Stable {
        generation: u64,
    },
    Suspect {
        generation: u64,
    },
    Probed {
        generation: u64,
        alive: bool,
    },
    /// Nobody has called for long enough.
    Idled {
        generation: u64,
    },
    /// The definition is another one now.
    Replaced,
    Stop,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Begin this attempt.
    Dial { generation: u64 },
    /// Find out whether the server lives.
    Probe { generation: u64 },
    /// The link is of no use any more; calls that can still end by themselves may.
    LetGo,
    /// End the attempt or the link, and every call on it.
    HangUp,
}

type Step = (Phase, Vec<Effect>);

impl Phase {
    /// `last` is the newest generation so far.
    pub(super) fn on(self, event: Event, policy: &RestartPolicy, last: u64) -> Step {
        use Event::{
            Close, Held, Idled, Lost, Probed, Replaced, RetryDue, Stable, Start, Stop, Suspect,
        };
        match (self, event) {
            (Phase::Closed, _) => (Phase::Closed, vec![]),
            (_, Close) => (Phase::Closed, self.hang_up()),
            (_, Stop) => (Phase::Stopped, self.hang_up()),

            (Phase::Idle, Start | Event::Wake) => dial(Ladder::default(), Reason::Startup, last),
            (Phase::Stopped | Phase::Down { .. }, Start) => {
                dial(Ladder::default(), Reason::Manual, last)
            }
            (Phase::Waiting { ladder, .. }, Start) => dial(ladder, Reason::Manual, last),
            // Whoever asks joins what is under way.
            (Phase::Dialing { .. } | Phase::Ready { .. }, Start) => (self, vec![]),
            (_, Event::Wake) => (self, vec![]),

            (
                Phase::Dialing { generation, ladder, reason },
                Event::Dialed { generation: of, outcome },
            ) if of == generation => match outcome {
                Dialed::Up => {
                    let ladder = Ladder { incurable: 0, ..ladder };
                    let health = Health::Sound;
                    (Phase::Ready { generation, ladder, health, held: false }, vec![])
                }
                Dialed::Failed => (restart(ladder, reason, policy), vec![Effect::LetGo]),
                Dialed::Busy { wait } => {
                    let most = policy.delays.iter().fold(LONGEST_ASKED, |most, at| most.max(*at));
                    let phase = restart(ladder, reason, policy).no_sooner_than(wait.min(most));
                    (phase, vec![Effect::LetGo])
                }
                Dialed::Refused => {
                    let soonest = REFUSED[usize::from(ladder.restarts > 0)];
                    let phase = restart(ladder, reason, policy).no_sooner_than(soonest);
                    (phase, vec![Effect::LetGo])
                }
                Dialed::Incurable => {
                    let ladder = Ladder { incurable: ladder.incurable + 1, ..ladder };
                    let phase = match ladder.incurable {
                        INCURABLE_ATTEMPTS.. => {
                            Phase::Down { ladder, reason, cause: DownCause::Failed }
                        }
                        _ => restart(ladder, reason, policy),
                    };
                    (phase, vec![Effect::LetGo])
                }
                Dialed::Hopeless { cause } => {
                    (Phase::Down { ladder, reason, cause }, vec![Effect::LetGo])
                }
            },
            (Phase::Ready { generation, ladder, .. }, Lost { generation: of, reason, cause })
                if of == generation =>
            {
                (restart_after(cause, ladder, reason, policy), vec![Effect::LetGo])
            }
            (
                Phase::Ready { generation, ladder, .. },
                Event::Expired { generation: of, served },
            ) if of == generation => (renew(ladder, served, policy), vec![Effect::LetGo]),
            (Phase::Waiting { ladder, reason, .. }, RetryDue) => dial(ladder, reason, last),
            (Phase::Ready { generation, ladder, health, .. }, Held { generation: of })
                if of == generation =>
            {
                (Phase::Ready { generation, ladder, health, held: true }, vec![])
            }
            (Phase::Ready { generation, health, held, .. }, Stable { generation: of })
                if of == generation =>
            {
                (Phase::Ready { generation, ladder: Ladder::default(), health, held }, vec![])
            }
            (
                Phase::Ready { generation, ladder, health: Health::Sound, held },
                Suspect { generation: of },
            ) if of == generation => (
                Phase::Ready { generation, ladder, health: Health::Doubtful, held },
                vec![Effect::Probe { generation }],
            ),
            (
                Phase::Ready { generation, ladder, health: Health::Doubtful, held },
                Probed { generation: of, alive },
            ) if of == generation => {
                if alive {
                    (Phase::Ready { generation, ladder, health: Health::Sound, held }, vec![])
                } else {
                    (restart(ladder, Reason::ProbeFailure, policy), vec![Effect::LetGo])
                }
            }
            (Phase::Ready { generation, .. }, Idled { generation: of }) if of == generation => {
                (Phase::Idle, vec![Effect::LetGo])
            }
            (Phase::Idle | Phase::Stopped, Replaced) => (self, vec![]),
            (_, Replaced) => {
                let mut effects = self.hang_up();
                let (phase, dialling) = dial(Ladder::default(), Reason::Manual, last);
                effects.extend(dialling);
                (phase, effects)
            }
            // News of an attempt that is over, of a timer that was stopped, or of a doubt that is known already.
            (
                _,
                Event::Dialed { .. }
                | Event::Expired { .. }
                | Lost { .. }
                | RetryDue
                | Held { .. }
                | Stable { .. }
                | Suspect { .. }
                | Probed { .. }
                | Idled { .. },
            ) => (self, vec![]),
        }
    }

    fn no_sooner_than(self, soonest: Duration) -> Phase {
        match self {
            Phase::Waiting { ladder, reason, delay } => {
                Phase::Waiting { ladder, reason, delay: delay.max(soonest) }
            }
            phase => phase,
        }
    }

    fn hang_up(self) -> Vec<Effect> {
        match self {
            Phase::Dialing { .. } | Phase::Ready { .. } => vec![Effect::HangUp],
            _ => vec![],
        }
    }

    /// The timer that runs in this phase: how long after the phase began, or after the link came up, and what it brings.
    pub(super) fn timer(self) -> Option<(Duration, Event)> {
        match self {
            Phase::Waiting { delay, .. } => Some((delay, Event::RetryDue)),
            Phase::Ready { ladder, .. } if ladder == Ladder::default() => None,
            Phase::Ready { generation, held: false, .. } => {
                Some((STABLE_IN_USE, Event::Held { generation }))
            }
            Phase::Ready { generation, held: true, .. } => {
                Some((STABLE, Event::Stable { generation }))
            }
            _ => None,
        }
    }

    pub(super) fn state(self) -> State {
        match self {
            Phase::Idle => State::Idle,
            Phase::Dialing { ladder, .. } if ladder.restarts == 0 => State::Connecting,
            Phase::Dialing { .. } | Phase::Waiting { .. } => State::Reconnecting,
            Phase::Ready { health: Health::Sound, .. } => State::Connected,
            Phase::Ready { health: Health::Doubtful, .. } => State::Degraded,
            Phase::Down { cause: DownCause::Failed, .. } => State::Failed,
            Phase::Down { cause: DownCause::NeedsAuth, .. } => State::NeedsAuth,
            Phase::Down { cause: DownCause::Untrusted, .. } => State::Blocked,
            Phase::Stopped | Phase::Closed => State::Disconnected,
        }
    }

    /// Whether the last error says why it is not up.
    pub(super) fn has_error(self) -> bool {
        match self {
            Phase::Dialing { .. } | Phase::Waiting { .. } | Phase::Down { .. } => true,
            Phase::Idle | Phase::Ready { .. } | Phase::Stopped | Phase::Closed => false,
        }
    }

    /// Whether the tools are still there to be called, now or after a wait.
    pub(super) fn keeps_tools(self) -> bool {
        !matches!(self, Phase::Down { .. } | Phase::Stopped | Phase::Closed)
    }

    pub(super) fn attempts(self) -> u32 {
        match self {
            Phase::Dialing { ladder, .. }
            | Phase::Ready { ladder, .. }
            | Phase::Waiting { ladder, .. }
            | Phase::Down { ladder, .. } => ladder.attempts,
            Phase::Idle | Phase::Stopped | Phase::Closed => 0,
        }
    }

    /// Why it is not simply up.
    pub(super) fn reason(self) -> Option<Reason> {
        match self {
            Phase::Dialing { reason, .. }
            | Phase::Waiting { reason, .. }
            | Phase::Down { reason, .. } => Some(reason),
            Phase::Idle | Phase::Ready { .. } | Phase::Stopped | Phase::Closed => None,
        }
    }
}

fn dial(ladder: Ladder, reason: Reason, last: u64) -> Step {
    let generation = last + 1;
    let ladder = Ladder { attempts: ladder.attempts.saturating_add(1), ..ladder };
    (Phase::Dialing { generation, ladder, reason }, vec![Effect::Dial { generation }])
}

/// A server that answers and only forgets its sessions is healthy: a session that was of use is renewed at once, as
/// often as it takes. One that is forgotten before it was of any use is renewed once; then the ladder keeps us from
/// spinning.
fn renew(ladder: Ladder, served: bool, policy: &RestartPolicy) -> Phase {
    if !served && ladder.restarts > 0 {
        return restart(ladder, Reason::SessionExpired, policy);
    }
    let ladder = Ladder { restarts: ladder.restarts.max(1), ..ladder };
    Phase::Waiting { ladder, reason: Reason::SessionExpired, delay: Duration::ZERO }
}

/// The next rung of the ladder, or its end.
fn restart(ladder: Ladder, reason: Reason, policy: &RestartPolicy) -> Phase {
    restart_after(DownCause::Failed, ladder, reason, policy)
}

/// The same after a loss of this cause, which the end of the ladder shows.
fn restart_after(
    cause: DownCause,
    ladder: Ladder,
    reason: Reason,
    policy: &RestartPolicy,
) -> Phase {
    match policy.delay(ladder.restarts) {
        Some(delay) => {
            let ladder = Ladder { restarts: ladder.restarts.saturating_add(1), ..ladder };
            Phase::Waiting { ladder, reason, delay }
        }
        None => Phase::Down { ladder, reason, cause },
    }
}

#[cfg(test)]
mod tests;
