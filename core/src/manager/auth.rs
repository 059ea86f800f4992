//! Owns the verbs about signing in to a server.

use std::future::Future;
use std::sync::Arc;

use http::StatusCode;
use url::Url;

use super::server::{Left, Server};
use super::trust::Access;
use super::{Inner, Manager, on_runtime};
#[cfg(feature = "cli")]
use crate::auth_prompt::AuthPrompt;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::oauth::{Flow, Login};
use crate::options::{Language, Options, options};

options! {
    /// How to sign in.
    #[derive(Clone, Copy, Debug)]
    #[non_exhaustive]
    pub struct AuthorizeOptions of "authorize" {
        /// Forget the login that there is first.
        fresh: bool = false,
        /// Sign in with a browser on another device.
        device: bool = false,
    }
}

impl AuthorizeOptions {
    /// Reads `{"fresh": true}`.
    #[doc(hidden)]
    pub fn from_json(text: &str, language: Language) -> Result<Self> {
        Self::read(text, language)
    }
}

/// A sign-in that waits for a person.
pub(crate) struct OpenSignIn {
    connection: Arc<Connection>,
    login: Arc<Login>,
    flow: Arc<Flow>,
    left: Left,
}

impl OpenSignIn {
    #[cfg(feature = "cli")]
    pub(crate) fn prompt(&self) -> &AuthPrompt {
        &self.flow.prompt
    }

    /// Waits for the person, then for the connection.
    pub(crate) async fn finish(self) -> Result<()> {
        let OpenSignIn { connection, login, flow, left } = self;
        on_runtime(async move {
            let finishing = async {
                login.finish_sign_in(&flow).await?;
                connection.connect().await
            };
            // It ends with its manager, although another one may hold the connection.
            tokio::select! {
                outcome = finishing => outcome,
                () = left.wait() => Err(Error::closed()),
            }
        })
        .await
    }
}

impl Manager {
    /// Signs in to a server and connects it. Who has to do something is asked by `on_auth` and told by the event
    /// `auth_required`; it waits for that up to five minutes. Does nothing if the server is connected with a login.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// manager.authorize("docs", mcpool::AuthorizeOptions::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn authorize(
        &self,
        server: &str,
        options: AuthorizeOptions,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, name) = (self.clone(), server.to_owned());
        async move {
            match manager.begin_auth(&name, options).await? {
                Some(sign_in) => sign_in.finish().await,
                None => Ok(()),
            }
        }
    }

    /// Begins to sign in; `None` if the server is connected and nobody has to do anything.
    pub(crate) fn begin_auth(
        &self,
        server: &str,
        options: AuthorizeOptions,
    ) -> impl Future<Output = Result<Option<OpenSignIn>>> + Send + use<> {
        let (manager, name) = (self.clone(), server.to_owned());
        on_runtime(async move {
            let (connection, login) = manager.reached_login(&name).await?;
            let left = manager.find(&name)?.left();
            drop(manager);
            if let Some(login) = login {
                if options.fresh {
                    login.forget().await?;
                    connection.disconnect().await;
                }
                login.choose_device(options.device);
            }
            let mut connected = connection.connect().await;
            let login = connection.login();
            // Somebody may have signed in a moment after the attempt failed.
            let has_signed_in =
                login.as_ref().is_some_and(|it| it.has_token() && it.open_flow().is_none());
            if connected.is_err() && has_signed_in {
                connected = connection.connect().await;
            }
            let is_refused = connected.as_ref().is_err_and(wants_login);
            let login = match (connected, login) {
                (Ok(()), Some(login)) if !login.has_token() => login,
                (Ok(()), _) => return Ok(None),
                (Err(_), Some(login)) if is_refused => login,
                (Err(error), _) => return Err(error),
            };
            let open = login.open_flow().filter(|flow| flow.is_by_device() == options.device);
            let flow = match open {
                Some(flow) => Some(flow),
                None => login.begin_sign_in(options.device, is_refused).await?,
            };
            match flow {
                Some(flow) => {
                    login.announce(&flow);
                    Ok(Some(OpenSignIn { connection, login, flow, left }))
                }
                None => connection.connect().await.map(|()| None),
            }
        })
    }

    /// Finishes a sign-in with the URL that the browser was sent back to, and connects the server. For browsers on other
    /// machines.
    pub fn complete_auth(
        &self,
        redirect_url: &str,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, text) = (self.clone(), redirect_url.trim().to_owned());
        on_runtime(async move {
            manager.check_open()?;
            let invalid = |text: &str| Error::new(ErrorKind::InvalidArguments, text);
            let url = Url::parse(&text).map_err(|_| {
                invalid("What the browser was sent back to is no URL")
                    .with_hint("copy the whole address, from http:// on")
            })?;
            let connections = manager.0.connections();
            drop(manager);
            for connection in connections {
                let Some(login) = connection.login() else { continue };
                if let Some(outcome) = login.complete(&url).await {
                    outcome?;
                    return connection.connect().await;
                }
            }
            Err(invalid("No sign-in waits for this URL")
                .with_hint("begin again: a sign-in lasts five minutes, and its URL is used once"))
        })
    }

    /// Forgets the login of a server, and disconnects it.
    pub fn forget_auth(&self, server: &str) -> impl Future<Output = Result<()>> + Send + use<> {
        let forgotten = self.forget_login(server);
        async move { forgotten.await.map(drop) }
    }

    /// Same; returns whether there was a login.
    pub(crate) fn forget_login(
        &self,
        server: &str,
    ) -> impl Future<Output = Result<bool>> + Send + use<> {
        let (manager, name) = (self.clone(), server.to_owned());
        on_runtime(async move {
            let (connection, login) = manager.reached_login(&name).await?;
            if login.is_none() && manager.admitted(&name)?.scope.is_restricted() {
                let text = "Nothing is kept or forgotten for a project that is not trusted";
                return Err(Error::new(ErrorKind::Untrusted, text).with_server(&name));
            }
            drop(manager);
            let was_there = match login {
                Some(login) => login.forget().await?,
                None => false,
            };
            connection.disconnect().await;
            Ok(was_there)
        })
    }

    /// The connection of a server that may be started, and its login. Dials nobody.
    async fn reached_login(&self, name: &str) -> Result<(Arc<Connection>, Option<Arc<Login>>)> {
        let connection = self.reached(name).await?;
        let login = connection.prepare_login(&self.admitted(name)?).await?;
        Ok((connection, login))
    }

    /// The connection of a server that may be started.
    async fn reached(&self, name: &str) -> Result<Arc<Connection>> {
        self.check_open()?;
        let server = self.find(name)?;
        self.0.refresh_trust([&server.declared].into_iter()).await;
        match self.0.reach(&server) {
            Access::Granted(connection) => Ok(connection),
            Access::Pending(held) => held.await,
            Access::Refused(error) => Err(error),
        }
    }
}

impl Inner {
    /// The connections that the manager holds.
    fn connections(&self) -> Vec<Arc<Connection>> {
        let servers = self.servers.load();
        let of_server = |server: &Arc<Server>| {
            let own = server.lease().as_ref().map(|lease| lease.connection().clone());
            own.into_iter().chain(server.identities().connections()).collect::<Vec<_>>()
        };
        servers.values().flat_map(of_server).collect()
    }
}

/// Whether a sign-in may help. Some servers answer 403 where they want a token.
fn wants_login(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::AuthRequired => true,
        ErrorKind::AuthFailed => error.http_status() == Some(StatusCode::FORBIDDEN.as_u16()),
        _ => false,
    }
}
