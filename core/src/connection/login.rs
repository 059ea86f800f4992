//! Owns which login a connection uses: one for each definition, over all its attempts.

use std::ffi::OsString;
use std::sync::Arc;

use super::actor::Command;
use super::{Connection, ConnectionShared, WarningTopic};
use crate::caller::ConnectionHeaders;
use crate::config::{AuthConfig, ServerConfig};
use crate::error::Result;
use crate::oauth::{Login, LoginOwner};
use crate::resolve::{ProgramTarget, Resolved, SignIn, Target, resolve};
use crate::runtime;
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
        let mut current = lock(&self.login);
        let SignIn::OAuth(settings) = &target.sign_in else {
            retire(current.take());
            return None;
        };
        if let Some(known) = current.as_ref().filter(|known| known.is_for(target, settings)) {
            return Some(known.clone());
        }
        let login = Login::new(target, settings.clone(), self.login_owner(config, headers));
        retire(current.replace(login.clone()));
        Some(login)
    }

    /// The login that a program is given. One that could not be stored is used again.
    fn given_login_for(
        &self,
        settings: &Arc<AuthConfig>,
        config: &ServerConfig,
        headers: &Arc<ConnectionHeaders>,
    ) -> Option<Arc<Login>> {
        let mut current = lock(&self.given_login);
        let is_newest = |login: &&Arc<Login>| login.is_unstored() && login.has_settings(settings);
        if let Some(known) = current.as_ref().filter(is_newest) {
            return Some(known.clone());
        }
        let owner = self.login_owner(config, headers);
        let login = Login::of_program(&self.server, settings.clone(), owner)?;
        retire(current.replace(login.clone()));
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
        let token = match self.given_login_for(settings, config, headers) {
            Some(login) => login.stored_access().await,
            None => None,
        };
        match token {
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

/// Stores what a login could not store so far, before it is gone.
fn retire(login: Option<Arc<Login>>) {
    if let Some(login) = login.filter(|login| login.is_unstored()) {
        runtime::spawn(async move { login.finish().await });
    }
}

impl Connection {
    /// The logins that it uses.
    pub(crate) fn logins(&self) -> Vec<Arc<Login>> {
        let given = lock(&self.shared.given_login).clone();
        self.login().into_iter().chain(given).collect()
    }

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
