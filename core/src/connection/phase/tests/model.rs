//! A model of the phase machine: what must hold after every event, written independently of the machine.

use super::super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelPhase {
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
    phase: ModelPhase,
    /// The attempt or the link that is held.
    live: Option<u64>,
    last: u64,
    /// How many delays were used since the ladder was reset.
    rung: usize,
    attempts: u32,
    /// How many attempts were incurable since it was last up, or since the ladder was reset.
    incurable: u32,
    reason: Option<Reason>,
}

impl Model {
    pub(super) fn new(policy: RestartPolicy) -> Self {
        let (phase, live, reason) = (ModelPhase::Asleep, None, None);
        Model { policy, phase, live, last: 0, rung: 0, attempts: 0, incurable: 0, reason }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Applies the same event; returns the expected effects.
    pub(super) fn on(&mut self, event: PhaseEvent) -> Vec<PhaseEffect> {
        if self.phase == ModelPhase::Closed || self.is_late(event) {
            return vec![];
        }
        match (event, self.phase) {
            (PhaseEvent::Close, _) => self.leave(ModelPhase::Closed),
            (PhaseEvent::Stop, _) => self.leave(ModelPhase::Stopped),
            (PhaseEvent::Start | PhaseEvent::Wake, ModelPhase::Asleep) => {
                self.dial_afresh(Reason::Startup)
            }
            (PhaseEvent::Start, ModelPhase::Stopped | ModelPhase::Down(_)) => {
                self.dial_afresh(Reason::Manual)
            }
            (PhaseEvent::Start, ModelPhase::Waiting(_)) => self.dial(Reason::Manual),
            (PhaseEvent::RetryDue, ModelPhase::Waiting(_)) => {
                self.dial(self.reason.expect("a wait has a reason"))
            }
            (PhaseEvent::Dialed { outcome, .. }, ModelPhase::Dialing) => match outcome {
                Dialed::Up => {
                    (self.reason, self.incurable) = (None, 0);
                    self.phase = ModelPhase::Up { doubtful: false, time: Time::Young };
                    vec![]
                }
                Dialed::Failed => self.fall(self.reason.expect("an attempt has a reason")),
                Dialed::Busy { wait } => {
                    let longest = self.policy.delays.iter().max().copied().unwrap_or_default();
                    let wait = wait.min(longest.max(Duration::from_secs(60)));
                    let effects = self.fall(self.reason.expect("an attempt has a reason"));
                    if let ModelPhase::Waiting(delay) = &mut self.phase {
                        *delay = wait.max(*delay);
                    }
                    effects
                }
                Dialed::Refused => {
                    let soonest = Duration::from_secs(if self.rung == 0 { 30 } else { 60 });
                    let effects = self.fall(self.reason.expect("an attempt has a reason"));
                    if let ModelPhase::Waiting(delay) = &mut self.phase {
                        *delay = soonest.max(*delay);
                    }
                    effects
                }
                Dialed::Incurable => {
                    self.incurable += 1;
                    match self.incurable {
                        1 | 2 => self.fall(self.reason.expect("an attempt has a reason")),
                        _ => self.let_go(ModelPhase::Down(DownCause::Failed)),
                    }
                }
                Dialed::Hopeless { cause } => self.let_go(ModelPhase::Down(cause)),
            },
            (PhaseEvent::Lost { reason, cause, .. }, ModelPhase::Up { .. }) => {
                let effects = self.fall(reason);
                if let ModelPhase::Down(down) = &mut self.phase {
                    *down = cause;
                }
                effects
            }
            (PhaseEvent::Expired { served, .. }, ModelPhase::Up { .. }) => {
                if !served && self.rung > 0 {
                    return self.fall(Reason::SessionExpired);
                }
                self.reason = Some(Reason::SessionExpired);
                self.rung = self.rung.max(1);
                self.let_go(ModelPhase::Waiting(Duration::ZERO))
            }
            (PhaseEvent::Held { .. }, ModelPhase::Up { doubtful, time: Time::Young }) => {
                self.phase = ModelPhase::Up { doubtful, time: Time::Held };
                vec![]
            }
            (PhaseEvent::Stable { .. }, ModelPhase::Up { doubtful, .. }) => {
                (self.rung, self.attempts) = (0, 0);
                self.phase = ModelPhase::Up { doubtful, time: Time::Stable };
                vec![]
            }
            (PhaseEvent::Suspect { generation }, ModelPhase::Up { doubtful: false, time }) => {
                self.phase = ModelPhase::Up { doubtful: true, time };
                vec![PhaseEffect::Probe { generation }]
            }
            (PhaseEvent::Probed { alive, .. }, ModelPhase::Up { doubtful: true, time }) => {
                if !alive {
                    return self.fall(Reason::ProbeFailure);
                }
                self.phase = ModelPhase::Up { doubtful: false, time };
                vec![]
            }
            (PhaseEvent::Idled { .. }, ModelPhase::Up { .. }) => {
                self.reason = None;
                self.let_go(ModelPhase::Asleep)
            }
            (PhaseEvent::Replaced, phase)
                if !matches!(phase, ModelPhase::Asleep | ModelPhase::Stopped) =>
            {
                let mut effects = self.leave(ModelPhase::Stopped);
                effects.extend(self.dial_afresh(Reason::Manual));
                effects
            }
            _ => vec![],
        }
    }

    /// Whether the event is of another attempt than the current one.
    fn is_late(&self, event: PhaseEvent) -> bool {
        match event {
            PhaseEvent::Dialed { generation, .. }
            | PhaseEvent::Lost { generation, .. }
            | PhaseEvent::Expired { generation, .. }
            | PhaseEvent::Held { generation }
            | PhaseEvent::Stable { generation }
            | PhaseEvent::Suspect { generation }
            | PhaseEvent::Probed { generation, .. }
            | PhaseEvent::Idled { generation } => self.live != Some(generation),
            _ => false,
        }
    }

    fn dial_afresh(&mut self, reason: Reason) -> Vec<PhaseEffect> {
        (self.rung, self.attempts, self.incurable) = (0, 0, 0);
        self.dial(reason)
    }

    fn dial(&mut self, reason: Reason) -> Vec<PhaseEffect> {
        self.attempts += 1;
        self.reason = Some(reason);
        self.phase = ModelPhase::Dialing;
        vec![PhaseEffect::Dial { generation: self.last + 1 }]
    }

    fn fall(&mut self, reason: Reason) -> Vec<PhaseEffect> {
        self.reason = Some(reason);
        let delays = &self.policy.delays;
        let repeated = delays.last().filter(|_| self.policy.forever);
        let repeated = repeated.map(|&delay| delay.max(Duration::from_millis(100)));
        match delays.get(self.rung).copied().or(repeated) {
            Some(delay) => {
                self.rung += 1;
                self.let_go(ModelPhase::Waiting(delay))
            }
            None => self.let_go(ModelPhase::Down(DownCause::Failed)),
        }
    }

    fn let_go(&mut self, phase: ModelPhase) -> Vec<PhaseEffect> {
        self.phase = phase;
        vec![PhaseEffect::LetGo]
    }

    fn leave(&mut self, phase: ModelPhase) -> Vec<PhaseEffect> {
        self.reason = None;
        self.phase = phase;
        if self.live.is_some() { vec![PhaseEffect::HangUp] } else { vec![] }
    }

    /// Carries out the machine's effects: at most one attempt or link is held.
    pub(super) fn carry_out(&mut self, effects: &[PhaseEffect]) {
        for effect in effects {
            match *effect {
                PhaseEffect::Dial { generation } => {
                    assert_eq!(self.live, None, "dialled while another one is held");
                    assert!(generation > self.last, "a generation was used twice");
                    (self.live, self.last) = (Some(generation), generation);
                }
                PhaseEffect::Probe { generation } => {
                    assert_eq!(self.live, Some(generation), "probed what is not held");
                }
                PhaseEffect::LetGo | PhaseEffect::HangUp => {
                    assert!(self.live.take().is_some(), "{effect:?} of nothing");
                }
            }
        }
    }

    /// Whether the machine is in the expected phase.
    pub(super) fn check(&self, phase: Phase) {
        let held = match phase {
            Phase::Dialing { generation, .. } | Phase::Ready { generation, .. } => Some(generation),
            _ => None,
        };
        assert_eq!(held, self.live, "the link that is held");
        let due = match self.phase {
            ModelPhase::Waiting(delay) => Some((delay, PhaseEvent::RetryDue)),
            ModelPhase::Up { time: Time::Young, .. } => {
                Some((Duration::from_secs(10), PhaseEvent::Held { generation: self.last }))
            }
            ModelPhase::Up { time: Time::Held, .. } => {
                Some((Duration::from_secs(30), PhaseEvent::Stable { generation: self.last }))
            }
            _ => None,
        };
        assert_eq!(phase.timer(), due, "the timer");
        assert_eq!(phase.state(), self.state(), "the state");
        assert_eq!(phase.reason(), self.reason, "the reason");
        let is_under_way = matches!(self.phase, ModelPhase::Dialing | ModelPhase::Waiting(_));
        let is_down = matches!(self.phase, ModelPhase::Down(_));
        assert_eq!(phase.has_error(), is_under_way || is_down, "the error");
        let is_ended = is_down || matches!(self.phase, ModelPhase::Stopped | ModelPhase::Closed);
        assert_eq!(phase.keeps_tools(), !is_ended, "the tools");
        let is_counting =
            !matches!(self.phase, ModelPhase::Asleep | ModelPhase::Stopped | ModelPhase::Closed);
        assert_eq!(phase.attempts(), if is_counting { self.attempts } else { 0 }, "the attempts");
    }

    fn state(&self) -> State {
        match self.phase {
            ModelPhase::Asleep => State::Idle,
            ModelPhase::Dialing if self.rung == 0 => State::Connecting,
            ModelPhase::Dialing | ModelPhase::Waiting(_) => State::Reconnecting,
            ModelPhase::Up { doubtful: false, .. } => State::Connected,
            ModelPhase::Up { doubtful: true, .. } => State::Degraded,
            ModelPhase::Down(DownCause::Failed) => State::Failed,
            ModelPhase::Down(DownCause::NeedsAuth) => State::NeedsAuth,
            ModelPhase::Down(DownCause::Untrusted) => State::Blocked,
            ModelPhase::Stopped | ModelPhase::Closed => State::Disconnected,
        }
    }
}
