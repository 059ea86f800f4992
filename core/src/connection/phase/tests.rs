//! The phase machine: named sequences of events here, random ones in `walks`.

use super::PhaseEvent::{
    Close, Held, Idled, Lost, Probed, Replaced, RetryDue, Stable, Start, Stop, Suspect, Wake,
};
use super::*;
use crate::error::{Error, ErrorKind};

mod model;
mod walks;

/// A machine that remembers its newest generation, as the actor does.
struct Machine {
    phase: Phase,
    last: u64,
    policy: RestartPolicy,
}

impl Machine {
    fn new(policy: RestartPolicy) -> Self {
        Machine { phase: Phase::Idle, last: 0, policy }
    }

    fn on(&mut self, event: PhaseEvent) -> Vec<PhaseEffect> {
        let (phase, effects) = self.phase.on(event, &self.policy, self.last);
        self.phase = phase;
        for effect in &effects {
            if let PhaseEffect::Dial { generation } = effect {
                self.last = *generation;
            }
        }
        effects
    }

    fn dialed(&mut self, outcome: Dialed) -> Vec<PhaseEffect> {
        self.on(PhaseEvent::Dialed { generation: self.last, outcome })
    }

    fn lost(&mut self) -> Vec<PhaseEffect> {
        self.lost_by(DownCause::Failed)
    }

    fn lost_by(&mut self, cause: DownCause) -> Vec<PhaseEffect> {
        self.on(Lost { generation: self.last, reason: Reason::TransportExit, cause })
    }

    /// Delivers the current timer; returns its delay.
    fn wait(&mut self) -> Duration {
        let (delay, event) = self.phase.timer().expect("a timer runs");
        self.on(event);
        delay
    }

    fn up(policy: RestartPolicy) -> Self {
        let mut machine = Machine::new(policy);
        machine.on(Start);
        machine.dialed(Dialed::Up);
        machine
    }
}

fn policy(delays_ms: &[u64], forever: bool) -> RestartPolicy {
    let delays = delays_ms.iter().copied().map(Duration::from_millis).collect();
    RestartPolicy { delays, forever }
}

#[test]
fn a_session_that_served_calls_is_renewed_at_once_each_time() {
    let mut machine = Machine::up(RestartPolicy::never());
    for _ in 0..5 {
        machine.on(PhaseEvent::Expired { generation: machine.last, served: true });
        assert_eq!(machine.wait(), Duration::ZERO);
        machine.dialed(Dialed::Up);
    }
}

#[test]
fn an_unused_session_that_is_forgotten_again_uses_the_restart_ladder() {
    let mut machine = Machine::up(policy(&[0, 70], false));
    for delay_ms in [0, 70] {
        machine.on(PhaseEvent::Expired { generation: machine.last, served: false });
        assert_eq!(machine.wait(), Duration::from_millis(delay_ms));
        machine.dialed(Dialed::Up);
    }
    machine.on(PhaseEvent::Expired { generation: machine.last, served: false });
    assert!(matches!(machine.phase, Phase::Down { .. }));
}

#[test]
fn a_start_leads_from_idle_to_connected() {
    let mut machine = Machine::new(RestartPolicy::relentless());
    assert_eq!(machine.phase.state(), State::Idle);
    assert_eq!(machine.on(Start), [PhaseEffect::Dial { generation: 1 }]);
    assert_eq!(machine.phase.state(), State::Connecting);
    assert_eq!(machine.dialed(Dialed::Up), []);
    assert_eq!(machine.phase.state(), State::Connected);
    assert_eq!((machine.phase.attempts(), machine.phase.reason()), (1, None));
}

#[test]
fn a_start_joins_the_attempt_in_progress() {
    let mut machine = Machine::new(RestartPolicy::relentless());
    machine.on(Start);
    for _ in 0..3 {
        assert_eq!(machine.on(Start), []);
        assert_eq!(machine.on(Wake), []);
    }
    machine.dialed(Dialed::Up);
    assert_eq!(machine.on(Start), []);
    assert_eq!(machine.last, 1);
}

#[test]
fn late_events_of_an_old_attempt_are_ignored() {
    let mut machine = Machine::up(policy(&[0], true));
    machine.lost();
    machine.wait();
    machine.dialed(Dialed::Up);
    let before = machine.phase;
    for late in [
        PhaseEvent::Dialed { generation: 1, outcome: Dialed::Failed },
        Lost { generation: 1, reason: Reason::TransportExit, cause: DownCause::Failed },
        Held { generation: 1 },
        Stable { generation: 1 },
        Suspect { generation: 1 },
        Probed { generation: 1, alive: false },
        Idled { generation: 1 },
        RetryDue,
    ] {
        assert_eq!(machine.on(late), [], "{late:?}");
        assert_eq!(machine.phase, before, "{late:?}");
    }
}

#[test]
fn a_server_that_ends_after_its_handshake_uses_the_restart_ladder() {
    let mut machine = Machine::up(RestartPolicy::relentless());
    let mut waited = Vec::new();
    for _ in 0..9 {
        assert_eq!(machine.lost(), [PhaseEffect::LetGo]);
        assert_eq!(machine.phase.state(), State::Reconnecting);
        waited.push(machine.wait().as_secs());
        machine.dialed(Dialed::Up);
    }
    assert_eq!(waited, [0, 1, 2, 5, 10, 30, 60, 60, 60]);
    assert_eq!(machine.phase.attempts(), 10);
}

#[test]
fn only_a_stable_connection_resets_the_ladder() {
    let mut machine = Machine::up(policy(&[10, 20, 30], true));
    machine.lost();
    machine.wait();
    machine.dialed(Dialed::Up);
    machine.on(Suspect { generation: machine.last });
    machine.on(Probed { generation: machine.last, alive: true });
    machine.lost();
    assert_eq!(machine.wait(), Duration::from_millis(20), "a good probe is not stability");
    machine.dialed(Dialed::Up);
    assert_eq!(machine.wait(), STABLE_IN_USE);
    assert_eq!(machine.phase.attempts(), 3, "held, but was of no use");
    assert_eq!(machine.wait(), STABLE);
    assert_eq!((machine.phase.attempts(), machine.phase.timer()), (0, None));
    machine.lost();
    assert_eq!(machine.wait(), Duration::from_millis(10));
}

#[test]
fn an_exhausted_policy_gives_up_until_a_start_is_requested() {
    let mut machine = Machine::new(policy(&[10], false));
    machine.on(Start);
    machine.dialed(Dialed::Failed);
    assert_eq!(machine.wait(), Duration::from_millis(10));
    assert_eq!(machine.dialed(Dialed::Failed), [PhaseEffect::LetGo]);
    assert_eq!((machine.phase.state(), machine.phase.attempts()), (State::Failed, 2));
    assert_eq!(machine.on(Wake), [], "a call does not bring back what has failed");
    assert_eq!(machine.on(Start), [PhaseEffect::Dial { generation: 3 }]);
    assert_eq!((machine.phase.state(), machine.phase.attempts()), (State::Connecting, 1));
    machine.dialed(Dialed::Failed);
    assert_eq!(machine.wait(), Duration::from_millis(10), "from the foot of the ladder");
}

#[test]
fn a_hopeless_attempt_is_not_repeated() {
    let mut machine = Machine::new(RestartPolicy::relentless());
    machine.on(Start);
    let hopeless = Dialed::Hopeless { cause: DownCause::Failed };
    assert_eq!(machine.dialed(hopeless), [PhaseEffect::LetGo]);
    assert_eq!((machine.phase.state(), machine.phase.timer()), (State::Failed, None));
}

#[test]
fn the_state_of_a_connection_that_is_down_follows_from_its_cause() {
    for (kind, state) in [
        (ErrorKind::ConfigInvalid, State::Failed),
        (ErrorKind::AuthRequired, State::NeedsAuth),
        (ErrorKind::Untrusted, State::Blocked),
    ] {
        let mut machine = Machine::new(RestartPolicy::relentless());
        machine.on(Start);
        machine.dialed(Dialed::from_error(&Error::new(kind, "x")));
        assert_eq!((machine.phase.state(), machine.phase.timer()), (state, None), "{kind:?}");
        assert!(machine.phase.has_error() && !machine.phase.keeps_tools());

        let mut machine = Machine::up(RestartPolicy::never());
        machine.lost_by(DownCause::from_error_kind(kind));
        assert_eq!(machine.phase.state(), state, "{kind:?}, after a loss");
        machine.on(Start);
        machine.dialed(Dialed::Failed);
        assert_eq!(machine.phase.state(), State::Failed, "the next attempt has its own cause");
    }
}

#[test]
fn the_outcome_of_an_attempt_follows_from_its_error() {
    let outcome = |kind| Dialed::from_error(&Error::new(kind, "x"));
    assert_eq!(outcome(ErrorKind::ConnectFailed), Dialed::Failed);
    assert_eq!(outcome(ErrorKind::AuthFailed), Dialed::Refused);
    assert_eq!(outcome(ErrorKind::AuthRequired), Dialed::Hopeless { cause: DownCause::NeedsAuth });
}

#[test]
fn a_connection_that_served_calls_is_stable_sooner() {
    let mut machine = Machine::up(policy(&[10, 20, 30], true));
    machine.lost();
    machine.wait();
    machine.dialed(Dialed::Up);
    assert_eq!(machine.phase.timer(), Some((STABLE_IN_USE, Held { generation: machine.last })));
    machine.on(Stable { generation: machine.last });
    assert_eq!((machine.phase.attempts(), machine.phase.timer()), (0, None));
    machine.lost();
    assert_eq!(machine.wait(), Duration::from_millis(10));
}

#[test]
fn an_incurable_failure_is_tried_three_times() {
    let mut machine = Machine::new(RestartPolicy::relentless());
    machine.on(Start);
    for _ in 0..2 {
        assert_eq!(machine.dialed(Dialed::Incurable), [PhaseEffect::LetGo]);
        machine.wait();
    }
    machine.dialed(Dialed::Incurable);
    assert_eq!((machine.phase.state(), machine.phase.attempts()), (State::Failed, 3));
    machine.on(Start);
    machine.dialed(Dialed::Incurable);
    assert_eq!(machine.phase.state(), State::Reconnecting, "whoever asks begins anew");
}

#[test]
fn a_server_that_asks_for_a_delay_is_not_retried_earlier() {
    let busy = |seconds| Dialed::Busy { wait: Duration::from_secs(seconds) };
    let mut machine = Machine::new(RestartPolicy::relentless());
    machine.on(Start);
    let mut waited = Vec::new();
    for seconds in [7, 0, 1, 90_000, 8, 20] {
        machine.dialed(busy(seconds));
        assert_eq!(machine.phase.state(), State::Reconnecting);
        waited.push(machine.wait().as_secs());
    }
    assert_eq!(waited, [7, 1, 2, 60, 10, 30], "the policy's own wait, where that is longer");
    machine.dialed(busy(50));
    assert_eq!(
        machine.on(Start),
        [PhaseEffect::Dial { generation: 8 }],
        "whoever asks does not wait"
    );

    let mut machine = Machine::new(policy(&[0, 90_000, 0], false));
    machine.on(Start);
    machine.dialed(busy(3600));
    assert_eq!(machine.wait().as_secs(), 90, "as long as the policy waits at most");
    for _ in 0..2 {
        machine.dialed(busy(1));
        machine.wait();
    }
    machine.dialed(busy(1));
    assert_eq!(machine.phase.state(), State::Failed, "and it may end");
}

#[test]
fn refused_credentials_are_retried_slowly() {
    let mut machine = Machine::new(RestartPolicy::relentless());
    machine.on(Start);
    let mut waited = Vec::new();
    for _ in 0..4 {
        machine.dialed(Dialed::Refused);
        assert_eq!(machine.phase.state(), State::Reconnecting);
        waited.push(machine.wait().as_secs());
    }
    assert_eq!(waited, [30, 60, 60, 60]);
    machine.dialed(Dialed::Refused);
    assert_eq!(
        machine.on(Start),
        [PhaseEffect::Dial { generation: 6 }],
        "whoever asks does not wait"
    );

    let mut machine = Machine::new(policy(&[90_000], false));
    machine.on(Start);
    machine.dialed(Dialed::Refused);
    assert_eq!(machine.wait().as_secs(), 90, "a policy may be slower");
    machine.dialed(Dialed::Refused);
    assert_eq!(machine.phase.state(), State::Failed, "and it may end");
}

#[test]
fn other_failures_do_not_reset_the_count_of_incurable_attempts() {
    let mut machine = Machine::new(RestartPolicy::relentless());
    machine.on(Start);
    for outcome in [Dialed::Incurable, Dialed::Failed, Dialed::Incurable, Dialed::Failed] {
        machine.dialed(outcome);
        machine.wait();
    }
    machine.dialed(Dialed::Incurable);
    assert_eq!(machine.phase.state(), State::Failed);
}

#[test]
fn a_server_that_was_up_may_be_incurable_three_times_again() {
    let mut machine = Machine::new(RestartPolicy::relentless());
    machine.on(Start);
    for outcome in [Dialed::Incurable, Dialed::Incurable] {
        machine.dialed(outcome);
        machine.wait();
    }
    machine.dialed(Dialed::Up);
    machine.lost();
    machine.wait();
    machine.dialed(Dialed::Incurable);
    assert_eq!(machine.phase.state(), State::Reconnecting);
}

#[test]
fn a_policy_that_ends_sooner_wins_over_the_three_attempts() {
    let mut machine = Machine::new(RestartPolicy::never());
    machine.on(Start);
    machine.dialed(Dialed::Incurable);
    assert_eq!((machine.phase.state(), machine.phase.attempts()), (State::Failed, 1));
}

#[test]
fn a_start_during_the_delay_dials_at_once_and_keeps_the_ladder() {
    let mut machine = Machine::up(policy(&[10, 20, 30], false));
    machine.lost();
    assert_eq!(machine.on(Start), [PhaseEffect::Dial { generation: 2 }]);
    assert_eq!(machine.on(RetryDue), [], "the timer went with the wait");
    machine.dialed(Dialed::Failed);
    assert_eq!(machine.wait(), Duration::from_millis(20));
}

#[test]
fn a_suspicion_is_probed_once_and_a_failed_probe_is_a_loss() {
    let mut machine = Machine::up(policy(&[10], false));
    let suspect = Suspect { generation: 1 };
    assert_eq!(machine.on(suspect), [PhaseEffect::Probe { generation: 1 }]);
    assert_eq!(machine.phase.state(), State::Degraded);
    assert_eq!(machine.on(suspect), []);
    assert_eq!(machine.on(Probed { generation: 1, alive: true }), []);
    assert_eq!(machine.phase.state(), State::Connected);
    machine.on(suspect);
    assert_eq!(machine.on(Probed { generation: 1, alive: false }), [PhaseEffect::LetGo]);
    assert_eq!(machine.phase.reason(), Some(Reason::ProbeFailure));
}

#[test]
fn an_idle_connection_waits_for_a_call() {
    let mut machine = Machine::up(RestartPolicy::once());
    assert_eq!(machine.on(Idled { generation: 1 }), [PhaseEffect::LetGo]);
    assert_eq!((machine.phase.state(), machine.phase.timer()), (State::Idle, None));
    assert_eq!(machine.on(Wake), [PhaseEffect::Dial { generation: 2 }]);
}

#[test]
fn a_stop_hangs_up_and_only_a_start_dials_again() {
    let mut machine = Machine::up(RestartPolicy::relentless());
    assert_eq!(machine.on(Stop), [PhaseEffect::HangUp]);
    assert_eq!(machine.on(Stop), []);
    assert_eq!(machine.on(Wake), []);
    assert_eq!(machine.on(Replaced), []);
    assert_eq!(machine.phase.state(), State::Disconnected);
    assert_eq!(machine.on(Start), [PhaseEffect::Dial { generation: 2 }]);
}

#[test]
fn another_definition_replaces_a_live_or_failed_connection() {
    let mut machine = Machine::up(RestartPolicy::never());
    assert_eq!(machine.on(Replaced), [PhaseEffect::HangUp, PhaseEffect::Dial { generation: 2 }]);
    assert_eq!(machine.dialed(Dialed::Failed), [PhaseEffect::LetGo]);
    assert_eq!(machine.on(Replaced), [PhaseEffect::Dial { generation: 3 }]);
}

#[test]
fn closed_is_final() {
    for prepare in [Machine::new, Machine::up] {
        let mut machine = prepare(RestartPolicy::relentless());
        machine.on(Close);
        for event in [Start, Wake, RetryDue, Replaced, Stop, Close] {
            assert_eq!(machine.on(event), [], "{event:?}");
            assert_eq!(machine.phase, Phase::Closed);
        }
    }
}
