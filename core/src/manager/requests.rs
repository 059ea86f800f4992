//! Owns what a manager asks its servers besides calling tools: resources, prompts, completion, log levels, in `skills`
//! skills, in `tasks` tasks; and telling them that the roots have changed. The bindings use `by_name`.
//! Invariant: what only reads is asked once more if its connection is lost; nothing else is.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Manager;
use super::calls::lookup::{check_worth_waiting, unavailable};
use super::server::Server;
use super::trust::Access;
use crate::connection::{Connection, Live};
use crate::error::{Error, ErrorKind, Result};
use crate::event::LogLevel;
use crate::prompt::{Completion, CompletionAnswer, CompletionTarget, Prompt, PromptResult};
use crate::resource::{ReadAnswer, Resource, ResourceContent, ResourceTemplate};
use crate::result::ManagerId;
use crate::runtime;
use crate::server_request::Root;
use crate::session::Listed;
use crate::status::State;

mod by_name;
mod skills;
mod tasks;

/// What a request carries besides its parameters, such as the context of a trace.
type Meta = Option<Map<String, Value>>;

impl Manager {
    /// The resources of a server, all pages of them. Empty if it has none.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// for resource in manager.list_resources("files").await? {
    ///     let contents = manager.read_resource("files", &resource.uri).await?;
    ///     println!("{}: {:?}", resource.name, contents.first().and_then(|it| it.text.as_ref()));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_resources(
        &self,
        server: &str,
    ) -> impl Future<Output = Result<Vec<Resource>>> + Send + use<> {
        self.list(server, Listed::Resources, None)
    }

    /// The templates of a server's resources.
    pub fn list_resource_templates(
        &self,
        server: &str,
    ) -> impl Future<Output = Result<Vec<ResourceTemplate>>> + Send + use<> {
        self.list(server, Listed::ResourceTemplates, None)
    }

    /// Reads a resource: one part, or several.
    pub fn read_resource(
        &self,
        server: &str,
        uri: &str,
    ) -> impl Future<Output = Result<Vec<ResourceContent>>> + Send + use<> {
        self.read_contents(server, uri, None)
    }

    /// From now on, updates of a resource are events `resource_updated`, also after a restart of the server.
    pub fn subscribe_resource(
        &self,
        server: &str,
        uri: &str,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, server, uri) = (self.clone(), server.to_owned(), uri.to_owned());
        while_awaited(async move {
            let live = manager.live(&server).await?;
            // Before the request, so that no update is missed.
            manager.0.sink.change_settings(&server, |it| it.subscriptions.insert(uri.clone()));
            let subscribed = live.session.subscribe_resource(&uri).await;
            if subscribed.is_err() {
                manager.0.sink.change_settings(&server, |it| it.subscriptions.remove(&uri));
            }
            subscribed
        })
    }

    /// Ends the updates of a resource.
    pub fn unsubscribe_resource(
        &self,
        server: &str,
        uri: &str,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, server, uri) = (self.clone(), server.to_owned(), uri.to_owned());
        while_awaited(async move {
            manager.check_open()?;
            let connection =
                manager.find(&server)?.lease().as_ref().map(|it| it.connection().clone());
            manager.0.sink.change_settings(&server, |it| it.subscriptions.remove(&uri));
            let Some(connection) = connection else { return Ok(()) };
            let Some(live) = connection.published().live.clone() else { return Ok(()) };
            let others = connection.subscribers().session_settings(&server);
            if others.subscriptions.contains(&uri) {
                return Ok(());
            }
            live.session.unsubscribe_resource(&uri).await
        })
    }

    /// The prompts of a server, all pages of them. Empty if it has none.
    pub fn list_prompts(
        &self,
        server: &str,
    ) -> impl Future<Output = Result<Vec<Prompt>>> + Send + use<> {
        self.list_known_prompts(server, None)
    }

    /// A prompt, filled in with these arguments.
    pub fn get_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> impl Future<Output = Result<PromptResult>> + Send + use<> {
        self.fill_in_prompt(server, name, arguments, None)
    }

    /// Values for an argument that begin with what was typed; `others` are the arguments that are known already.
    pub fn complete(
        &self,
        server: &str,
        target: &CompletionTarget,
        argument: &str,
        value: &str,
        others: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<Completion>> + Send + use<> {
        self.complete_argument(server, target.params(argument, value, others), None)
    }

    /// Sets which log messages the server sends, also after its restarts. They are events `log`.
    pub fn set_log_level(
        &self,
        server: &str,
        level: LogLevel,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, server) = (self.clone(), server.to_owned());
        while_awaited(async move {
            let live = manager.live(&server).await?;
            live.session.set_log_level(level).await?;
            manager.0.sink.change_settings(&server, |it| it.log_level = Some(level));
            Ok(())
        })
    }

    /// Replaces the roots, and tells the servers. Servers that connected before the manager had any get them with their
    /// next connection.
    pub fn set_roots(&self, roots: Vec<Root>) -> Result<()> {
        self.check_open()?;
        self.0.sink.features().roots.set(roots);
        for live in self.0.servers.load().values().filter_map(|server| server.live()) {
            live.session.announce_roots();
        }
        Ok(())
    }

    /// Tells it from other managers.
    fn id(&self) -> ManagerId {
        ManagerId::from(&self.0.sink.events)
    }

    fn read_contents(
        &self,
        server: &str,
        uri: &str,
        meta: Meta,
    ) -> impl Future<Output = Result<Vec<ResourceContent>>> + Send + use<> {
        let answer = self.read(server, "resources/read", json!({"uri": uri}), meta);
        async move { answer.await.map(|ReadAnswer { contents }| contents) }
    }

    fn list_known_prompts(
        &self,
        server: &str,
        meta: Meta,
    ) -> impl Future<Output = Result<Vec<Prompt>>> + Send + use<> {
        let (manager, server) = (self.clone(), server.to_owned());
        async move {
            let prompts: Vec<Prompt> = manager.list(&server, Listed::Prompts, meta).await?;
            if let Ok(server) = manager.find(&server) {
                server.known_prompts.add(prompts.iter().map(|it| it.name.as_str()));
            }
            Ok(prompts)
        }
    }

    fn fill_in_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: BTreeMap<String, String>,
        meta: Meta,
    ) -> impl Future<Output = Result<PromptResult>> + Send + use<> {
        let params = json!({"name": name, "arguments": arguments});
        let answer = self.read(server, "prompts/get", params, meta);
        let (manager, server, name) = (self.clone(), server.to_owned(), name.to_owned());
        async move {
            let result = answer.await?;
            if let Ok(server) = manager.find(&server) {
                server.known_prompts.add([name.as_str()].into_iter());
            }
            Ok(result)
        }
    }

    fn complete_argument(
        &self,
        server: &str,
        params: Value,
        meta: Meta,
    ) -> impl Future<Output = Result<Completion>> + Send + use<> {
        let answer = self.read(server, "completion/complete", params, meta);
        async move { answer.await.map(|CompletionAnswer { completion }| completion) }
    }

    fn list<T: DeserializeOwned + Send + 'static>(
        &self,
        server: &str,
        listed: Listed,
        meta: Meta,
    ) -> impl Future<Output = Result<Vec<T>>> + Send + use<T> {
        let (manager, server) = (self.clone(), server.to_owned());
        while_awaited(async move {
            let (_, entries) =
                manager.ask_again_once(&server, &ReadRequest::List(listed, meta)).await?;
            let bytes = entries.iter().map(Bytes::len).sum();
            let read =
                move || entries.iter().filter_map(|entry| read_entry(&server, entry)).collect();
            Ok(runtime::read_off_worker(bytes, read).await)
        })
    }

    fn read<T: DeserializeOwned + Send + 'static>(
        &self,
        server: &str,
        method: &'static str,
        mut params: Value,
        meta: Meta,
    ) -> impl Future<Output = Result<T>> + Send + use<T> {
        if let Some(meta) = meta {
            params["_meta"] = meta.into();
        }
        let (manager, server) = (self.clone(), server.to_owned());
        while_awaited(async move {
            let request = ReadRequest::Read(method, params);
            let (_, mut answers) = manager.ask_again_once(&server, &request).await?;
            let answer = answers.pop().unwrap_or_default();
            let (bytes, read) = (answer.len(), move || serde_json::from_slice::<T>(&answer).ok());
            runtime::read_off_worker(bytes, read).await.ok_or_else(|| {
                let text = format!("The server's answer to {method} cannot be read");
                Error::new(ErrorKind::ProtocolError, text).with_server(&server)
            })
        })
    }

    /// Asks, and once more on the next session if the connection was lost meanwhile. Also gives the link that answered.
    async fn ask_again_once(
        &self,
        server: &str,
        request: &ReadRequest,
    ) -> Result<(Arc<Live>, Vec<Bytes>)> {
        let live = self.live(server).await?;
        match request.ask(&live, self.id()).await {
            Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                let next = self.live(server).await.map_err(|_| error.clone())?;
                if Arc::ptr_eq(&next, &live) {
                    return Err(error);
                }
                let answers = request.ask(&next, self.id()).await?;
                Ok((next, answers))
            }
            outcome => Ok((live, outcome?)),
        }
    }

    /// The server's link; waits for it while it is coming up, as calls do.
    async fn live(&self, name: &str) -> Result<Arc<Live>> {
        self.check_open()?;
        let server = self.find(name)?;
        let config = server.usable()?.clone();
        let connection = self.connection_for_request(&server).await?;
        let (state, retry_at) = {
            let published = connection.published();
            if let Some(live) = published.live.as_ref().filter(|live| !live.session.is_over()) {
                return Ok(live.clone());
            }
            check_worth_waiting(&published, &config, name)?;
            (published.state, published.retry_at)
        };
        if state == State::Idle {
            connection.wake();
        }
        let limit = match state {
            State::Reconnecting => self.0.options.restart_wait,
            _ => config.timeout,
        };
        let is_due = retry_at.is_none_or(|at| at <= connection.clock().now() + limit);
        if is_due {
            // An error of one attempt is not the last word; the state after the wait is.
            let _ = tokio::time::timeout(limit, wait_until_live(&connection)).await;
        }
        let published = connection.published();
        match &published.live {
            Some(live) => Ok(live.clone()),
            None => Err(unavailable(name, published.error.as_ref())),
        }
    }

    /// The held connection of a server. One that is started by a call is started by a request too.
    async fn connection_for_request(&self, server: &Arc<Server>) -> Result<Arc<Connection>> {
        if let Some(lease) = &*server.lease() {
            return Ok(lease.connection().clone());
        }
        let is_lazy = server.usable()?.lazy;
        if server.was_left() || !(is_lazy || server.was_refused()) {
            return Err(unavailable(&server.name, None));
        }
        let connection = match self.0.reach(server) {
            Access::Granted(connection) => connection,
            Access::Pending(held) => held.await?,
            Access::Refused(error) => return Err(error),
        };
        connection.connect().await?;
        Ok(connection)
    }
}

/// What only reads.
enum ReadRequest {
    List(Listed, Meta),
    Read(&'static str, Value),
}

impl ReadRequest {
    /// The entries of a list, or one answer.
    async fn ask(&self, live: &Live, manager: ManagerId) -> Result<Vec<Bytes>> {
        let capabilities = live.greeting.capabilities;
        match self {
            ReadRequest::List(Listed::Skills, _) if !capabilities.skills => Ok(Vec::new()),
            ReadRequest::List(Listed::Prompts, _) if !capabilities.prompts => Ok(Vec::new()),
            ReadRequest::List(Listed::Resources | Listed::ResourceTemplates, _)
                if !capabilities.resources =>
            {
                Ok(Vec::new())
            }
            ReadRequest::List(listed, meta) => live.session.list(*listed, meta.as_ref()).await,
            ReadRequest::Read(method, params) => {
                let answer = live.session.ask_server(manager, method, params).await;
                answer.map(|answer| vec![answer])
            }
        }
    }
}

/// Runs a request on the runtime; dropping the future ends it.
async fn while_awaited<T: Send + 'static>(
    request: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    runtime::start()?;
    let ended = || Err(Error::new(ErrorKind::Closed, "The runtime has ended"));
    runtime::in_own_task(request).await.unwrap_or_else(ended)
}

async fn wait_until_live(connection: &Connection) {
    let mut changes = connection.changes();
    loop {
        changes.mark_unchanged();
        let is_live =
            connection.published().live.as_ref().is_some_and(|live| !live.session.is_over());
        if is_live || changes.changed().await.is_err() {
            return;
        }
    }
}

/// One entry of a list. One that cannot be read does not cost the others.
fn read_entry<T: DeserializeOwned>(server: &str, entry: &Bytes) -> Option<T> {
    let read = serde_json::from_slice(entry);
    if read.is_err() {
        tracing::warn!(server, "an entry of a list that cannot be read is left out");
    }
    read.ok()
}
