//! Owns which login a connection uses: one for each definition, over all its attempts.

use std::ffi::OsString;
use std::sync::Arc;

use super::actor::Command;
use super::{Connection, ConnectionShared, WarningTopic};
use crate::caller::ConnectionHeaders;
use crate::config::ServerConfig;
use crate::error::Result;
use crate::oauth::{Login, LoginOwner, stored_token};
use crate::resolve::{ProgramTarget, Resolved, SignIn, Target, resolve};
use crate::sync::lock;

impl ConnectionShared {
    /// The login for what is dialled; none for a program, and for a server that must not ask for one.
    pub(super) fn login_for(
        &self,
        resolved: &Resolved,
        config: &ServerConfig,
        headers: &Arc<ConnectionHeaders>,
    ) -> Option<Arc<Login>> {
        let target: &Target = match resolved {
            Resolved::Stdio(_) => return None,
            Resolved::Http(target) | Resolved::WebSocket(target) => target,
        };
        let SignIn::OAuth(settings) = &target.sign_in else {
            *lock(&self.login) = None;
            return None;
        };
        let mut current = lock(&self.login);
        if let Some(known) = current.as_ref().filter(|known| known.is_for(target, settings)) {
            return Some(known.clone());
        }
        let login = Login::new(target, settings.clone(), self.login_owner(config, headers));
        *current = Some(login.clone());
        Some(login)
    }

    fn login_owner(&self, config: &ServerConfig, headers: &Arc<ConnectionHeaders>) -> LoginOwner {
        let commands = self.commands.clone();
        LoginOwner {
            identity: config.scope.identity.as_ref().map(|identity| identity.as_str().into()),
            host_env: config.scope.host_env.clone(),
            headers: headers.clone(),
            subscribers: self.subscribers.clone(),
            store: self.login_store.clone(),
            on_signed_in: Box::new(move || {
                if let Some(commands) = commands.upgrade() {
                    let _ = commands.send(Command::SignedIn);
                }
            }),
        }
    }

    /// Gives a program the stored login that its definition names, in its environment.
    pub(super) async fn give_login(
        &self,
        resolved: &mut Resolved,
        config: &ServerConfig,
        headers: &Arc<ConnectionHeaders>,
    ) {
        let Resolved::Stdio(ProgramTarget { launch, login: Some(settings) }) = resolved else {
            return;
        };
        let owner = self.login_owner(config, headers);
        match stored_token(&self.server, settings.clone(), owner).await {
            Some(token) => {
                let name = OsString::from("OAUTH_ACCESS_TOKEN");
                launch.env.retain(|(known, _)| *known != name);
                launch.env.push((name, token.expose().into()));
                launch.mask = headers.mask(&launch.mask);
                self.warn(WarningTopic::Login, Vec::new());
            }
            None => {
                let id = settings.credential_id.as_deref().unwrap_or_default();
                let text =
                    format!("the login \"{id}\" was not found; the server starts without it");
                self.warn(WarningTopic::Login, vec![text]);
            }
        }
    }
}

impl Connection {
    /// Its login, once it has dialled a server that may ask for one.
    pub(crate) fn login(&self) -> Option<Arc<Login>> {
        lock(&self.shared.login).clone()
    }

    /// Its login, also before it has dialled. `config` is its definition.
    pub(crate) async fn prepare_login(&self, config: &ServerConfig) -> Result<Option<Arc<Login>>> {
        if let Some(login) = self.login() {
            return Ok(Some(login));
        }
        let (resolved, _) = resolve(&self.shared.server, config).await;
        let resolved = resolved.map_err(|error| error.with_server(&self.shared.server))?;
        Ok(self.shared.login_for(&resolved, config, &self.headers()))
    }
}
