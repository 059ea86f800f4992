//! A session bus with a Secret Service on it, in one: each connection is answered as the mood says.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use zbus::message::{Header, Message};
use zbus::wire::LE;
use zbus::wire::serialized::{Context, Data};
use zbus::{DynamicType, ObjectPath, OwnedObjectPath, OwnedVariant, Variant};

const COLLECTION: &str = "/org/freedesktop/secrets/collection/login";
const PROMPT: &str = "/org/freedesktop/secrets/prompt/1";
const SESSION: &str = "/org/freedesktop/secrets/session/1";
const NOTHING: &str = "/";

/// How the service behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Obliging,
    /// The socket takes connections; nothing is said.
    Deaf,
    /// The bus answers, the service does not.
    Silent,
    /// Every call fails.
    Failing,
    /// There is a bus, and no service.
    Absent,
    /// It says that a key is stored, and stores none.
    Forgetful,
    /// Locked; the user closes the dialog.
    Dismissed,
    /// Locked; the user does not see the dialog.
    Unattended,
    /// Locked; the user enters the password.
    Attended,
}

/// What the service knows.
pub(crate) struct Vault {
    pub(crate) mood: Mood,
    /// Items by path, with their attributes.
    pub(crate) items: BTreeMap<String, (HashMap<String, String>, Vec<u8>)>,
    /// How many items were created.
    pub(crate) created: usize,
    pub(crate) calls: Vec<String>,
    /// How long a search takes.
    pub(crate) delay: Duration,
    is_open: bool,
}

pub(crate) struct Bus {
    path: PathBuf,
    vault: Arc<Mutex<Vault>>,
}

impl Bus {
    pub(crate) fn new(directory: &Path, mood: Mood) -> Bus {
        std::fs::create_dir_all(directory).unwrap();
        let path = directory.join("bus");
        let listener = UnixListener::bind(&path).unwrap();
        let vault = Vault {
            mood,
            items: BTreeMap::new(),
            created: 0,
            calls: Vec::new(),
            delay: Duration::ZERO,
            is_open: false,
        };
        let vault = Arc::new(Mutex::new(vault));
        let bus = Bus { path, vault: vault.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let vault = vault.clone();
                // An error is the end of a client.
                std::thread::spawn(move || drop(Peer { stream, vault }.serve()));
            }
        });
        bus
    }

    pub(crate) fn address(&self) -> String {
        format!("unix:path={}", self.path.display())
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        self.with(|vault| vault.mood = mood);
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Vault) -> T) -> T {
        look(&mut self.vault.lock().unwrap())
    }
}

/// One connection.
struct Peer {
    stream: UnixStream,
    vault: Arc<Mutex<Vault>>,
}

type Done = Result<(), Box<dyn std::error::Error>>;
type WireSecret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

impl Peer {
    fn mood(&self) -> Mood {
        self.vault.lock().unwrap().mood
    }

    fn serve(mut self) -> Done {
        let mut reader = BufReader::new(self.stream.try_clone()?);
        if self.mood() == Mood::Deaf {
            // Until the client goes.
            reader.read_to_end(&mut Vec::new())?;
            return Ok(());
        }
        self.greet(&mut reader)?;
        loop {
            let message = read_message(&mut reader)?;
            let header = message.header();
            let member = header.member().ok_or("no member")?.as_str().to_owned();
            if header.interface().is_some_and(|it| it.as_str() == "org.freedesktop.DBus") {
                match member.as_str() {
                    "Hello" => self.reply(&header, &(":1.1",))?,
                    _ => self.reply(&header, &())?,
                }
                continue;
            }
            self.vault.lock().unwrap().calls.push(member.clone());
            match self.mood() {
                Mood::Silent => {}
                Mood::Failing => self.fail(&header, "org.freedesktop.Secret.Error.Broken")?,
                Mood::Absent => self.fail(&header, "org.freedesktop.DBus.Error.ServiceUnknown")?,
                _ => self.answer(&member, &message, &header)?,
            }
        }
    }

    /// The part of the protocol before the first message.
    fn greet(&mut self, reader: &mut impl BufRead) -> Done {
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 {
            let answer: &[u8] = match line.trim_start_matches('\0').split_whitespace().next() {
                Some("AUTH") => b"OK 1234deadbeef1234deadbeef12345678\r\n",
                Some("NEGOTIATE_UNIX_FD") => b"ERROR\r\n",
                Some("BEGIN") => return Ok(()),
                _ => return Err("an unknown command".into()),
            };
            self.stream.write_all(answer)?;
            line.clear();
        }
        Err("no message".into())
    }

    fn answer(&mut self, member: &str, message: &Message, header: &Header<'_>) -> Done {
        let body = message.body();
        match member {
            "OpenSession" => {
                let (algorithm, _): (String, OwnedVariant) = body.deserialize()?;
                assert_eq!(algorithm, "plain");
                self.reply(header, &(Variant::from(""), path(SESSION)))
            }
            "SearchItems" => {
                let (wanted,): (HashMap<String, String>,) = body.deserialize()?;
                let delay = self.vault.lock().unwrap().delay;
                let found: Vec<OwnedObjectPath> = {
                    let vault = self.vault.lock().unwrap();
                    let fits = |item: &&String| vault.items[*item].0 == wanted;
                    vault.items.keys().filter(fits).map(|item| path(item).into()).collect()
                };
                std::thread::sleep(delay);
                match self.is_locked() {
                    true => self.reply(header, &(Vec::<OwnedObjectPath>::new(), found)),
                    false => self.reply(header, &(found, Vec::<OwnedObjectPath>::new())),
                }
            }
            "GetSecrets" => {
                let (items, session): (Vec<OwnedObjectPath>, OwnedObjectPath) =
                    body.deserialize()?;
                let is_locked = self.is_locked();
                let secrets: HashMap<OwnedObjectPath, WireSecret> = {
                    let vault = self.vault.lock().unwrap();
                    let secret = |item: OwnedObjectPath| {
                        let value = vault.items.get(item.as_str())?.1.clone();
                        Some((item, (session.clone(), Vec::new(), value, "text/plain".to_owned())))
                    };
                    items.into_iter().filter(|_| !is_locked).filter_map(secret).collect()
                };
                self.reply(header, &(secrets,))
            }
            "ReadAlias" => self.reply(header, &(path(COLLECTION),)),
            "Unlock" => {
                let (objects,): (Vec<OwnedObjectPath>,) = body.deserialize()?;
                match self.is_locked() {
                    true => self.reply(header, &(Vec::<OwnedObjectPath>::new(), path(PROMPT))),
                    false => self.reply(header, &(objects, path(NOTHING))),
                }
            }
            "Prompt" => {
                self.reply(header, &())?;
                let is_dismissed = match self.mood() {
                    Mood::Unattended => return Ok(()),
                    mood => mood == Mood::Dismissed,
                };
                self.vault.lock().unwrap().is_open |= !is_dismissed;
                let interface = "org.freedesktop.Secret.Prompt";
                let completed = Message::signal(PROMPT, interface, "Completed");
                self.send(&completed.build(&(is_dismissed, Variant::from("")))?)
            }
            "CreateItem" => {
                type Properties = HashMap<String, OwnedVariant>;
                let (mut properties, secret, replaces): (Properties, WireSecret, bool) =
                    body.deserialize()?;
                assert!(!self.is_locked());
                let attributes = properties.remove("org.freedesktop.Secret.Item.Attributes");
                let attributes: HashMap<String, String> = attributes.unwrap().try_into()?;
                let item = {
                    let mut vault = self.vault.lock().unwrap();
                    vault.created += 1;
                    let item = format!("{COLLECTION}/{}", vault.created);
                    if vault.mood != Mood::Forgetful {
                        vault.items.retain(|_, (others, _)| !replaces || *others != attributes);
                        vault.items.insert(item.clone(), (attributes, secret.2));
                    }
                    item
                };
                self.reply(header, &(path(&item), path(NOTHING)))
            }
            _ => self.fail(header, "org.freedesktop.DBus.Error.UnknownMethod"),
        }
    }

    fn is_locked(&self) -> bool {
        let vault = self.vault.lock().unwrap();
        let locks = [Mood::Dismissed, Mood::Unattended, Mood::Attended].contains(&vault.mood);
        locks && !vault.is_open
    }

    fn reply<B: Serialize + DynamicType>(&mut self, to: &Header<'_>, body: &B) -> Done {
        self.send(&Message::method_return(to).build(body)?)
    }

    fn fail(&mut self, to: &Header<'_>, name: &str) -> Done {
        self.send(&Message::error(to, name).build(&("at-1-secret",))?)
    }

    fn send(&mut self, message: &Message) -> Done {
        Ok(self.stream.write_all(message.data())?)
    }
}

fn path(text: &str) -> ObjectPath<'_> {
    ObjectPath::try_from(text).unwrap()
}

fn read_message(reader: &mut impl Read) -> Result<Message, Box<dyn std::error::Error>> {
    // The lengths of the body and of the fields are in the first sixteen bytes.
    let mut bytes = vec![0; 16];
    reader.read_exact(&mut bytes)?;
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let rest = number(12).next_multiple_of(8) + number(4);
    bytes.resize(16 + rest, 0);
    reader.read_exact(&mut bytes[16..])?;
    // SAFETY: the sender is zbus.
    Ok(unsafe { Message::from_bytes(Data::new(bytes, Context::new(LE, 0))) }?)
}
