//! Replaces a token that the server refuses or that is about to expire.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::sign_in::Begin;
use super::stored::blocking;
use super::{Login, SPACING_MS, TOKENS, Token, Unsettled};
use crate::oauth::challenge::Challenge;
use crate::oauth::http::OAuthHttp;
use crate::oauth::jwt::SigningKey;
use crate::oauth::problem::Problem;
use crate::oauth::record::Record;
use crate::oauth::refresh_process::{Order, Report};
use crate::oauth::renewal::{Renewal, RenewalSettings, signing_key};
use crate::oauth::store::{LoginFile, LoginLock, Sealing};
use crate::redact::Secret;
use crate::relaunch::relaunch;
use crate::runtime;
use crate::sync::lock as lock_of;
use crate::time::now_ms;

/// Whether a refresh may be asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MayAsk {
    Yes,
    /// The token is still accepted.
    Ahead,
    No,
}

/// A login that nobody else changes.
struct Taken {
    lock: Option<LoginLock>,
    record: Record,
    refresh: Secret,
}

/// A refresh that got no answer.
pub(super) struct FailedRefresh {
    refresh: Secret,
    at: Instant,
    /// Whether the authorisation server may have used the token up.
    in_doubt: bool,
    problem: Problem,
}

impl Login {
    /// Refreshes a token that expires soon. If that fails, the old one is used as long as the server accepts it.
    pub(super) async fn refresh_ahead(&self, token: Arc<Token>) -> Arc<Token> {
        let Some(me) = self.me.upgrade() else { return token };
        let sent = token.clone();
        let work = runtime::spawn(async move { me.refresh(Some(&sent), MayAsk::Ahead).await });
        if let Ok(Err(problem)) = work.await {
            tracing::debug!(server = &*self.server, "no refresh ahead of time: {}", problem.text());
        }
        self.next_refresh_ms.store(now_ms().saturating_add(SPACING_MS), Ordering::Relaxed);
        self.current.load_full().unwrap_or(token)
    }

    /// Makes sure that there is another token than the refused one.
    pub(super) async fn replace(
        self: &Arc<Self>,
        challenge: &Challenge,
        sent: Option<Arc<Token>>,
        tokens_before: u32,
    ) -> Result<(), Unsettled> {
        // A token that was refreshed for this very request and is refused again will not get better, unless it has
        // expired on the way. Somebody else may have replaced it in any case.
        let may_ask = tokens_before == 0 || sent.as_ref().is_none_or(|token| token.has_expired());
        let may_ask = if may_ask { MayAsk::Yes } else { MayAsk::No };
        match self.refresh(sent.as_ref(), may_ask).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(problem) => return Err(problem.into()),
        }
        if tokens_before >= TOKENS {
            return Err(Problem::refused("the server refuses every token").into());
        }
        self.sign_in(challenge, sent.as_ref(), &[], Begin::IfWanted).await
    }

    /// Whether there is another token than the refused one, refreshed by somebody else or, if we `may_ask`, by us.
    async fn refresh(&self, sent: Option<&Arc<Token>>, may_ask: MayAsk) -> Result<bool, Problem> {
        let asked = Instant::now();
        let _busy = self.busy.lock().await;
        if self.has_other_than(sent) {
            return Ok(true);
        }
        // Whoever waited for a refresh that failed shares its failure.
        let failed = lock_of(&self.failed_refresh).clone();
        if let Some(failed) = failed.as_ref().filter(|failed| failed.at >= asked) {
            return Err(failed.problem.clone());
        }
        // Most servers that refuse a request without a token have no login: nothing is made on disk for them.
        if sent.is_none() && self.read().await.token.is_none() {
            return Ok(false);
        }
        let taken = match self.take(sent, may_ask).await? {
            ControlFlow::Continue(taken) => taken,
            ControlFlow::Break(has_other) => return Ok(has_other),
        };
        // It may be used up: then asking again would end the login. The server still accepts the access token.
        let is_in_doubt =
            failed.is_some_and(|failed| failed.refresh == taken.refresh && failed.in_doubt);
        if may_ask == MayAsk::Ahead && is_in_doubt {
            return Ok(false);
        }
        self.renew(taken, sent).await
    }

    /// The login to refresh, locked; or whether there is another token than the refused one already.
    async fn take(
        &self,
        sent: Option<&Arc<Token>>,
        may_ask: MayAsk,
    ) -> Result<ControlFlow<bool, Taken>, Problem> {
        let lock = self.lock_file().await?;
        let record = self.read().await;
        if self.is_newer(&record, sent) {
            self.adopt_record(&record);
            return Ok(ControlFlow::Break(self.has_other_than(sent)));
        }
        let refresh = record.token.as_ref().and_then(|token| token.refresh.clone());
        let is_usable = may_ask != MayAsk::No && self.is_ours(&record);
        match refresh.filter(|_| is_usable) {
            Some(refresh) => Ok(ControlFlow::Continue(Taken { lock, record, refresh })),
            None => Ok(ControlFlow::Break(false)),
        }
    }

    /// Refreshes the login.
    async fn renew(&self, taken: Taken, sent: Option<&Arc<Token>>) -> Result<bool, Problem> {
        let settings = RenewalSettings::new(&self.endpoints().await, &self.settings);
        let Taken { lock, record, refresh } = taken;
        if lock.is_some()
            && let Some(file) = self.own_file().cloned()
        {
            drop(lock);
            return self.renew_file(file, &refresh, settings, sent).await;
        }
        let dpop = self.dpop_key(&record)?;
        let renewal = settings.renew(record, dpop.as_deref()).await;
        // Stored before it is used: a rotated token that is lost is a lost login.
        if let Some(record) = renewal.record() {
            self.store(record, Sealing::AsBefore, lock).await;
        }
        self.conclude(renewal, &refresh)
    }

    /// Refreshes the login in a file: in another process if that is possible, otherwise here. Either takes the lock.
    async fn renew_file(
        &self,
        file: LoginFile,
        refresh: &Secret,
        settings: RenewalSettings,
        sent: Option<&Arc<Token>>,
    ) -> Result<bool, Problem> {
        let (of, token) = (file.clone(), refresh.clone());
        let order = blocking(move || Order::new(&of, &token, settings)).await;
        let order = order.map_err(|error| Problem::unreachable(error.to_string()))?;
        let mut report = match relaunch() {
            Some(words) => order.give(&words).await,
            None => None,
        };
        if report.is_none() {
            let here = blocking(move || Ok(order.carry_out(&file, || {}))).await;
            report = here.ok().flatten();
        }
        match report {
            Some(Report::Done { renewal, not_stored }) => {
                self.note_not_stored(&renewal, not_stored);
                self.conclude(*renewal, refresh)
            }
            Some(Report::Changed) => {
                self.adopt_record(&self.read().await);
                Ok(self.has_other_than(sent))
            }
            None => Err(Problem::unreachable("another process does not finish signing in")),
        }
    }

    /// Whether there is another token now.
    fn conclude(&self, renewal: Renewal, refresh: &Secret) -> Result<bool, Problem> {
        match renewal {
            Renewal::Renewed(record) => {
                self.adopt_record(&record);
                Ok(true)
            }
            Renewal::Refused(record, problem) => {
                tracing::debug!(server = &*self.server, "the refresh failed: {}", problem.text());
                self.adopt_record(&record);
                Ok(false)
            }
            Renewal::Failed(problem) => {
                self.note_failed_refresh(refresh, &problem);
                Err(problem)
            }
        }
    }

    fn note_failed_refresh(&self, refresh: &Secret, problem: &Problem) {
        let failed = FailedRefresh {
            refresh: refresh.clone(),
            at: Instant::now(),
            in_doubt: problem.is_in_doubt(),
            problem: problem.clone(),
        };
        *lock_of(&self.failed_refresh) = Some(Arc::new(failed));
    }

    pub(super) fn has_other_than(&self, sent: Option<&Arc<Token>>) -> bool {
        match (&*self.current.load(), sent) {
            (Some(current), Some(sent)) => current.access != sent.access,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    fn is_newer(&self, record: &Record, sent: Option<&Arc<Token>>) -> bool {
        match (&record.token, sent) {
            (Some(token), Some(sent)) => token.access != sent.access,
            (token, None) => token.is_some(),
            (None, Some(_)) => false,
        }
    }

    pub(super) fn signing_key(&self) -> Result<Option<SigningKey>, Problem> {
        signing_key(self.settings.private_key.as_ref())
    }

    pub(super) async fn http(&self) -> Result<OAuthHttp, Problem> {
        OAuthHttp::new(&self.endpoints().await)
    }
}
