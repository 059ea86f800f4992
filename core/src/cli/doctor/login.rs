//! Owns the checks of the login that is stored for a server.
//! Invariant: no token is shown, and nobody is dialled.

use std::sync::Arc;

use super::finding::{Finding, Verdict};
use crate::cli::advice::server_command;
use crate::cli::display::{quoted_path, short_path};
use crate::config::{AuthConfig, Declared, Grant, Scope};
use crate::error::ErrorKind;
use crate::oauth::{Kept, Mismatch, StoredLogin, UnusableFile, UsableLogin, inspect};
use crate::resolve::{SignIn, Target};
use crate::runtime;
use crate::time::{now_ms, rfc3339};

const CHECK: &str = "login";

/// A server that may ask us to sign in, with what was stored for it at first.
pub(super) struct LoginCheck {
    target: Arc<Target>,
    settings: Arc<AuthConfig>,
    scope: Scope,
    /// Connecting may change it.
    at_first: StoredLogin,
}

impl LoginCheck {
    /// `None` for a server that may not ask.
    pub(super) async fn new(target: Target, scope: &Scope) -> Option<Self> {
        let SignIn::OAuth(settings) = &target.sign_in else { return None };
        let (settings, scope) = (settings.clone(), scope.clone());
        let target = Arc::new(target);
        let at_first = look(&target, &settings, &scope).await;
        Some(LoginCheck { target, settings, scope, at_first })
    }

    /// The findings about the login, after those about the connection.
    pub(super) async fn examine(
        self,
        name: &str,
        declared: &Declared,
        connection: &[Finding],
    ) -> Vec<Finding> {
        let is_auth = |code| {
            [ErrorKind::AuthRequired, ErrorKind::AuthFailed]
                .map(|kind| Some(kind.code()))
                .contains(&code)
        };
        let is_refused = connection.iter().any(|finding| is_auth(finding.code));
        let is_connected = connection.iter().all(|finding| finding.verdict != Verdict::Broken);
        let stored = match is_connected {
            true => look(&self.target, &self.settings, &self.scope).await,
            false => self.at_first,
        };
        let verdict = if is_refused { Verdict::Broken } else { Verdict::Warning };
        let trouble = |text: String, advice: String| {
            // Once is enough.
            let is_said = connection.iter().any(|finding| finding.advice.as_ref() == Some(&advice));
            let finding = Finding { verdict, ..Finding::warning(CHECK, text) };
            vec![if is_said { finding } else { finding.with_advice(advice) }]
        };
        let command = |verb| server_command(verb, name, Some(declared), "");
        let sign_in = || format!("sign in: {}", command("auth"));
        match stored {
            StoredLogin::Absent if is_refused => trouble("not signed in".to_owned(), sign_in()),
            StoredLogin::Absent => Vec::new(),
            StoredLogin::Unusable(file) => {
                let UnusableFile { path, why, is_exposed } = file;
                let path = path.display().to_string();
                let text = format!("the login in {} is not used: {why}", short_path(&path));
                let anew = command("reauth");
                trouble(
                    text,
                    match is_exposed {
                        true => format!(
                            "if nobody else has read it: chmod 600 {}; otherwise: {anew}",
                            quoted_path(&path)
                        ),
                        false => format!("sign in anew: {anew}"),
                    },
                )
            }
            StoredLogin::Other { mismatch, issuer } => {
                trouble(mismatch_text(mismatch, issuer), sign_in())
            }
            StoredLogin::Usable(login) if is_over(&login, self.settings.grant) => {
                let at = login.expires_at_ms.map(rfc3339).unwrap_or_default();
                let text = format!("the token expired at {at}, and there is no refresh token");
                trouble(text, sign_in())
            }
            StoredLogin::Usable(login) => vec![Finding::ok(CHECK, describe(&login))],
        }
    }
}

/// Reads what is stored. The keychain may take its time.
async fn look(target: &Arc<Target>, settings: &Arc<AuthConfig>, scope: &Scope) -> StoredLogin {
    let (target, settings, scope) = (target.clone(), settings.clone(), scope.clone());
    let looked = runtime::unblock(move || Ok(inspect(&target, &settings, &scope))).await;
    looked.unwrap_or(StoredLogin::Absent)
}

/// Whether nothing but a person can renew it.
fn is_over(login: &UsableLogin, grant: Grant) -> bool {
    let needs_person = matches!(grant, Grant::AuthorizationCode | Grant::DeviceCode);
    needs_person && !login.can_refresh && has_expired(login)
}

fn has_expired(login: &UsableLogin) -> bool {
    login.expires_at_ms.is_some_and(|at| at <= now_ms())
}

fn mismatch_text(mismatch: Mismatch, issuer: Option<String>) -> String {
    let is = match mismatch {
        Mismatch::Server => "is for another server".to_owned(),
        Mismatch::Issuer => {
            let issuer = issuer.unwrap_or_else(|| "unknown".to_owned());
            format!("is of the issuer {issuer}, not of \"auth.issuer\"")
        }
    };
    format!("the login {is}")
}

fn describe(login: &UsableLogin) -> String {
    let mut text = "signed in".to_owned();
    if let Some(issuer) = &login.issuer {
        text.push_str(&format!(" at {issuer}"));
    }
    if !login.scopes.is_empty() {
        text.push_str(&format!(", scopes {}", login.scopes.join(" ")));
    }
    match login.expires_at_ms {
        None => {}
        Some(at) if has_expired(login) => {
            text.push_str(&format!(", the token expired at {} and is renewed", rfc3339(at)));
        }
        Some(at) if login.can_refresh => {
            text.push_str(&format!(", the token is valid until {}, then renewed", rfc3339(at)));
        }
        Some(at) => text.push_str(&format!(", the token is valid until {}", rfc3339(at))),
    }
    match &login.kept {
        Kept::Sealed => text.push_str(", sealed with a key of the keychain"),
        Kept::Plain(None) => text.push_str(", in a plain file"),
        Kept::Plain(Some(why)) => text.push_str(&format!(", in a plain file ({why})")),
    }
    text
}
