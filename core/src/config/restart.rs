//! Owns restart policies: how long to wait before each restart, and when to give up.
//! Invariant: a policy never spins; a delay that repeats for ever is at least [`SHORTEST_REPEAT`].

use std::time::Duration;

use serde_json::{Map, Value};

use super::codec::millis;
use super::field::{Codec, Field, FieldDefault, FieldRow};
use super::reader::{FieldReader, looks_like_seconds};
use super::shape::{Object, ValueShape};
use crate::error::Result;

const SHORTEST_REPEAT: Duration = Duration::from_millis(100);
/// A longer delay is most likely in another unit.
const LONGEST_DELAY_MS: u64 = 24 * 60 * 60 * 1000;
const MOST_DELAYS: usize = 64;

/// When a server that was lost, or did not start, is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// The wait before each restart, in order.
    pub delays: Vec<Duration>,
    /// Whether the last delay repeats, or the server has failed once all are used up.
    pub forever: bool,
}

impl RestartPolicy {
    /// At once, then 1, 2, 5, 10, 30 and 60 s apart, for ever.
    pub fn relentless() -> Self {
        RestartPolicy { delays: seconds(&[0, 1, 2, 5, 10, 30, 60]), forever: true }
    }

    /// After 2, 5 and 15 s.
    pub fn bounded() -> Self {
        RestartPolicy { delays: seconds(&[2, 5, 15]), forever: false }
    }

    /// One restart, at once.
    pub fn once() -> Self {
        RestartPolicy { delays: seconds(&[0]), forever: false }
    }

    /// None at all.
    pub fn never() -> Self {
        RestartPolicy { delays: Vec::new(), forever: false }
    }

    /// The wait before the next restart; `None` says to give up.
    pub fn delay(&self, restarts_so_far: u32) -> Option<Duration> {
        let written = self.delays.get(restarts_so_far as usize).copied();
        written.or_else(|| self.repeated())
    }

    fn repeated(&self) -> Option<Duration> {
        let last = self.delays.last().filter(|_| self.forever)?;
        Some(SHORTEST_REPEAT.max(*last))
    }

    /// This policy with no wait shorter than the other's, which repeats for ever.
    pub(super) fn at_most_as_often_as(&self, other: &RestartPolicy) -> RestartPolicy {
        let known = self.delays.len().max(other.delays.len());
        let waits = (0..).map_while(|at| Some((self.delay(at)?, other.delay(at)))).take(known);
        let delays: Vec<Duration> =
            waits.map(|(own, other)| own.max(other.unwrap_or(own))).collect();
        match (0..).zip(&delays).all(|(at, wait)| self.delay(at) == Some(*wait)) {
            true => self.clone(),
            false => RestartPolicy { delays, forever: self.forever },
        }
    }

    /// What a definition without `restart` means.
    pub(super) fn default_of(shared: bool) -> Self {
        if shared { Self::relentless() } else { Self::once() }
    }

    fn preset(name: &str) -> Option<Self> {
        match name {
            "relentless" => Some(Self::relentless()),
            "bounded" => Some(Self::bounded()),
            "once" => Some(Self::once()),
            "never" => Some(Self::never()),
            _ => None,
        }
    }

    fn preset_name(&self) -> Option<&'static str> {
        PRESETS.iter().copied().find(|name| Self::preset(name).as_ref() == Some(self))
    }
}

const PRESETS: &[&str] = &["relentless", "bounded", "once", "never"];

/// The name of a preset, or the delays written out.
pub(super) struct RestartCodec;

impl Codec for RestartCodec {
    type Value = RestartPolicy;
    const SHAPE: ValueShape = ValueShape::Either(&[
        ValueShape::Words(PRESETS),
        ValueShape::Object(&Object {
            name: "RestartDelays",
            about: "When a server is tried again: after these milliseconds; `forever` repeats the last of them.",
            rows: &[FieldRow::unclassed(&[
                Field::new(
                    "delays",
                    ValueShape::List(&ValueShape::Integer { least: 0 }),
                    "The wait in milliseconds before each restart, in order.",
                )
                .required(),
                Field::new(
                    "forever",
                    ValueShape::Switch,
                    "Whether the last delay repeats for ever; else the server has failed once all are used up.",
                )
                .or(FieldDefault::Value(|| false.into())),
            ])],
            is_open: false,
        }),
    ]);

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: RestartPolicy,
    ) -> Result<RestartPolicy> {
        let otherwise = format!("{} is used", default.preset_name().unwrap_or("the default"));
        let read = match reader.take(key) {
            None => None,
            Some(Value::Object(object)) => custom(reader.nested(key, object), &otherwise),
            Some(written) => {
                let preset = written.as_str().and_then(RestartPolicy::preset);
                if preset.is_none() {
                    let presets = "relentless, bounded, once, never or an object with \"delays\"";
                    reader.warn_of(key, &format!("must be {presets}; {otherwise}"));
                }
                preset
            }
        };
        Ok(read.unwrap_or(default))
    }

    fn write(policy: &RestartPolicy) -> Value {
        if let Some(name) = policy.preset_name() {
            return name.into();
        }
        let delays: Vec<u64> = policy.delays.iter().copied().map(millis).collect();
        let mut object = Map::from_iter([("delays".to_owned(), delays.into())]);
        if policy.forever {
            object.insert("forever".to_owned(), true.into());
        }
        object.into()
    }
}

fn custom(mut reader: FieldReader<'_>, otherwise: &str) -> Option<RestartPolicy> {
    let forever = reader.switch("forever", false);
    let delays = reader.take("delays").as_ref().and_then(read_delays);
    let repeated = delays.as_ref().map(|delays| delays.last());
    let problem = match repeated {
        None => Some((
            "delays",
            format!(
                "must be at most {MOST_DELAYS} numbers of milliseconds up to {LONGEST_DELAY_MS}"
            ),
        )),
        Some(None) if forever => Some(("forever", "needs a delay to repeat".to_owned())),
        Some(_) => None,
    };
    if let Some((key, problem)) = &problem {
        reader.warn_of(key, &format!("{problem}; {otherwise}"));
    } else if forever && repeated < Some(Some(&SHORTEST_REPEAT)) {
        reader.warn_of("delays", "ends below 100 ms, which would spin; 100 ms is repeated");
    }
    let waits = delays.iter().flatten().map(|delay| millis(*delay)).filter(|ms| *ms > 0);
    if waits.clone().all(looks_like_seconds) {
        reader.warn_of_seconds("delays", waits.max());
    }
    reader.finish(["delays", "forever"].into_iter());
    delays.filter(|_| problem.is_none()).map(|delays| RestartPolicy { delays, forever })
}

fn seconds(seconds: &[u64]) -> Vec<Duration> {
    seconds.iter().copied().map(Duration::from_secs).collect()
}

fn read_delays(written: &Value) -> Option<Vec<Duration>> {
    let written = written.as_array().filter(|delays| delays.len() <= MOST_DELAYS)?;
    written
        .iter()
        .map(|delay| delay.as_u64().filter(|&ms| ms <= LONGEST_DELAY_MS).map(Duration::from_millis))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use serde_json::json;

    fn waits(policy: &RestartPolicy, restarts: u32) -> Vec<Option<u128>> {
        (0..restarts).map(|n| policy.delay(n).map(|delay| delay.as_millis())).collect()
    }

    fn read(settings: Value) -> (RestartPolicy, Vec<String>) {
        let mut server = settings;
        server["command"] = json!("x");
        let config = Config::from_value(json!({"mcpServers": {"n": server}})).unwrap();
        (config.servers["n"].config.clone().unwrap().restart, config.warnings)
    }

    #[test]
    fn presets_climb_their_ladders() {
        let seconds = |policy: RestartPolicy| -> Vec<_> {
            waits(&policy, 9).into_iter().map_while(|wait| wait).map(|ms| ms / 1000).collect()
        };
        assert_eq!(seconds(RestartPolicy::relentless()), [0, 1, 2, 5, 10, 30, 60, 60, 60]);
        assert_eq!(seconds(RestartPolicy::bounded()), [2, 5, 15]);
        assert_eq!(seconds(RestartPolicy::once()), [0]);
        assert!(seconds(RestartPolicy::never()).is_empty());
        assert_eq!(
            RestartPolicy::relentless().delay(u32::MAX),
            Some(Duration::from_secs(60)),
            "for ever"
        );
    }

    #[test]
    fn shared_servers_are_restarted_relentlessly_and_private_ones_once() {
        assert_eq!(read(json!({})), (RestartPolicy::relentless(), vec![]));
        assert_eq!(read(json!({"shared": false})), (RestartPolicy::once(), vec![]));
        assert_eq!(
            read(json!({"shared": false, "restart": "bounded"})),
            (RestartPolicy::bounded(), vec![])
        );
    }

    #[test]
    fn a_policy_can_be_written_out() {
        let (policy, warnings) = read(json!({"restart": {"delays": [0, 250], "forever": true}}));
        assert_eq!(waits(&policy, 4), [Some(0), Some(250), Some(250), Some(250)]);
        assert!(warnings.is_empty(), "{warnings:?}");
        let (policy, _) = read(json!({"restart": {"delays": [7]}}));
        assert_eq!(waits(&policy, 2), [Some(7), None]);
        assert_eq!(read(json!({"restart": {"delays": []}})).0, RestartPolicy::never());
    }

    #[test]
    fn a_policy_cannot_spin() {
        let (policy, warnings) = read(json!({"restart": {"delays": [0], "forever": true}}));
        assert_eq!(waits(&policy, 3), [Some(0), Some(100), Some(100)]);
        assert_eq!(
            warnings,
            [
                "Server \"n\": \"restart.delays\" ends below 100 ms, which would spin; 100 ms is repeated"
            ]
        );
        let made_in_code = RestartPolicy { delays: vec![], forever: true };
        assert_eq!(made_in_code.delay(0), None);
    }

    #[test]
    fn what_cannot_be_read_is_a_warning_and_the_default() {
        let mistakes = [
            json!("always"),
            json!(3),
            json!([1000]),
            json!({}),
            json!({"forever": true}),
            json!({"delays": [], "forever": true}),
            json!({"delays": 5}),
            json!({"delays": [-1]}),
            json!({"delays": [1e30]}),
            json!({"delays": [LONGEST_DELAY_MS + 1]}),
            json!({"delays": [u64::MAX]}),
            json!({"delays": ["soon"]}),
            json!({"delays": [1, null]}),
            json!({"delays": vec![1; 65]}),
        ];
        for mistake in mistakes {
            let (policy, warnings) = read(json!({"restart": mistake}));
            assert_eq!(policy, RestartPolicy::relentless(), "{mistake}");
            assert_eq!(warnings.len(), 1, "{mistake}: {warnings:?}");
            assert!(warnings[0].ends_with("; relentless is used"), "{warnings:?}");
        }
        let (policy, _) = read(json!({"restart": {"delays": vec![1; 64]}}));
        assert_eq!(policy.delays.len(), 64);
    }

    #[test]
    fn a_misspelt_part_is_a_warning() {
        let (_, warnings) = read(json!({"restart": {"delays": [1000], "tools": 1}}));
        assert_eq!(
            warnings,
            ["Server \"n\": \"restart.tools\" is no field of a server and has no effect"]
        );
    }

    #[test]
    fn delays_that_look_like_seconds_are_a_warning() {
        let warnings = |delays: Value| read(json!({"restart": {"delays": delays}})).1;
        let [warning] = &warnings(json!([0, 1, 2, 5]))[..] else { panic!("one") };
        assert!(warning.ends_with("is 5 ms: times are in milliseconds; 5 seconds are 5000"));
        assert!(warnings(json!([0, 50, 200])).is_empty());
        assert!(warnings(json!([0])).is_empty());
    }
}
