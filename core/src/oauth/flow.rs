//! Owns one sign-in of a person, from the page that is opened to the code that comes back.
//! Invariant: an answer is taken once, only with the state of this flow, and only from the issuer that was asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use url::{Url, form_urlencoded};

use super::client::Client;
use super::discovery::Discovered;
use super::dpop::DpopKey;
use super::problem::Problem;
use super::random::{hash, random_text};
use crate::auth_prompt::AuthPrompt;
use crate::config::AuthConfig;
use crate::redact::Secret;

/// How long a person may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);
/// The parameters that settings cannot change.
const OURS: &[&str] = &[
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "scope",
    "grant_type",
    "code",
    "code_verifier",
    "refresh_token",
    "client_secret",
    "client_assertion",
    "client_assertion_type",
];

/// What a sign-in is for, and as whom we ask.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) found: Discovered,
    pub(super) client: Client,
    pub(super) scopes: Vec<String>,
    pub(super) dpop: Option<Arc<DpopKey>>,
}

pub(crate) struct Flow {
    pub(crate) prompt: AuthPrompt,
    pub(super) request: Request,
    pub(super) way: Way,
    is_taken: AtomicBool,
    is_announced: AtomicBool,
    state: watch::Sender<FlowState>,
}

/// How the answer comes.
pub(super) enum Way {
    /// With a browser that returns to us.
    Code { state: String, verifier: Secret, redirect_uri: String },
    /// By asking again and again.
    Device { code: Secret, interval: Duration },
}

#[derive(Clone)]
enum FlowState {
    /// Nobody was asked yet.
    New,
    /// Somebody was asked, and has not answered.
    Asked,
    /// Nobody answers here; the browser may still return.
    Unattended,
    Done(Result<(), Problem>),
}

impl Flow {
    pub(super) fn new(prompt: AuthPrompt, request: Request, way: Way) -> Self {
        let (state, _) = watch::channel(FlowState::New);
        Flow {
            prompt,
            request,
            way,
            is_taken: AtomicBool::new(false),
            is_announced: AtomicBool::new(false),
            state,
        }
    }

    /// Whether a redirected URL belongs to it.
    pub(crate) fn has_state(&self, of: &str) -> bool {
        matches!(&self.way, Way::Code { state, .. } if state == of)
    }

    pub(crate) fn is_by_device(&self) -> bool {
        matches!(self.way, Way::Device { .. })
    }

    /// Marks that it was told of; returns whether it was not before.
    pub(super) fn announce(&self) -> bool {
        !self.is_announced.swap(true, Ordering::Relaxed)
    }

    /// The code of an answer.
    pub(super) fn code(&self, callback: &Callback) -> Result<String, CallbackError> {
        let is_ours = callback.state.as_deref().is_some_and(|state| self.has_state(state));
        if !is_ours || self.is_over() {
            return Err(CallbackError::Stranger);
        }
        if self.is_taken.swap(true, Ordering::AcqRel) {
            return Err(CallbackError::Again);
        }
        self.check_issuer(callback.iss.as_deref()).map_err(CallbackError::Refused)?;
        if let Some(code) = &callback.error {
            let what = "the sign-in was refused";
            let description = callback.error_description.as_deref();
            return Err(CallbackError::Refused(Problem::by_code(what, code, description)));
        }
        let missing = || CallbackError::Refused(Problem::refused("the answer has no code"));
        callback.code.clone().ok_or_else(missing)
    }

    /// Nothing of an answer from elsewhere is shown.
    fn check_issuer(&self, iss: Option<&str>) -> Result<(), Problem> {
        let Discovered { issuer, metadata, .. } = &self.request.found;
        match iss {
            Some(iss) if iss == issuer => Ok(()),
            Some(_) => Err(Problem::refused("the answer came from another authorisation server")),
            None if metadata.sends_iss => Err(Problem::refused(
                "the answer does not say which authorisation server it is from",
            )),
            None => Ok(()),
        }
    }

    /// Marks that somebody is asked; returns whether nobody was before.
    pub(super) fn ask(&self) -> bool {
        let mut is_new = false;
        self.state.send_if_modified(|state| {
            is_new = matches!(state, FlowState::New);
            if is_new {
                *state = FlowState::Asked;
            }
            is_new
        });
        is_new
    }

    /// Nobody answers here.
    pub(super) fn leave_unattended(&self) {
        self.state.send_if_modified(|state| {
            let is_open = !matches!(state, FlowState::Done(_));
            if is_open {
                *state = FlowState::Unattended;
            }
            is_open
        });
    }

    pub(super) fn end(&self, outcome: Result<(), Problem>) {
        self.state.send_if_modified(|state| {
            let is_open = !matches!(state, FlowState::Done(_));
            if is_open {
                *state = FlowState::Done(outcome);
            }
            is_open
        });
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(*self.state.borrow(), FlowState::Done(_))
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) -> Result<(), Problem> {
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| matches!(state, FlowState::Done(_))).await;
        match ended.as_deref() {
            Ok(FlowState::Done(outcome)) => outcome.clone(),
            _ => Err(Problem::refused("the sign-in was given up")),
        }
    }

    /// Waits as long as somebody who was asked may answer; `None` if nobody does.
    pub(super) async fn answered(&self) -> Option<Result<(), Problem>> {
        let mut state = self.state.subscribe();
        let is_settled =
            |state: &FlowState| matches!(state, FlowState::Done(_) | FlowState::Unattended);
        match state.wait_for(is_settled).await.as_deref() {
            Ok(FlowState::Done(outcome)) => Some(outcome.clone()),
            _ => None,
        }
    }
}

/// A new authorisation request: its URL and what the answer is checked with.
pub(super) fn authorization(
    endpoint: &Url,
    request: &Request,
    settings: &AuthConfig,
    redirect_uri: &str,
) -> Result<(Url, Way), Problem> {
    let state = random_text().map_err(Problem::from_error)?;
    let verifier = random_text().map_err(Problem::from_error)?;
    let mut url = endpoint.clone();
    let known: Vec<String> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
    if known.iter().any(|name| OURS.contains(&name.as_str())) {
        return Err(Problem::refused("the \"authorization_endpoint\" contains our parameters"));
    }
    {
        let mut query = url.query_pairs_mut();
        query.append_pair("response_type", "code");
        query.append_pair("client_id", &request.client.id);
        query.append_pair("redirect_uri", redirect_uri);
        query.append_pair("state", &state);
        query.append_pair("code_challenge", &hash(&verifier));
        query.append_pair("code_challenge_method", "S256");
        for (name, value) in common_params(&request.found, &request.scopes) {
            query.append_pair(name, &value);
        }
        if let Some(key) = &request.dpop {
            query.append_pair("dpop_jkt", &key.thumbprint());
        }
        let wants_consent = request.scopes.iter().any(|scope| scope == "offline_access");
        if wants_consent && !settings.params.contains_key("prompt") {
            query.append_pair("prompt", "consent");
        }
        for (name, value) in extra_params(settings) {
            query.append_pair(name, value);
        }
    }
    let way =
        Way::Code { state, verifier: Secret::new(verifier), redirect_uri: redirect_uri.to_owned() };
    Ok((url, way))
}

/// The parameters of every request.
pub(super) fn common_params<'a>(found: &Discovered, scopes: &[String]) -> Vec<(&'a str, String)> {
    let mut params = Vec::new();
    if let Some(resource) = &found.resource {
        params.push(("resource", resource.clone()));
    }
    if !scopes.is_empty() {
        params.push(("scope", scopes.join(" ")));
    }
    params
}

/// The parameters that the settings add.
pub(super) fn extra_params(settings: &AuthConfig) -> impl Iterator<Item = (&str, &str)> {
    let pairs = settings.params.iter().map(|(name, value)| (name.as_str(), value.expose()));
    pairs.filter(|(name, _)| !OURS.contains(name))
}

/// The answer to a request for authorisation.
#[derive(Default)]
pub(crate) struct Callback {
    pub(crate) state: Option<String>,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

/// Why an answer is not used.
pub(super) enum CallbackError {
    /// It does not belong to the flow.
    Stranger,
    /// There was one before.
    Again,
    Refused(Problem),
}

impl Callback {
    pub(crate) fn read(query: &str) -> Self {
        let mut callback = Callback::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let member = match &*name {
                "state" => &mut callback.state,
                "code" => &mut callback.code,
                "iss" => &mut callback.iss,
                "error" => &mut callback.error,
                "error_description" => &mut callback.error_description,
                _ => continue,
            };
            // The first of several counts.
            member.get_or_insert_with(|| value.into_owned());
        }
        callback
    }
}
