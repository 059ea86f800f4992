//! Random walks: events in any order, of old, current and future attempts, compared with the model. A failing walk is
//! reduced to the steps that it needs, and shown with its seed.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;

use super::super::*;
use super::model::Model;

const WALKS: u64 = 100_000;
const LONGEST: usize = 40;

/// One step of a walk; its event depends on the generation reached so far.
#[derive(Clone, Copy, Debug)]
enum WalkStep {
    Plain(PhaseEvent),
    /// An event of the attempt with this distance from the newest.
    SessionEvent(fn(u64) -> PhaseEvent, i64),
    /// The event of the timer.
    Timer,
}

fn busy(seconds: u64) -> Dialed {
    Dialed::Busy { wait: Duration::from_secs(seconds) }
}

fn hopeless(cause: DownCause) -> Dialed {
    Dialed::Hopeless { cause }
}

fn lost(generation: u64, cause: DownCause) -> PhaseEvent {
    PhaseEvent::Lost { generation, reason: Reason::TransportExit, cause }
}

impl WalkStep {
    fn random(rng: &mut Rng) -> WalkStep {
        use PhaseEvent::{Close, Replaced, RetryDue, Start, Stop, Wake};
        const PLAIN: [PhaseEvent; 9] =
            [Start, Start, Start, Wake, RetryDue, RetryDue, Replaced, Stop, Close];
        const NEWS: [fn(u64) -> PhaseEvent; 21] = [
            |generation| PhaseEvent::Dialed { generation, outcome: Dialed::Up },
            |generation| PhaseEvent::Dialed { generation, outcome: Dialed::Up },
            |generation| PhaseEvent::Dialed { generation, outcome: Dialed::Failed },
            |generation| PhaseEvent::Dialed { generation, outcome: busy(9) },
            |generation| PhaseEvent::Dialed { generation, outcome: busy(100) },
            |generation| PhaseEvent::Dialed { generation, outcome: Dialed::Refused },
            |generation| PhaseEvent::Dialed { generation, outcome: Dialed::Incurable },
            |generation| PhaseEvent::Dialed { generation, outcome: hopeless(DownCause::Failed) },
            |generation| PhaseEvent::Dialed { generation, outcome: hopeless(DownCause::NeedsAuth) },
            |generation| PhaseEvent::Dialed { generation, outcome: hopeless(DownCause::Untrusted) },
            |generation| lost(generation, DownCause::Failed),
            |generation| lost(generation, DownCause::Untrusted),
            |generation| PhaseEvent::Expired { generation, served: true },
            |generation| PhaseEvent::Expired { generation, served: false },
            |generation| PhaseEvent::Held { generation },
            |generation| PhaseEvent::Stable { generation },
            |generation| PhaseEvent::Suspect { generation },
            |generation| PhaseEvent::Suspect { generation },
            |generation| PhaseEvent::Probed { generation, alive: true },
            |generation| PhaseEvent::Probed { generation, alive: false },
            |generation| PhaseEvent::Idled { generation },
        ];
        match rng.u8(..10) {
            0..3 => WalkStep::Plain(*rng.choice(&PLAIN).expect("some")),
            3 => WalkStep::Timer,
            _ => {
                let away = *rng.choice(&[0, 0, 0, 0, 0, 0, -1, -2, 1]).expect("some");
                WalkStep::SessionEvent(*rng.choice(&NEWS).expect("some"), away)
            }
        }
    }

    fn event(self, phase: Phase, last: u64) -> PhaseEvent {
        match self {
            WalkStep::Plain(event) => event,
            WalkStep::SessionEvent(news, away) => news(last.saturating_add_signed(away)),
            WalkStep::Timer => phase.timer().map_or(PhaseEvent::RetryDue, |(_, event)| event),
        }
    }
}

fn random_policy(rng: &mut Rng) -> RestartPolicy {
    match rng.u8(..8) {
        0 => RestartPolicy::relentless(),
        1 => RestartPolicy::bounded(),
        2 => RestartPolicy::once(),
        3 => RestartPolicy::never(),
        _ => {
            let delays = (0..rng.usize(..5)).map(|_| Duration::from_millis(rng.u64(..300)));
            RestartPolicy { delays: delays.collect(), forever: rng.bool() }
        }
    }
}

/// What the walks have covered, by name.
#[derive(Default)]
struct Reached {
    phases: BTreeSet<&'static str>,
    states: Vec<State>,
    effects: BTreeSet<&'static str>,
    /// The events in each phase.
    rows: BTreeSet<(&'static str, &'static str)>,
}

const PHASES: [&str; 8] =
    ["closed", "dialing", "doubtful", "down", "idle", "ready", "stopped", "waiting"];
const EFFECTS: [&str; 4] = ["dial", "hang up", "let go", "probe"];
const EVENTS: usize = 14;

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Dialing { .. } => "dialing",
        Phase::Ready { health: Health::Sound, .. } => "ready",
        Phase::Ready { health: Health::Doubtful, .. } => "doubtful",
        Phase::Waiting { .. } => "waiting",
        Phase::Down { .. } => "down",
        Phase::Stopped => "stopped",
        Phase::Closed => "closed",
    }
}

fn effect_name(effect: PhaseEffect) -> &'static str {
    match effect {
        PhaseEffect::Dial { .. } => "dial",
        PhaseEffect::Probe { .. } => "probe",
        PhaseEffect::LetGo => "let go",
        PhaseEffect::HangUp => "hang up",
    }
}

fn event_name(event: PhaseEvent) -> &'static str {
    match event {
        PhaseEvent::Start => "start",
        PhaseEvent::Wake => "wake",
        PhaseEvent::Dialed { .. } => "dialed",
        PhaseEvent::Lost { .. } => "lost",
        PhaseEvent::RetryDue => "retry due",
        PhaseEvent::Held { .. } => "held",
        PhaseEvent::Stable { .. } => "stable",
        PhaseEvent::Suspect { .. } => "suspect",
        PhaseEvent::Probed { .. } => "probed",
        PhaseEvent::Idled { .. } => "idled",
        PhaseEvent::Replaced => "replaced",
        PhaseEvent::Stop => "stop",
        PhaseEvent::Expired { .. } => "expired",
        PhaseEvent::Close => "close",
    }
}

/// Walks and checks every step; returns the events.
fn walk(
    policy: &RestartPolicy,
    steps: &[WalkStep],
    reached: &mut Reached,
    events: &mut Vec<PhaseEvent>,
) {
    events.clear();
    let (mut phase, mut model) = (Phase::Idle, Model::new(policy.clone()));
    for step in steps {
        let event = step.event(phase, model.last());
        events.push(event);
        reached.rows.insert((phase_name(phase), event_name(event)));
        let (next, effects) = phase.on(event, policy, model.last());
        assert_eq!(effects, model.on(event), "the effects");
        model.carry_out(&effects);
        model.check(next);
        phase = next;
        reached.phases.insert(phase_name(phase));
        reached.effects.extend(effects.into_iter().map(effect_name));
        if !reached.states.contains(&phase.state()) {
            reached.states.push(phase.state());
        }
    }
}

fn complaint(
    policy: &RestartPolicy,
    steps: &[WalkStep],
    reached: &mut Reached,
    events: &mut Vec<PhaseEvent>,
) -> Option<String> {
    let walked = catch_unwind(AssertUnwindSafe(|| walk(policy, steps, reached, events)));
    let panic = walked.err()?;
    Some(panic.downcast::<String>().map_or_else(|_| "a panic".to_owned(), |words| *words))
}

/// Removes every step that the failure does not need.
fn shrink(policy: &RestartPolicy, mut steps: Vec<WalkStep>) -> (String, Vec<PhaseEvent>) {
    let (mut reached, mut events) = (Reached::default(), Vec::new());
    let mut at = 0;
    while at < steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(at);
        match complaint(policy, &fewer, &mut reached, &mut events) {
            Some(_) => (steps, at) = (fewer, 0),
            None => at += 1,
        }
    }
    let words = complaint(policy, &steps, &mut reached, &mut events);
    (words.expect("it failed before"), events)
}

#[test]
fn every_order_of_events_keeps_the_promises() {
    let (mut reached, mut events) = (Reached::default(), Vec::new());
    for seed in 0..WALKS {
        let mut rng = Rng::with_seed(seed);
        let policy = random_policy(&mut rng);
        let steps: Vec<WalkStep> =
            (0..rng.usize(1..=LONGEST)).map(|_| WalkStep::random(&mut rng)).collect();
        if complaint(&policy, &steps, &mut reached, &mut events).is_some() {
            let (words, events) = shrink(&policy, steps);
            panic!("seed {seed}, {policy:?}: {words}\nafter {events:#?}");
        }
    }
    assert!(reached.phases.into_iter().eq(PHASES), "every phase is reached");
    assert!(reached.effects.into_iter().eq(EFFECTS), "every effect is reached");
    assert_eq!(reached.states.len(), 9, "every state of a phase is reached: {:?}", reached.states);
    assert_eq!(reached.rows.len(), PHASES.len() * EVENTS, "every event came in every phase");
}

/// A server that is retried forever is retried at growing intervals, or at least 100 ms apart.
#[test]
fn a_dead_server_is_never_retried_in_a_busy_loop() {
    for seed in 0..2_000 {
        let mut rng = Rng::with_seed(seed);
        let policy = random_policy(&mut rng);
        if !policy.forever || policy.delays.is_empty() {
            continue;
        }
        let (mut phase, mut generation, mut waited) = (Phase::Idle, 0, Duration::ZERO);
        phase = phase.on(PhaseEvent::Start, &policy, generation).0;
        for restart in 0..200_u32 {
            generation += 1;
            let failure = match rng.u8(..3) {
                0 => vec![PhaseEvent::Dialed { generation, outcome: Dialed::Failed }],
                1 => vec![
                    PhaseEvent::Dialed { generation, outcome: Dialed::Up },
                    lost(generation, DownCause::Failed),
                ],
                _ => vec![
                    PhaseEvent::Dialed { generation, outcome: Dialed::Up },
                    PhaseEvent::Suspect { generation },
                    PhaseEvent::Probed { generation, alive: false },
                ],
            };
            for event in failure {
                phase = phase.on(event, &policy, generation - 1).0;
            }
            let (delay, due) = phase.timer().expect("it is tried for ever");
            waited += delay;
            let repeats = (restart + 1).saturating_sub(policy.delays.len() as u32);
            assert!(waited >= Duration::from_millis(100) * repeats, "seed {seed}, {policy:?}");
            phase = phase.on(due, &policy, generation).0;
        }
        assert_eq!(phase.attempts(), 201, "seed {seed}, {policy:?}");
    }
}
