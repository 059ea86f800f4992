//! What must hold of a connection at every step, kept beside the machine and apart from how it works.

use super::super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Asleep,
    Dialing,
    Up { doubtful: bool, time: Time },
    Waiting(Duration),
    Down(DownCause),
    Stopped,
    Closed,
}

/// How long it has been up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Young,
    Held,
    Stable,
}

pub(super) struct Model {
    policy: RestartPolicy,
    place: Place,
    /// The attempt or the link that is held.
    live: Option<u64>,
    last: u64,
    /// How many delays were used since the foot of the ladder.
    rung: usize,
    attempts: u32,
    /// How many attempts since it was last up, or since the foot of the ladder, could not be cured.
    incurable: u32,
    reason: Option<Reason>,
}

impl Model {
    pub(super) fn new(policy: RestartPolicy) -> Self {
        let (place, live, reason) = (Place::Asleep, None, None);
        Model { policy, place, live, last: 0, rung: 0, attempts: 0, incurable: 0, reason }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Takes the same event; gives the effects that have to follow.
    pub(super) fn on(&mut self, event: Event) -> Vec<Effect> {
        if self.place == Place::Closed || self.is_late(event) {
            return vec![];
        }
        match (event, self.place) {
            (Event::Close, _) => self.leave(Place::Closed),
            (Event::Stop, _) => self.leave(Place::Stopped),
            (Event::Start | Event::Wake, Place::Asleep) => self.dial_afresh(Reason::Startup),
            (Event::Start, Place::Stopped | Place::Down(_)) => self.dial_afresh(Reason::Manual),
            (Event::Start, Place::Waiting(_)) => self.dial(Reason::Manual),
            (Event::RetryDue, Place::Waiting(_)) => {
                self.dial(self.reason.expect("a wait has a reason"))
            }
            (Event::Dialed { outcome, .. }, Place::Dialing) => match outcome {
                Dialed::Up => {
                    (self.reason, self.incurable) = (None, 0);
                    self.place = Place::Up { doubtful: false, time: Time::Young };
                    vec![]
                }
                Dialed::Failed => self.fall(self.reason.expect("an attempt has a reason")),
                Dialed::Busy { wait } => {
                    let longest = self.policy.delays.iter().max().copied().unwrap_or_default();
                    let wait = wait.min(longest.max(Duration::from_secs(60)));
                    let effects = self.fall(self.reason.expect("an attempt has a reason"));
                    if let Place::Waiting(delay) = &mut self.place {
                        *delay = wait.max(*delay);
                    }
                    effects
                }
                Dialed::Refused => {
                    let soonest = Duration::from_secs(if self.rung == 0 { 30 } else { 60 });
                    let effects = self.fall(self.reason.expect("an attempt has a reason"));
                    if let Place::Waiting(delay) = &mut self.place {
                        *delay = soonest.max(*delay);
                    }
                    effects
                }
                Dialed::Incurable => {
                    self.incurable += 1;
                    match self.incurable {
                        1 | 2 => self.fall(self.reason.expect("an attempt has a reason")),
                        _ => self.let_go(Place::Down(DownCause::Failed)),
                    }
                }
                Dialed::Hopeless { cause } => self.let_go(Place::Down(cause)),
            },
            (Event::Lost { reason, cause, .. }, Place::Up { .. }) => {
                let effects = self.fall(reason);
                if let Place::Down(down) = &mut self.place {
                    *down = cause;
                }
                effects
            }
            (Event::Expired { served, .. }, Place::Up { .. }) => {
                if !served && self.rung > 0 {
                    return self.fall(Reason::SessionExpired);
                }
                self.reason = Some(Reason::SessionExpired);
                self.rung = self.rung.max(1);
                self.let_go(Place::Waiting(Duration::ZERO))
            }
            (Event::Held { .. }, Place::Up { doubtful, time: Time::Young }) => {
                self.place = Place::Up { doubtful, time: Time::Held };
                vec![]
            }
            (Event::Stable { .. }, Place::Up { doubtful, .. }) => {
                (self.rung, self.attempts) = (0, 0);
                self.place = Place::Up { doubtful, time: Time::Stable };
                vec![]
            }
            (Event::Suspect { generation }, Place::Up { doubtful: false, time }) => {
                self.place = Place::Up { doubtful: true, time };
                vec![Effect::Probe { generation }]
            }
            (Event::Probed { alive, .. }, Place::Up { doubtful: true, time }) => {
                if !alive {
                    return self.fall(Reason::ProbeFailure);
                }
                self.place = Place::Up { doubtful: false, time };
                vec![]
            }
            (Event::Idled { .. }, Place::Up { .. }) => {
                self.reason = None;
                self.let_go(Place::Asleep)
            }
            (Event::Replaced, place) if !matches!(place, Place::Asleep | Place::Stopped) => {
                let mut effects = self.leave(Place::Stopped);
                effects.extend(self.dial_afresh(Reason::Manual));
                effects
            }
            _ => vec![],
        }
    }

    /// News of an attempt that is not the one at hand.
    fn is_late(&self, event: Event) -> bool {
        match event {
            Event::Dialed { generation, .. }
            | Event::Lost { generation, .. }
            | Event::Expired { generation, .. }
            | Event::Held { generation }
            | Event::Stable { generation }
            | Event::Suspect { generation }
            | Event::Probed { generation, .. }
            | Event::Idled { generation } => self.live != Some(generation),
            _ => false,
        }
    }

    fn dial_afresh(&mut self, reason: Reason) -> Vec<Effect> {
        (self.rung, self.attempts, self.incurable) = (0, 0, 0);
        self.dial(reason)
    }

    fn dial(&mut self, reason: Reason) -> Vec<Effect> {
        self.attempts += 1;
        self.reason = Some(reason);
        self.place = Place::Dialing;
        vec![Effect::Dial { generation: self.last + 1 }]
    }

    fn fall(&mut self, reason: Reason) -> Vec<Effect> {
        self.reason = Some(reason);
        let delays = &self.policy.delays;
        let repeated = delays.last().filter(|_| self.policy.forever);
        let repeated = repeated.map(|&delay| delay.max(Duration::from_millis(100)));
        match delays.get(self.rung).copied().or(repeated) {
            Some(delay) => {
                self.rung += 1;
                self.let_go(Place::Waiting(delay))
            }
            None => self.let_go(Place::Down(DownCause::Failed)),
        }
    }

    fn let_go(&mut self, place: Place) -> Vec<Effect> {
        self.place = place;
        vec![Effect::LetGo]
    }

    fn leave(&mut self, place: Place) -> Vec<Effect> {
        self.reason = None;
        self.place = place;
        if self.live.is_some() { vec![Effect::HangUp] } else { vec![] }
    }

    /// Carries the machine's effects out: at most one attempt or link is ever held.
    pub(super) fn carry_out(&mut self, effects: &[Effect]) {
        for effect in effects {
            match *effect {
                Effect::Dial { generation } => {
                    assert_eq!(self.live, None, "dialled while another one is held");
                    assert!(generation > self.last, "a generation was used twice");
                    (self.live, self.last) = (Some(generation), generation);
                }
                Effect::Probe { generation } => {
                    assert_eq!(self.live, Some(generation), "probed what is not held");
                }
                Effect::LetGo | Effect::HangUp => {
                    assert!(self.live.take().is_some(), "{effect:?} of nothing");
                }
            }
        }
    }

    /// Whether the machine stands where it has to.
    pub(super) fn check(&self, phase: Phase) {
        let held = match phase {
            Phase::Dialing { generation, .. } | Phase::Ready { generation, .. } => Some(generation),
            _ => None,
        };
        assert_eq!(held, self.live, "the link that is held");
        let due = match self.place {
            Place::Waiting(delay) => Some((delay, Event::RetryDue)),
            Place::Up { time: Time::Young, .. } => {
                Some((Duration::from_secs(10), Event::Held { generation: self.last }))
            }
            Place::Up { time: Time::Held, .. } => {
                Some((Duration::from_secs(30), Event::Stable { generation: self.last }))
            }
            _ => None,
        };
        assert_eq!(phase.timer(), due, "the timer");
        assert_eq!(phase.state(), self.state(), "the state");
        assert_eq!(phase.reason(), self.reason, "the reason");
        let is_under_way = matches!(self.place, Place::Dialing | Place::Waiting(_));
        let is_down = matches!(self.place, Place::Down(_));
        assert_eq!(phase.has_error(), is_under_way || is_down, "the error");
        let is_ended = is_down || matches!(self.place, Place::Stopped | Place::Closed);
        assert_eq!(phase.keeps_tools(), !is_ended, "the tools");
        let is_counting = !matches!(self.place, Place::Asleep | Place::Stopped | Place::Closed);
        assert_eq!(phase.attempts(), if is_counting { self.attempts } else { 0 }, "the attempts");
    }

    fn state(&self) -> State {
        match self.place {
            Place::Asleep => State::Idle,
            Place::Dialing if self.rung == 0 => State::Connecting,
            Place::Dialing | Place::Waiting(_) => State::Reconnecting,
            Place::Up { doubtful: false, .. } => State::Connected,
            Place::Up { doubtful: true, .. } => State::Degraded,
            Place::Down(DownCause::Failed) => State::Failed,
            Place::Down(DownCause::NeedsAuth) => State::NeedsAuth,
            Place::Down(DownCause::Untrusted) => State::Blocked,
            Place::Stopped | Place::Closed => State::Disconnected,
        }
    }
}
