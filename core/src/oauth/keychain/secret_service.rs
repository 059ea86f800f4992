//! The keychain of Linux desktops: the Secret Service (GNOME Keyring, KWallet, KeePassXC) on the session's bus.
//! Invariant: only a Unix socket that the environment names is connected to; no program is run, and no bus is launched.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use futures_util::StreamExt;
use serde::Serialize;
use tokio::runtime::Builder;
use tokio::time::timeout;
use zbus::address::transport::{Transport, Unix, UnixSocket};
use zbus::message::{Message, Type};
use zbus::{Address, Connection, MatchRule, MessageStream, OwnedObjectPath, OwnedVariant, Variant};

use super::{NoKey, SERVICE, USER};
use crate::descriptors::check_room_for;
use crate::host_env::HostEnv;
use crate::redact::Secret;

const BUS_NAME: &str = "org.freedesktop.secrets";
const ROOT: &str = "/org/freedesktop/secrets";
/// In place of an object, it says that there is none.
const NOTHING: &str = "/";
/// How many items with our attributes are looked at.
const ITEMS: usize = 16;
/// How long a conversation may take in which the user is asked.
const LIMIT: Duration = Duration::from_secs(120);

const ADDRESS: &str = "DBUS_SESSION_BUS_ADDRESS";
const RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";

/// Where a bus is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Addresses, in the form of the variable.
    Named(String),
    Socket(PathBuf),
}

impl Place {
    /// The addresses to try. Others than those of Unix sockets are left out: they could run a program, or lead elsewhere.
    fn addresses(&self) -> Vec<Address> {
        match self {
            Place::Named(text) => {
                let known = text.split(';').filter_map(|one| Address::from_str(one).ok());
                known.filter(|it| matches!(it.transport(), Transport::Unix(_))).collect()
            }
            Place::Socket(path) => {
                vec![Address::new(Transport::Unix(Unix::new(UnixSocket::File(path.clone()))))]
            }
        }
    }
}

/// `None` if the environment names no bus.
pub(super) fn place(host_env: &HostEnv) -> Option<Place> {
    let named = host_env.var(ADDRESS).filter(|named| !named.is_empty());
    let place = match named {
        Some(named) => Place::Named(named),
        None => {
            let socket = PathBuf::from(host_env.var(RUNTIME_DIR)?).join("bus");
            let is_there = socket.is_absolute() && socket.exists();
            is_there.then_some(Place::Socket(socket))?
        }
    };
    (!place.addresses().is_empty()).then_some(place)
}

/// The stored keys. Blocks.
pub(super) fn find(place: &Place) -> Result<Vec<Secret>, NoKey> {
    converse(async { Session::open(place).await?.find().await })
}

/// Stores a key. Blocks.
pub(super) fn create(place: &Place, key: &Secret) -> Result<(), NoKey> {
    converse(async { Session::open(place).await?.create(key).await })
}

/// On a runtime of its own, which ends with all that was begun on it.
fn converse<T>(conversation: impl Future<Output = Result<T, NoKey>>) -> Result<T, NoKey> {
    check_room_for("the keychain").map_err(|error| NoKey::Failed(error.message().to_owned()))?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async { timeout(LIMIT, conversation).await.unwrap_or(Err(NoKey::Silent)) })
}

/// A secret on the bus: session, parameters, value, and media type.
type WireSecret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

struct Session {
    bus: Connection,
    path: OwnedObjectPath,
}

impl Session {
    async fn open(place: &Place) -> Result<Self, NoKey> {
        let bus = connect(place).await?;
        // Only the user's own programs are on the bus, and may ask for the key too: it is not encrypted there.
        let body = ("plain", Variant::from(""));
        let answer = call(&bus, ROOT, "Service", "OpenSession", &body).await?;
        let (_, path): (OwnedVariant, _) = answer.body().deserialize().map_err(no_key)?;
        Ok(Session { bus, path })
    }

    async fn find(&self) -> Result<Vec<Secret>, NoKey> {
        let found = self.search().await?;
        if !found.is_empty() {
            return Ok(found);
        }
        // Some services find nothing in what is locked.
        self.unlock(vec![self.collection().await?]).await?;
        self.search().await
    }

    async fn search(&self) -> Result<Vec<Secret>, NoKey> {
        let answer = self.service("SearchItems", &(attributes(),)).await?;
        let (mut items, mut locked): (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) =
            answer.body().deserialize().map_err(no_key)?;
        locked.truncate(ITEMS);
        if items.is_empty() && !locked.is_empty() {
            self.unlock(locked.clone()).await?;
            items = locked;
        }
        if items.is_empty() {
            return Ok(Vec::new());
        }
        items.truncate(ITEMS);
        let answer = self.service("GetSecrets", &(items, &self.path)).await?;
        let (secrets,): (HashMap<OwnedObjectPath, WireSecret>,) =
            answer.body().deserialize().map_err(no_key)?;
        if secrets.is_empty() {
            return Err(NoKey::Locked);
        }
        let texts = secrets.into_values().filter_map(|secret| String::from_utf8(secret.2).ok());
        Ok(texts.map(Secret::new).collect())
    }

    /// Where new items are stored.
    async fn collection(&self) -> Result<OwnedObjectPath, NoKey> {
        let answer = self.service("ReadAlias", &("default",)).await?;
        let (path,): (OwnedObjectPath,) = answer.body().deserialize().map_err(no_key)?;
        match path.as_str() {
            NOTHING => Err(NoKey::Failed("it has no collection".to_owned())),
            _ => Ok(path),
        }
    }

    async fn unlock(&self, objects: Vec<OwnedObjectPath>) -> Result<(), NoKey> {
        let answer = self.service("Unlock", &(objects,)).await?;
        let (_, prompt): (Vec<OwnedObjectPath>, OwnedObjectPath) =
            answer.body().deserialize().map_err(no_key)?;
        self.prompt(prompt).await
    }

    async fn create(&self, key: &Secret) -> Result<(), NoKey> {
        let property = |name| format!("org.freedesktop.Secret.Item.{name}");
        let properties = HashMap::from([
            (property("Label"), Variant::from("mcpool login key")),
            (property("Attributes"), Variant::from(attributes())),
        ]);
        let value = key.expose().as_bytes().to_vec();
        let secret: WireSecret = (self.path.clone(), Vec::new(), value, "text/plain".to_owned());
        let collection = self.collection().await?;
        // Not in place of another one, which may have sealed a login.
        let body = (properties, secret, false);
        let answer =
            call(&self.bus, collection.as_str(), "Collection", "CreateItem", &body).await?;
        let (_, prompt): (OwnedObjectPath, OwnedObjectPath) =
            answer.body().deserialize().map_err(no_key)?;
        self.prompt(prompt).await
    }

    /// Lets the service ask the user.
    async fn prompt(&self, prompt: OwnedObjectPath) -> Result<(), NoKey> {
        if prompt.as_str() == NOTHING {
            return Ok(());
        }
        let rule = MatchRule::builder().msg_type(Type::Signal).member("Completed");
        let rule = rule.interface("org.freedesktop.Secret.Prompt").path(&prompt);
        let rule = rule.build().map_err(no_key)?;
        let signals = MessageStream::for_match_rule(rule, &self.bus, None).await;
        let mut signals = signals.map_err(no_key)?;
        call(&self.bus, prompt.as_str(), "Prompt", "Prompt", &("",)).await?;
        let signal = signals.next().await.ok_or(NoKey::Silent)?.map_err(no_key)?;
        let (is_dismissed, _): (bool, OwnedVariant) =
            signal.body().deserialize().map_err(no_key)?;
        if is_dismissed { Err(NoKey::Locked) } else { Ok(()) }
    }

    async fn service<B>(&self, method: &'static str, body: &B) -> Result<Message, NoKey>
    where
        B: Serialize + zbus::DynamicType,
    {
        call(&self.bus, ROOT, "Service", method, body).await
    }
}

/// Connects to the first bus that answers.
async fn connect(place: &Place) -> Result<Connection, NoKey> {
    let mut why = NoKey::Absent;
    for address in place.addresses() {
        match zbus::connection::Builder::address(address).build().await {
            Ok(bus) => return Ok(bus),
            Err(error) => why = no_key(error),
        }
    }
    Err(why)
}

fn attributes() -> HashMap<&'static str, &'static str> {
    HashMap::from([("service", SERVICE), ("username", USER)])
}

async fn call<B>(
    bus: &Connection,
    path: &str,
    interface: &str,
    method: &'static str,
    body: &B,
) -> Result<Message, NoKey>
where
    B: Serialize + zbus::DynamicType,
{
    let interface = format!("org.freedesktop.Secret.{interface}");
    let answer = bus.call_method(Some(BUS_NAME), path, Some(interface.as_str()), method, body);
    answer.await.map_err(no_key)
}

fn no_key(error: zbus::Error) -> NoKey {
    match error {
        zbus::Error::FDO(error) if is_absent(&error) => NoKey::Absent,
        // A text of the service may be long, or repeat what it was given.
        zbus::Error::MethodError(name, ..) if name.as_str().ends_with(".IsLocked") => NoKey::Locked,
        zbus::Error::MethodError(name, ..) => failed(name.as_str()),
        error => failed(error),
    }
}

fn is_absent(error: &zbus::fdo::Error) -> bool {
    use zbus::fdo::Error::{NameHasNoOwner, ServiceUnknown};
    matches!(error, ServiceUnknown(_) | NameHasNoOwner(_))
}

fn failed(why: impl Display) -> NoKey {
    NoKey::Failed(why.to_string().chars().take(200).collect())
}
