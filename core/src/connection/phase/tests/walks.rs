//! Random walks: any order of events, with news of old, present and future attempts, beside the model. A walk that goes
//! wrong is cut down to the steps that it takes, and shown with the seed that leads to it again.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;

use super::super::*;
use super::model::Model;

const WALKS: u64 = 100_000;
const LONGEST: usize = 40;

/// One step of a walk; which event it is depends on how far the walk has come.
#[derive(Clone, Copy, Debug)]
enum Step {
    Plain(Event),
    /// News of the attempt this far from the newest.
    SessionEvent(fn(u64) -> Event, i64),
    /// Whatever the timer brings.
    Timer,
}

fn busy(seconds: u64) -> Dialed {
    Dialed::Busy { wait: Duration::from_secs(seconds) }
}

fn hopeless(cause: DownCause) -> Dialed {
    Dialed::Hopeless { cause }
}

fn lost(generation: u64, cause: DownCause) -> Event {
    Event::Lost { generation, reason: Reason::TransportExit, cause }
}

impl Step {
    fn random(rng: &mut Rng) -> Step {
        use Event::{Close, Replaced, RetryDue, Start, Stop, Wake};
        const PLAIN: [Event; 9] =
            [Start, Start, Start, Wake, RetryDue, RetryDue, Replaced, Stop, Close];
        const NEWS: [fn(u64) -> Event; 21] = [
            |generation| Event::Dialed { generation, outcome: Dialed::Up },
            |generation| Event::Dialed { generation, outcome: Dialed::Up },
            |generation| Event::Dialed { generation, outcome: Dialed::Failed },
            |generation| Event::Dialed { generation, outcome: busy(9) },
            |generation| Event::Dialed { generation, outcome: busy(100) },
            |generation| Event::Dialed { generation, outcome: Dialed::Refused },
            |generation| Event::Dialed { generation, outcome: Dialed::Incurable },
            |generation| Event::Dialed { generation, outcome: hopeless(DownCause::Failed) },
            |generation| Event::Dialed { generation, outcome: hopeless(DownCause::NeedsAuth) },
            |generation| Event::Dialed { generation, outcome: hopeless(DownCause::Untrusted) },
            |generation| lost(generation, DownCause::Failed),
            |generation| lost(generation, DownCause::Untrusted),
            |generation| Event::Expired { generation, served: true },
            |generation| Event::Expired { generation, served: false },
            |generation| Event::Held { generation },
            |generation| Event::Stable { generation },
            |generation| Event::Suspect { generation },
            |generation| Event::Suspect { generation },
            |generation| Event::Probed { generation, alive: true },
            |generation| Event::Probed { generation, alive: false },
            |generation| Event::Idled { generation },
        ];
        match rng.u8(..10) {
            0..3 => Step::Plain(*rng.choice(&PLAIN).expect("some")),
            3 => Step::Timer,
            _ => {
                let away = *rng.choice(&[0, 0, 0, 0, 0, 0, -1, -2, 1]).expect("some");
                Step::SessionEvent(*rng.choice(&NEWS).expect("some"), away)
            }
        }
    }

    fn event(self, phase: Phase, last: u64) -> Event {
        match self {
            Step::Plain(event) => event,
            Step::SessionEvent(news, away) => news(last.saturating_add_signed(away)),
            Step::Timer => phase.timer().map_or(Event::RetryDue, |(_, event)| event),
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

/// What was reached, by name.
#[derive(Default)]
struct Reached {
    phases: BTreeSet<&'static str>,
    states: Vec<State>,
    effects: BTreeSet<&'static str>,
    /// Which event came in which phase.
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

fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Dial { .. } => "dial",
        Effect::Probe { .. } => "probe",
        Effect::LetGo => "let go",
        Effect::HangUp => "hang up",
    }
}

fn event_name(event: Event) -> &'static str {
    match event {
        Event::Start => "start",
        Event::Wake => "wake",
        Event::Dialed { .. } => "dialed",
        Event::Lost { .. } => "lost",
        Event::RetryDue => "retry due",
        Event::Held { .. } => "held",
        Event::Stable { .. } => "stable",
        Event::Suspect { .. } => "suspect",
        Event::Probed { .. } => "probed",
        Event::Idled { .. } => "idled",
        Event::Replaced => "replaced",
        Event::Stop => "stop",
        Event::Expired { .. } => "expired",
        Event::Close => "close",
    }
}

/// Walks and checks every step; gives the events that came.
fn walk(policy: &RestartPolicy, steps: &[Step], reached: &mut Reached, events: &mut Vec<Event>) {
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
    steps: &[Step],
    reached: &mut Reached,
    events: &mut Vec<Event>,
) -> Option<String> {
    let walked = catch_unwind(AssertUnwindSafe(|| walk(policy, steps, reached, events)));
    let panic = walked.err()?;
    Some(panic.downcast::<String>().map_or_else(|_| "a panic".to_owned(), |words| *words))
}

/// Leaves out every step that the failure does not need.
fn shrink(policy: &RestartPolicy, mut steps: Vec<Step>) -> (String, Vec<Event>) {
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
        let steps: Vec<Step> =
            (0..rng.usize(1..=LONGEST)).map(|_| Step::random(&mut rng)).collect();
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

/// However it fails, a server that is tried for ever is tried ever more seldom, or at least 100 ms apart.
#[test]
fn a_dead_server_never_makes_it_spin() {
    for seed in 0..2_000 {
        let mut rng = Rng::with_seed(seed);
        let policy = random_policy(&mut rng);
        if !policy.forever || policy.delays.is_empty() {
            continue;
        }
        let (mut phase, mut generation, mut waited) = (Phase::Idle, 0, Duration::ZERO);
        phase = phase.on(Event::Start, &policy, generation).0;
        for restart in 0..200_u32 {
            generation += 1;
            let failure = match rng.u8(..3) {
                0 => vec![Event::Dialed { generation, outcome: Dialed::Failed }],
                1 => vec![
                    Event::Dialed { generation, outcome: Dialed::Up },
                    lost(generation, DownCause::Failed),
                ],
                _ => vec![
                    Event::Dialed { generation, outcome: Dialed::Up },
                    Event::Suspect { generation },
                    Event::Probed { generation, alive: false },
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
