//! Owns the life of one server's link. One task, the actor, owns the state; others send it commands and read what it
//! has published. Whoever asks for the same thing shares one attempt.
//! Invariant: never two processes for one name; looking never starts anything.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use crate::catalog::ServerTool;
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::event::EventLog;
use crate::runtime;
use crate::session::{Greeting, Session};
use crate::status::State;

mod actor;
mod dial;
mod phase;

use actor::{Actor, Command};

/// The manager's handle on one server.
pub(crate) struct Connection {
    commands: mpsc::UnboundedSender<Command>,
    published: Arc<ArcSwap<Published>>,
}

/// What everybody may see.
pub(crate) struct Published {
    pub(crate) state: State,
    pub(crate) attempt: u64,
    pub(crate) restarts: u64,
    pub(crate) error: Option<Error>,
    pub(crate) live: Option<Arc<Live>>,
}

/// A link that is up.
pub(crate) struct Live {
    pub(crate) session: Arc<Session>,
    pub(crate) greeting: Greeting,
    pub(crate) connected_since_ms: u64,
    pub(crate) tools: Tools,
}

/// A server's tools, in its own order and by raw name.
#[derive(Clone, Default)]
pub(crate) struct Tools {
    pub(crate) list: Arc<Vec<Arc<ServerTool>>>,
    by_name: Arc<HashMap<String, usize>>,
}

impl Tools {
    pub(crate) fn new(list: Vec<Arc<ServerTool>>) -> Self {
        let by_name =
            list.iter().enumerate().map(|(at, tool)| (tool.raw_name().to_owned(), at)).collect();
        Tools { list: Arc::new(list), by_name: Arc::new(by_name) }
    }

    pub(crate) fn get(&self, raw_name: &str) -> Option<&Arc<ServerTool>> {
        self.by_name.get(raw_name).map(|&at| &self.list[at])
    }
}

impl Connection {
    pub(crate) fn new(
        server: &str,
        config: ServerConfig,
        events: Arc<EventLog>,
        catalog_version: Arc<AtomicU64>,
    ) -> Self {
        let published = Arc::new(ArcSwap::from_pointee(Published {
            state: State::Idle,
            attempt: 0,
            restarts: 0,
            error: None,
            live: None,
        }));
        let (commands, inbox) = mpsc::unbounded_channel();
        let actor = Actor::new(server, config, inbox, published.clone(), events, catalog_version);
        runtime::spawn(actor.run());
        Connection { commands, published }
    }

    pub(crate) fn published(&self) -> arc_swap::Guard<Arc<Published>> {
        self.published.load()
    }

    /// Connects unless connected; joins an attempt that is under way.
    pub(crate) async fn connect(&self) -> Result<()> {
        self.ask(Command::Connect).await?
    }

    /// Resolves when connected, or with the error of the attempt that is under way; starts nothing.
    pub(crate) async fn ready(&self) -> Result<()> {
        self.ask(Command::Await).await?
    }

    pub(crate) async fn disconnect(&self) {
        let _ = self.ask(Command::Disconnect).await;
    }

    /// Disconnects for good.
    pub(crate) async fn close(&self) {
        let _ = self.ask(Command::Close).await;
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T> {
        let (asker, answer) = oneshot::channel();
        let gone = |()| Error::new(ErrorKind::Closed, "The manager is closed");
        self.commands.send(command(asker)).map_err(|_| gone(()))?;
        answer.await.map_err(|_| gone(()))
    }
}

/// Marks the catalog as out of date; whoever looks at it next builds it anew.
fn outdate(catalog_version: &AtomicU64) {
    catalog_version.fetch_add(1, Ordering::Release);
}
