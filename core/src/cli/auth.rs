//! Owns `mcpool auth`, `reauth` and `unauth`: signing in to one server and out again. `prompt` asks the person. Leaves the
//! sign-in itself to `crate::oauth`, and the login that it stores.
//! Invariant: no token is printed.

use clap::Args;
use serde_json::json;

use super::advice::advised;
use super::connect::print_value_warnings;
use super::progress::with_progress;
use super::screen::Screen;
use super::sources::Sources;
use super::terminal::Tint;
use super::work::{with_manager, without_restarts};
use super::{CommandResult, FAILED, OK};
use crate::config::{AuthConfig, Config};
use crate::error::{Error, ErrorKind};
use crate::manager::{AuthorizeOptions, Manager, ManagerOptions};

mod browser;
mod prompt;

const EXAMPLES: &str = "\
Examples:
  mcpool auth docs                     opens the page of the server in your browser
  mcpool auth docs --no-browser        paste the address that the browser ends at
  mcpool auth docs --device            type a code on another device
  mcpool auth docs --scope 'read write'

The address is printed in any case. You have five minutes to sign in; the login is
kept in a file that only you can read, and used by every program with mcpool.
With --json, there is one object for the question and one for the outcome, each on
its own line.";

const REAUTH_EXAMPLES: &str = "\
Examples:
  mcpool reauth docs                   as somebody else, or after a change there
  mcpool reauth docs --no-browser

The login that there is is forgotten first, as by \"mcpool unauth\".";

const UNAUTH_EXAMPLES: &str = "\
Examples:
  mcpool unauth docs

The login is removed from this machine, and the authorisation server is told that
its tokens are not needed any more.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Auth {
    #[command(flatten)]
    sign_in: SignInArgs,
}

#[derive(Args)]
#[command(after_help = REAUTH_EXAMPLES)]
pub(super) struct Reauth {
    #[command(flatten)]
    sign_in: SignInArgs,
}

#[derive(Args)]
#[command(after_help = UNAUTH_EXAMPLES)]
pub(super) struct Unauth {
    /// The server
    name: String,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Args)]
struct SignInArgs {
    /// The server
    name: String,
    /// Open no browser; read from stdin where it was sent back to
    #[arg(long, conflicts_with = "device")]
    no_browser: bool,
    /// Sign in with a browser on another device, by a code
    #[arg(long)]
    device: bool,
    /// Ask for these scopes too, with a new login; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    #[command(flatten)]
    sources: Sources,
}

impl Auth {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        // A login with fewer scopes would be taken for what was asked for.
        let is_fresh = !self.sign_in.scopes.is_empty();
        self.sign_in.run(is_fresh, screen)
    }
}

impl Reauth {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        self.sign_in.run(true, screen)
    }
}

impl SignInArgs {
    fn run(self, is_fresh: bool, screen: &mut Screen) -> CommandResult {
        let found = self.sources.find()?;
        found.check_name(&self.name)?;
        let mut config = without_restarts(found.config.clone());
        self.add_scopes(&mut config);
        with_manager(config, ManagerOptions::default(), screen, async |manager, screen| {
            let signed_in = self.sign_in(manager, is_fresh, screen).await;
            screen.waiting_for("");
            print_value_warnings(manager, &found.config, screen);
            let head = format!("Failed to sign in to \"{}\":", self.name);
            match signed_in {
                Ok(is_new) => self.print_success(is_new, screen),
                Err(error) => return failed(&self.name, &found.config, error, &head, screen),
            }
            Ok(OK)
        })
    }

    fn add_scopes(&self, config: &mut Config) {
        let declared = config.servers.get_mut(&self.name).filter(|_| !self.scopes.is_empty());
        if let Some(Ok(server)) = declared.map(|declared| &mut declared.config) {
            let scopes = &mut server.auth.get_or_insert_with(AuthConfig::default).scopes;
            let named = self.scopes.iter().flat_map(|named| named.split_whitespace());
            scopes.extend(named.map(str::to_owned));
        }
    }

    /// Returns whether somebody had to sign in.
    async fn sign_in(
        &self,
        manager: &Manager,
        is_fresh: bool,
        screen: &mut Screen,
    ) -> crate::error::Result<bool> {
        let options = AuthorizeOptions::default().fresh(is_fresh).device(self.device);
        let servers = [self.name.clone()];
        let begun = manager.begin_auth(&self.name, options);
        let Some(open) = with_progress(manager, &servers, screen, begun).await? else {
            return Ok(false);
        };
        prompt::print(open.prompt(), self.no_browser, screen);
        let page = open.prompt().clone();
        tokio::select! {
            biased;
            ended = open.finish() => ended.map(|()| true),
            error = prompt::assist(&page, self.no_browser, manager, screen) => Err(error),
        }
    }

    fn print_success(&self, is_new: bool, screen: &mut Screen) {
        let name = &self.name;
        screen.record(&json!({"server": name, "ok": true, "signed_in": is_new}));
        match is_new {
            true => screen.say(format!("Signed in to \"{name}\"")),
            false => screen.say(format!("\"{name}\" is connected: there is nothing to do")),
        }
    }
}

impl Unauth {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let (found, name) = (self.sources.find()?, self.name.as_str());
        found.check_name(name)?;
        let config = without_restarts(found.config.clone());
        with_manager(config, ManagerOptions::default(), screen, async |manager, screen| {
            let was_there = match manager.forget_login(name).await {
                Ok(was_there) => was_there,
                Err(error) => {
                    let head = format!("Failed to sign out of \"{name}\":");
                    return failed(name, &found.config, error, &head, screen);
                }
            };
            screen.record(&json!({"server": name, "ok": true, "removed": was_there}));
            match was_there {
                true => screen.say(format!("Signed out of \"{name}\"")),
                false => {
                    screen.note(Tint::Dim, "Note:", &format!("there was no login for \"{name}\""));
                }
            }
            Ok(OK)
        })
    }
}

/// Reports a failure.
fn failed(
    name: &str,
    config: &Config,
    error: Error,
    head: &str,
    screen: &mut Screen,
) -> CommandResult {
    let error = match error.kind() {
        // The usual advice is to sign in.
        ErrorKind::AuthRequired | ErrorKind::AuthFailed => error,
        _ => advised(name, config.servers.get(name), error),
    };
    screen.trouble(head, &error);
    screen.record(&json!({"server": name, "ok": false, "error": error}));
    Ok(FAILED)
}
