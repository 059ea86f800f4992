//! Owns what a manager and its children trust: their policy, the trust that the user has stored, and the answers to
//! questions.
//! Invariant: one question per subject, however many callers need the answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::config::{Declared, ScopeTrust, ServerConfig, Subject};
use crate::discover::TrustView;
use crate::error::Error;
use crate::host_env::HostEnv;
use crate::runtime;
use crate::sync::lock;
use crate::trust::{Permit, StoredTrust, Trust, TrustCallback, TrustQuestion, permit};

/// Decides for a manager and its children.
pub(in crate::manager) struct TrustPolicy {
    policy: Trust,
    host_env: HostEnv,
    known: Mutex<HashMap<Arc<Subject>, KnownSubject>>,
}

/// What is known of a subject.
#[derive(Default)]
struct KnownSubject {
    /// Whether the user has stored trust in it, as of the last lookup.
    stored: Option<bool>,
    question: Option<OpenQuestion>,
}

impl KnownSubject {
    fn is_trusted(&self) -> bool {
        let answer = self.question.as_ref().and_then(|question| question.answer.given());
        self.stored == Some(true) || answer == Some(true)
    }
}

/// An open question; asking it again gives the same answer. It ends with the manager.
struct OpenQuestion {
    answer: TrustAnswer,
    asking: AbortHandle,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

/// The answer to an open question, once it is given.
#[derive(Clone)]
pub(super) struct TrustAnswer(watch::Receiver<Option<bool>>);

impl TrustAnswer {
    fn given(&self) -> Option<bool> {
        *self.0.borrow()
    }

    /// Resolves with the answer; if there is nobody to answer, that is a no.
    pub(super) async fn wait(mut self) -> bool {
        let given = self.0.wait_for(Option::is_some).await;
        given.is_ok_and(|answer| *answer == Some(true))
    }
}

/// What a manager decided about a subject.
pub(super) enum TrustDecision {
    Trusted,
    Untrusted,
    Open(TrustAnswer),
}

/// Makes the question about a subject. Reads files, so it must not run on a runtime worker. If the subject has changed
/// since it was found, there is no question: a yes would apply to something else.
pub(super) type MakeQuestion = Box<dyn FnOnce() -> TrustQuestion + Send>;

impl TrustPolicy {
    pub(in crate::manager) fn new(policy: Trust, host_env: HostEnv) -> Arc<TrustPolicy> {
        Arc::new(TrustPolicy { policy, host_env, known: Mutex::default() })
    }

    /// The current trust, for discovery. Reads the store, and returns a problem with it.
    pub(in crate::manager) fn view(&self) -> (impl TrustView + '_, Option<Error>) {
        let (stored, problem) = StoredTrust::load(&self.host_env);
        (PolicyView { policy: self, stored }, problem)
    }

    /// Reads the stored trust of these subjects again; returns a problem with the store.
    pub(super) async fn refresh_stored(&self, subjects: Vec<Arc<Subject>>) -> Option<Error> {
        if subjects.is_empty() || matches!(self.policy, Trust::All | Trust::None) {
            return None;
        }
        let host_env = self.host_env.clone();
        let look_up = move || {
            let (store, problem) = StoredTrust::load(&host_env);
            let stored = subjects.into_iter().map(|subject| {
                let trusted = store.trusts(&subject);
                (subject, trusted)
            });
            (stored.collect::<Vec<_>>(), problem)
        };
        let (stored, problem) = runtime::spawn_blocking(look_up).await.ok()?;
        let mut known = lock(&self.known);
        for (subject, stored) in stored {
            known.entry(subject).or_default().stored = Some(stored);
        }
        problem
    }

    /// Decides about a subject. `question` makes the question, if something is withheld and the policy is to ask.
    pub(super) fn decide(
        &self,
        subject: &Arc<Subject>,
        question: Option<MakeQuestion>,
    ) -> TrustDecision {
        match self.policy {
            Trust::All => return TrustDecision::Trusted,
            Trust::None => return TrustDecision::Untrusted,
            Trust::Stored | Trust::Strict | Trust::Ask(_) => {}
        }
        let mut known = lock(&self.known);
        let known = known.entry(subject.clone()).or_default();
        // Only a call to a server that was never connected gets here first; the file is small.
        known.stored.get_or_insert_with(|| StoredTrust::load(&self.host_env).0.trusts(subject));
        if known.is_trusted() {
            return TrustDecision::Trusted;
        }
        if let (Trust::Ask(callback), None, Some(question)) =
            (&self.policy, &known.question, question)
        {
            known.question = Some(ask(callback, subject, question));
        }
        match &known.question {
            Some(question) if question.answer.given().is_none() => {
                TrustDecision::Open(question.answer.clone())
            }
            _ => TrustDecision::Untrusted,
        }
    }

    pub(super) fn permit(&self, declared: &Declared, decision: &TrustDecision) -> Permit {
        permit(&self.policy, matches!(decision, TrustDecision::Trusted), declared)
    }

    /// The trust level of a definition that may do everything.
    pub(super) fn scope_trust(&self, subject: &Subject) -> ScopeTrust {
        match self.policy {
            Trust::All => ScopeTrust::Always,
            _ => ScopeTrust::As(subject.fingerprint.clone()),
        }
    }
}

struct PolicyView<'a> {
    policy: &'a TrustPolicy,
    stored: StoredTrust,
}

impl TrustView for PolicyView<'_> {
    fn fingerprint(&self, config: &ServerConfig) -> String {
        match self.policy.policy {
            // Everything in it is trusted.
            Trust::All => config.fingerprint(),
            _ => self.stored.fingerprint(config),
        }
    }

    fn trusts(&self, subject: &Subject) -> bool {
        let answered =
            || lock(&self.policy.known).get(subject).is_some_and(KnownSubject::is_trusted);
        match self.policy.policy {
            Trust::All => true,
            Trust::None => false,
            Trust::Stored | Trust::Strict => self.stored.trusts(subject),
            Trust::Ask(_) => self.stored.trusts(subject) || answered(),
        }
    }
}

fn ask(callback: &TrustCallback, subject: &Arc<Subject>, question: MakeQuestion) -> OpenQuestion {
    let (callback, subject) = (callback.clone(), subject.clone());
    // A task of its own, so that a panic counts as a no.
    let asking = runtime::spawn(async move {
        match runtime::spawn_blocking(question).await {
            Ok(question) if question.fingerprint == subject.fingerprint => callback(question).await,
            Ok(_) | Err(_) => false,
        }
    });
    let (sender, answer) = watch::channel(None);
    let abort = asking.abort_handle();
    runtime::spawn(async move {
        let yes = asking.await.unwrap_or(false);
        let _ = sender.send(Some(yes));
    });
    OpenQuestion { answer: TrustAnswer(answer), asking: abort }
}
