//! Owns asking the keychain of the user's system for the key that seals logins. The keychain has one entry, so that it
//! asks the user once at most, and logins of any length can be sealed.
//! Invariant: nobody waits longer than [`ANSWER`] for it, or again soon after it did not answer; two processes that find
//! no key create one key.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use super::random::random_text;
use super::seal::Key;
use crate::directory_lock::DirectoryLock;
use crate::fork::PerProcess;
use crate::host_env::{HostEnv, Platform};
use crate::redact::Secret;
use crate::sync::lock;

#[cfg_attr(target_os = "macos", path = "keychain/apple.rs")]
#[cfg_attr(windows, path = "keychain/none.rs")]
#[cfg_attr(all(unix, not(target_os = "macos")), path = "keychain/secret_service.rs")]
mod service;

use service::Place;

/// The variable that switches it off.
const SWITCH: &str = "MCPOOL_KEYCHAIN";
const OFF: &[&str] = &["off", "0", "false", "no"];
/// The entry's names.
#[cfg(unix)]
const SERVICE: &str = "mcpool";
#[cfg(unix)]
const USER: &str = "login key";
/// How long anybody waits for an answer. A dialog stays open for longer, and its answer counts for the next question.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a keychain that did not answer is not asked again.
const PAUSE: Duration = Duration::from_secs(60);

/// Why there is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The user does not want it.
    Off,
    /// There is no keychain here.
    Absent,
    Silent,
    #[cfg_attr(windows, expect(dead_code))]
    Locked,
    Failed(String),
    /// It has no key.
    Missing,
    /// It has another key.
    Other,
}

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoKey::Off => write!(f, "{SWITCH} switches the keychain off"),
            NoKey::Absent => f.write_str("this session has no keychain"),
            NoKey::Silent => {
                f.write_str("the keychain does not answer; it may have to be unlocked")
            }
            NoKey::Locked => f.write_str("the keychain is locked; it has to be unlocked"),
            NoKey::Failed(why) => write!(f, "the keychain failed: {why}"),
            NoKey::Missing => f.write_str("the key is not in the keychain any more"),
            NoKey::Other => f.write_str("the keychain has another key"),
        }
    }
}

/// The keychain of a user.
#[derive(Clone, Debug)]
pub(super) struct Keychain {
    host_env: HostEnv,
    /// The directory whose lock is held while a key is created.
    directory: PathBuf,
}

/// What this process knows of each keychain.
static DESKS: PerProcess<Mutex<HashMap<Place, Arc<Desk>>>> = PerProcess::new(Default::default);

#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_asked: bool,
    /// In an order that all processes share.
    keys: Vec<Arc<Key>>,
    /// When it last answered, or failed to.
    last: Option<(Instant, Result<(), NoKey>)>,
}

/// What the key is for.
#[derive(Clone, Copy)]
enum For<'a> {
    /// Opening what the key of this id has sealed.
    Opening(&'a str),
    /// Sealing; a key is created if there is none.
    Sealing,
}

impl Keychain {
    pub(super) fn new(host_env: &HostEnv, directory: &Path) -> Self {
        Keychain { host_env: host_env.clone(), directory: directory.to_owned() }
    }

    /// The key that opens what the key of this id has sealed. Blocks.
    pub(super) fn key_to_open(&self, id: &str) -> Result<Arc<Key>, NoKey> {
        self.key(For::Opening(id))
    }

    /// The key to seal with. Blocks; the directory must exist.
    pub(super) fn key_to_seal(&self) -> Result<Arc<Key>, NoKey> {
        self.key(For::Sealing)
    }

    /// Why it is not even asked.
    #[cfg(feature = "cli")]
    pub(super) fn not_asked(&self) -> Option<NoKey> {
        self.place().err()
    }

    fn place(&self) -> Result<Place, NoKey> {
        if self.host_env.var(SWITCH).is_some_and(|switch| is_off(&switch)) {
            return Err(NoKey::Off);
        }
        let is_here = self.host_env.platform() == Platform::current();
        let place = service::place(&self.host_env);
        place.filter(|_| is_here && self.host_env.has_own_session()).ok_or(NoKey::Absent)
    }

    fn key(&self, purpose: For<'_>) -> Result<Arc<Key>, NoKey> {
        let place = self.place()?;
        let desk = lock(DESKS.get()).entry(place.clone()).or_default().clone();
        let asked = Instant::now();
        let mut state = lock(&desk.state);
        loop {
            if let Some(settled) = state.settled(purpose, asked) {
                return settled;
            }
            if !state.is_asked {
                state.is_asked = true;
                let may_create = matches!(purpose, For::Sealing);
                let work = (desk.clone(), place.clone(), self.directory.clone());
                let thread = std::thread::Builder::new().name("mcpool-keychain".to_owned());
                // Not joined: it may hang, and ends with the process.
                let begun = thread.spawn(move || {
                    let (desk, place, directory) = work;
                    desk.answer(ask(&place, may_create.then_some(&directory)));
                });
                if let Err(error) = begun {
                    state.is_asked = false;
                    return Err(NoKey::Failed(error.to_string()));
                }
            }
            let left = ANSWER.saturating_sub(asked.elapsed());
            if left.is_zero() {
                state.last = Some((Instant::now(), Err(NoKey::Silent)));
                return Err(NoKey::Silent);
            }
            let waited = desk.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}

impl Desk {
    fn answer(&self, answer: Result<Vec<Key>, NoKey>) {
        let mut state = lock(&self.state);
        state.is_asked = false;
        let last = answer.map(|keys| state.keys = keys.into_iter().map(Arc::new).collect());
        state.last = Some((Instant::now(), last));
        drop(state);
        self.changed.notify_all();
    }
}

impl State {
    /// The answer to somebody who asked at this time; `None` if the keychain has to be asked.
    fn settled(&self, purpose: For<'_>, asked: Instant) -> Option<Result<Arc<Key>, NoKey>> {
        let key = match purpose {
            For::Sealing => self.keys.first(),
            For::Opening(id) => self.keys.iter().find(|key| key.id() == id),
        };
        if let Some(key) = key {
            return Some(Ok(key.clone()));
        }
        let (at, last) = self.last.as_ref()?;
        match (last, purpose) {
            (Err(NoKey::Missing), For::Sealing) => None,
            (Err(NoKey::Missing), _) => (*at >= asked).then_some(Err(NoKey::Missing)),
            (Err(why), _) => (at.elapsed() < PAUSE).then(|| Err(why.clone())),
            (Ok(()), _) => (at.elapsed() < PAUSE).then_some(Err(NoKey::Other)),
        }
    }
}

fn is_off(switch: &str) -> bool {
    OFF.iter().any(|word| switch.trim().eq_ignore_ascii_case(word))
}

/// Asks for the keys; creates one under the lock of the directory, if there is none and one is given.
fn ask(place: &Place, directory: Option<&PathBuf>) -> Result<Vec<Key>, NoKey> {
    let found = find(place)?;
    match directory {
        _ if !found.is_empty() => Ok(found),
        Some(directory) => create(place, directory),
        None => Err(NoKey::Missing),
    }
}

/// The keys. There are several if homes that share a keychain have each created one at the same time.
fn find(place: &Place) -> Result<Vec<Key>, NoKey> {
    let mut keys: Vec<Key> = service::find(place)?.iter().filter_map(Key::from_text).collect();
    keys.sort_by(|one, other| one.id().cmp(other.id()));
    Ok(keys)
}

fn create(place: &Place, directory: &Path) -> Result<Vec<Key>, NoKey> {
    let failed = |why: String| NoKey::Failed(why);
    let lock = DirectoryLock::acquire(directory, |waited| waited < ANSWER);
    let Some(_lock) = lock.map_err(|error| failed(error.to_string()))? else {
        return Err(NoKey::Silent);
    };
    let found = find(place)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let text = random_text().map_err(|error| failed(error.message().to_owned()))?;
    service::create(place, &Secret::new(text))?;
    // A keychain that does not keep the key would lose the login.
    match find(place)? {
        keys if keys.is_empty() => Err(failed("it does not keep the key".to_owned())),
        keys => Ok(keys),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ID: &str = "id";

    fn state(key: Option<Key>, last: Result<(), NoKey>, before: Duration) -> State {
        let at = Instant::now().checked_sub(before).expect("the machine has run for longer");
        State {
            is_asked: false,
            keys: key.into_iter().map(Arc::new).collect(),
            last: Some((at, last)),
        }
    }

    fn key() -> Key {
        Key::from_text(&Secret::new(random_text().unwrap())).unwrap()
    }

    fn why(state: &State, purpose: For<'_>, asked: Instant) -> Option<NoKey> {
        state.settled(purpose, asked).map(|settled| settled.expect_err("there is none"))
    }

    #[test]
    fn a_keychain_that_did_not_answer_is_left_alone_for_a_while() {
        for no_key in [NoKey::Silent, NoKey::Locked, NoKey::Absent] {
            let just_now = state(None, Err(no_key.clone()), Duration::ZERO);
            let asked = Instant::now();
            assert_eq!(why(&just_now, For::Opening(ID), asked), Some(no_key.clone()));
            assert_eq!(why(&just_now, For::Sealing, asked), Some(no_key.clone()));
            let earlier = state(None, Err(no_key), PAUSE);
            assert_eq!(why(&earlier, For::Opening(ID), asked), None);
            assert_eq!(why(&earlier, For::Sealing, asked), None);
        }
    }

    #[test]
    fn a_missing_key_is_created_for_sealing_and_looked_for_again_for_opening() {
        let asked = Instant::now();
        let missing = state(None, Err(NoKey::Missing), Duration::ZERO);
        assert_eq!(why(&missing, For::Opening(ID), asked), Some(NoKey::Missing));
        assert_eq!(why(&missing, For::Opening(ID), Instant::now()), None);
        assert_eq!(why(&missing, For::Sealing, asked), None);
    }

    #[test]
    fn a_key_is_kept_and_another_one_is_looked_for_once_in_a_while() {
        let key = key();
        let id = key.id().to_owned();
        let known = state(Some(key), Ok(()), Duration::ZERO);
        let asked = Instant::now();
        for purpose in [For::Opening(&id), For::Sealing] {
            assert_eq!(known.settled(purpose, asked).unwrap().unwrap().id(), id);
        }
        assert_eq!(why(&known, For::Opening(ID), asked), Some(NoKey::Other));
        let earlier = State { last: Some((asked.checked_sub(PAUSE).unwrap(), Ok(()))), ..known };
        assert_eq!(why(&earlier, For::Opening(ID), asked), None);
        assert!(earlier.settled(For::Sealing, asked).is_some());
    }

    #[test]
    fn a_keychain_is_that_of_the_session_that_the_environment_names() {
        let bus = ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus");
        fn place(
            variables: Option<&[(&str, &str)]>,
            platform: Option<Platform>,
        ) -> Result<(), NoKey> {
            let own = |(name, value): &(&str, &str)| (String::from(*name), String::from(*value));
            let variables = variables.map(|all| all.iter().map(own).collect::<BTreeMap<_, _>>());
            let host_env = HostEnv::new(variables, Some("/home/ann".into()), platform);
            Keychain::new(&host_env, Path::new("/home/ann/logins")).place().map(drop)
        }
        // A home without its variables is not that of the process's session.
        assert!(place(None, None).is_err());
        assert_eq!(place(Some(&[]), None), Err(NoKey::Absent));
        for off in ["off", "0", " OFF", "False", "no"] {
            assert_eq!(place(Some(&[bus, (SWITCH, off)]), None), Err(NoKey::Off), "{off}");
        }
        assert_eq!(place(Some(&[bus]), Some(Platform::Windows)), Err(NoKey::Absent));
        if cfg!(target_os = "linux") {
            assert_eq!(place(Some(&[bus, (SWITCH, "on")]), None), Ok(()));
            let several = "tcp:host=h,port=1;unix:path=/run/bus";
            assert_eq!(place(Some(&[(bus.0, several)]), None), Ok(()));
            for other in ["tcp:host=h,port=1", "unixexec:path=/bin/sh", "autolaunch:", "x", "unix:"]
            {
                assert_eq!(place(Some(&[(bus.0, other)]), None), Err(NoKey::Absent), "{other}");
            }
        }
    }
}
