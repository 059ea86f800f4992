//! Owns the phases of a connection and their transitions: a pure function, so that every order of events can be tested.
//!
//! ```text
//! Idle ──Start, Wake──▶ Dialing ──Dialed(up)──▶ Ready ──Lost, Expired, Probed(dead)──▶ Waiting ──RetryDue──▶ Dialing
//!                          │                      │ ▲                           ▲  │
//!                          └──Dialed(failed)──────┼─┼───────────────────────────┘  └──Start──▶ Dialing
//!                                                 │ └ Probed(alive), Held, Stable
//!      policy at its end, Dialed(hopeless) ──▶ Down ──Start──▶ Dialing, with the ladder reset
//!                          Down is failed, needs_auth or blocked, by the cause of the last loss or attempt
//! Ready ──Idled──▶ Idle          any ──Stop──▶ Stopped ──Start──▶ Dialing
//! any but Idle, Stopped ──Replaced──▶ Dialing          any ──Close──▶ Closed, for good
//! ```
//! Every attempt has a generation; late events of an old generation are ignored. The only timer is derived from the
//! phase, so none can outlive it.

use std::time::Duration;

use crate::config::RestartPolicy;
use crate::status::{Reason, State};

mod outcome;

pub(super) use outcome::{Dialed, DownCause};

/// A connection that was up this long resets the restart ladder.
pub(super) const STABLE: Duration = Duration::from_secs(30);
/// A connection that has answered calls resets it after this time.
pub(super) const STABLE_IN_USE: Duration = Duration::from_secs(10);
/// The shortest delay after refused credentials: they may be granted later.
const REFUSED: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(60)];
/// The longest delay that a server can ask for, unless the policy has a longer one.
const LONGEST_ASKED: Duration = Duration::from_secs(60);
/// How many times a handshake is tried after failures that a retry is unlikely to fix.
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
        /// It was up for [`STABLE_IN_USE`] without having answered a call.
        held: bool,
    },
    /// The next attempt is due after `delay`.
    Waiting {
        ladder: Ladder,
        reason: Reason,
        delay: Duration,
    },
    /// No more attempts until one is requested.
    Down {
        ladder: Ladder,
        reason: Reason,
        cause: DownCause,
    },
    Stopped,
    Closed,
}

/// The restart progress since the connection was last stable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ladder {
    pub(super) attempts: u32,
    pub(super) restarts: u32,
    /// How many attempts since it was last up had errors that a retry is unlikely to fix.
    pub(super) incurable: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Sound,
    /// A call timed out or an answer was invalid: a probe decides.
    Doubtful,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseEvent {
    /// A connection is requested.
    Start,
    /// A call needs a connection; what is down for a reason stays down.
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
    /// The server forgot the session; `served` is whether the session had answered a call.
    Expired {
        generation: u64,
        served: bool,
    },
    RetryDue,
    /// It was up for [`STABLE_IN_USE`].
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
    /// There was no call for the idle limit.
    Idled {
        generation: u64,
    },
    /// The definition was replaced.
    Replaced,
    Stop,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseEffect {
    /// Start this attempt.
    Dial { generation: u64 },
    /// Probe whether the server is alive.
    Probe { generation: u64 },
    /// The link is lost; calls that can still finish may.
    LetGo,
    /// End the attempt or the link, and every call on it.
    HangUp,
}

type Transition = (Phase, Vec<PhaseEffect>);

impl Phase {
    /// `last` is the newest generation so far.
    pub(super) fn on(self, event: PhaseEvent, policy: &RestartPolicy, last: u64) -> Transition {
        use PhaseEvent::{
            Close, Held, Idled, Lost, Probed, Replaced, RetryDue, Stable, Start, Stop, Suspect,
        };
        match (self, event) {
            (Phase::Closed, _) => (Phase::Closed, vec![]),
            (_, Close) => (Phase::Closed, self.hang_up()),
            (_, Stop) => (Phase::Stopped, self.hang_up()),

            (Phase::Idle, Start | PhaseEvent::Wake) => {
                dial(Ladder::default(), Reason::Startup, last)
            }
            (Phase::Stopped | Phase::Down { .. }, Start) => {
                dial(Ladder::default(), Reason::Manual, last)
            }
            (Phase::Waiting { ladder, .. }, Start) => dial(ladder, Reason::Manual, last),
            // A request joins the attempt in progress.
            (Phase::Dialing { .. } | Phase::Ready { .. }, Start) => (self, vec![]),
            (_, PhaseEvent::Wake) => (self, vec![]),

            (
                Phase::Dialing { generation, ladder, reason },
                PhaseEvent::Dialed { generation: of, outcome },
            ) if of == generation => match outcome {
                Dialed::Up => {
                    let ladder = Ladder { incurable: 0, ..ladder };
                    let health = Health::Sound;
                    (Phase::Ready { generation, ladder, health, held: false }, vec![])
                }
                Dialed::Failed => (restart(ladder, reason, policy), vec![PhaseEffect::LetGo]),
                Dialed::Busy { wait } => {
                    let most = policy.delays.iter().fold(LONGEST_ASKED, |most, at| most.max(*at));
                    let phase = restart(ladder, reason, policy).no_sooner_than(wait.min(most));
                    (phase, vec![PhaseEffect::LetGo])
                }
                Dialed::Refused => {
                    let soonest = REFUSED[usize::from(ladder.restarts > 0)];
                    let phase = restart(ladder, reason, policy).no_sooner_than(soonest);
                    (phase, vec![PhaseEffect::LetGo])
                }
                Dialed::Incurable => {
                    let ladder = Ladder { incurable: ladder.incurable + 1, ..ladder };
                    let phase = match ladder.incurable {
                        INCURABLE_ATTEMPTS.. => {
                            Phase::Down { ladder, reason, cause: DownCause::Failed }
                        }
                        _ => restart(ladder, reason, policy),
                    };
                    (phase, vec![PhaseEffect::LetGo])
                }
                Dialed::Hopeless { cause } => {
                    (Phase::Down { ladder, reason, cause }, vec![PhaseEffect::LetGo])
                }
            },
            (Phase::Ready { generation, ladder, .. }, Lost { generation: of, reason, cause })
                if of == generation =>
            {
                (restart_after(cause, ladder, reason, policy), vec![PhaseEffect::LetGo])
            }
            (
                Phase::Ready { generation, ladder, .. },
                PhaseEvent::Expired { generation: of, served },
            ) if of == generation => (renew(ladder, served, policy), vec![PhaseEffect::LetGo]),
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
                vec![PhaseEffect::Probe { generation }],
            ),
            (
                Phase::Ready { generation, ladder, health: Health::Doubtful, held },
                Probed { generation: of, alive },
            ) if of == generation => {
                if alive {
                    (Phase::Ready { generation, ladder, health: Health::Sound, held }, vec![])
                } else {
                    (restart(ladder, Reason::ProbeFailure, policy), vec![PhaseEffect::LetGo])
                }
            }
            (Phase::Ready { generation, .. }, Idled { generation: of }) if of == generation => {
                (Phase::Idle, vec![PhaseEffect::LetGo])
            }
            (Phase::Idle | Phase::Stopped, Replaced) => (self, vec![]),
            (_, Replaced) => {
                let mut effects = self.hang_up();
                let (phase, dialling) = dial(Ladder::default(), Reason::Manual, last);
                effects.extend(dialling);
                (phase, effects)
            }
            // Events of a finished attempt, of a stopped timer, or of a suspicion that is already known.
            (
                _,
                PhaseEvent::Dialed { .. }
                | PhaseEvent::Expired { .. }
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

    fn hang_up(self) -> Vec<PhaseEffect> {
        match self {
            Phase::Dialing { .. } | Phase::Ready { .. } => vec![PhaseEffect::HangUp],
            _ => vec![],
        }
    }

    /// The timer of this phase: its delay after the phase began or the link came up, and its event.
    pub(super) fn timer(self) -> Option<(Duration, PhaseEvent)> {
        match self {
            Phase::Waiting { delay, .. } => Some((delay, PhaseEvent::RetryDue)),
            Phase::Ready { ladder, .. } if ladder == Ladder::default() => None,
            Phase::Ready { generation, held: false, .. } => {
                Some((STABLE_IN_USE, PhaseEvent::Held { generation }))
            }
            Phase::Ready { generation, held: true, .. } => {
                Some((STABLE, PhaseEvent::Stable { generation }))
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

    pub(super) fn needs_auth(self) -> bool {
        matches!(self, Phase::Down { cause: DownCause::NeedsAuth, .. })
    }

    /// Whether the last error explains why it is not up.
    pub(super) fn has_error(self) -> bool {
        match self {
            Phase::Dialing { .. } | Phase::Waiting { .. } | Phase::Down { .. } => true,
            Phase::Idle | Phase::Ready { .. } | Phase::Stopped | Phase::Closed => false,
        }
    }

    /// Whether the tools can still be called, now or after a wait.
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

    /// The reason of the current, next or last attempt; `None` in the other phases.
    pub(super) fn reason(self) -> Option<Reason> {
        match self {
            Phase::Dialing { reason, .. }
            | Phase::Waiting { reason, .. }
            | Phase::Down { reason, .. } => Some(reason),
            Phase::Idle | Phase::Ready { .. } | Phase::Stopped | Phase::Closed => None,
        }
    }
}

fn dial(ladder: Ladder, reason: Reason, last: u64) -> Transition {
    let generation = last + 1;
    let ladder = Ladder { attempts: ladder.attempts.saturating_add(1), ..ladder };
    (Phase::Dialing { generation, ladder, reason }, vec![PhaseEffect::Dial { generation }])
}

/// A server that answers but forgets its sessions is healthy. A session that has answered calls is renewed at once,
/// every time. One that was forgotten before any answer is renewed once; after that the restart ladder prevents a busy
/// loop.
fn renew(ladder: Ladder, served: bool, policy: &RestartPolicy) -> Phase {
    if !served && ladder.restarts > 0 {
        return restart(ladder, Reason::SessionExpired, policy);
    }
    let ladder = Ladder { restarts: ladder.restarts.max(1), ..ladder };
    Phase::Waiting { ladder, reason: Reason::SessionExpired, delay: Duration::ZERO }
}

/// The next step of the restart ladder, or its end.
fn restart(ladder: Ladder, reason: Reason, policy: &RestartPolicy) -> Phase {
    restart_after(DownCause::Failed, ladder, reason, policy)
}

/// Same, after a loss with this cause, which is reported at the end of the ladder.
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
