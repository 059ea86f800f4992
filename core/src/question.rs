//! Owns asking the program that uses a manager: a question goes to the newest listener of the manager, or, if there is none,
//! to all that listen meanwhile; the answer comes back as JSON. The asker decides what is asked, how long to wait, and what the answer
//! means.
//! Invariant: a question is answered at most once. Until then it stays open: a listener that takes it and leaves
//! without an answer returns it to the others, and a later listener finds it.

use std::future::Future;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::auth_prompt::{AuthPrompt, OnAuth};
use crate::fork::ForkGeneration;
use crate::login_store::{LoginStore, LoginStoreRequest};
use crate::server_request::{
    ElicitationAnswer, ElicitationRequest, OnElicitation, OnSampling, SamplingRequest,
};
use crate::sync::lock;
use crate::trust::{Trust, TrustQuestion};

/// Where a manager's questions meet the listeners that can answer them.
#[derive(Clone, Default)]
pub struct Questions(Arc<Mutex<QuestionsState>>);

#[derive(Default)]
struct QuestionsState {
    next: u64,
    listeners: Vec<Listener>,
    /// Those that are asked while there is no listener. One may belong to a loop that does not run any more.
    meanwhile: Vec<Listener>,
    /// Questions without an answer.
    open: Vec<Question>,
}

impl QuestionsState {
    fn listener(&mut self, notify: impl Fn(Question) + Send + 'static) -> Listener {
        self.next += 1;
        Listener { id: self.next, notify: Box::new(notify) }
    }

    fn untaken(&self) -> impl Iterator<Item = &Question> {
        self.open.iter().filter(|question| question.is_open())
    }

    /// Passes a question on.
    fn notify(&self, question: &Question) {
        match self.listeners.last() {
            Some(newest) => (newest.notify)(question.clone()),
            None => self.meanwhile.iter().for_each(|it| (it.notify)(question.clone())),
        }
    }
}

struct Listener {
    id: u64,
    notify: Box<dyn Fn(Question) + Send>,
}

/// A question; the first listener that takes it answers it.
#[derive(Clone, Debug)]
pub struct Question {
    kind: &'static str,
    text: Arc<str>,
    reply: Arc<Mutex<ReplyState>>,
}

#[derive(Debug)]
enum ReplyState {
    Open(oneshot::Sender<String>),
    Taken,
    Given,
}

/// A question that is being answered; dropping it makes it open again.
pub struct Taken {
    question: Question,
    reply: Option<oneshot::Sender<String>>,
    made_in: ForkGeneration,
}

/// A question to a host language, as JSON: `{"kind": "trust", …}`.
#[derive(Serialize)]
struct QuestionJson<'a, T> {
    kind: &'a str,
    #[serde(flatten)]
    content: &'a T,
}

impl Questions {
    /// Asks; resolves with the answer, or `None` if there can be no listener any more. Dropping the future withdraws
    /// the question.
    pub fn ask<T: Serialize>(
        &self,
        kind: &'static str,
        content: &T,
    ) -> impl Future<Output = Option<String>> + Send + use<T> {
        let (question, answer) = Question::new(kind, content);
        self.post(question);
        answer
    }

    fn post(&self, question: Question) {
        let mut state = lock(&self.0);
        state.open.retain(Question::is_wanted);
        state.notify(&question);
        state.open.push(question);
    }

    /// Adds a listener: `notify` is called with questions while the guard is held. It must return at once.
    pub fn listen(&self, notify: impl Fn(Question) + Send + 'static) -> Listening {
        let mut state = lock(&self.0);
        // Earlier listeners may be busy, or may have left without an answer.
        state.untaken().for_each(|question| notify(question.clone()));
        let listener = state.listener(notify);
        let id = listener.id;
        state.listeners.push(listener);
        Listening { questions: self.clone(), id, made_in: ForkGeneration::current() }
    }

    /// Adds a listener that is asked while there is no other; whoever takes a question first answers it.
    pub fn listen_meanwhile(&self, notify: impl Fn(Question) + Send + 'static) -> Listening {
        let mut state = lock(&self.0);
        if state.listeners.is_empty() {
            state.untaken().for_each(|question| notify(question.clone()));
        }
        let listener = state.listener(notify);
        let id = listener.id;
        state.meanwhile.push(listener);
        Listening { questions: self.clone(), id, made_in: ForkGeneration::current() }
    }

    /// The trust policy of a manager that asks this way: `true` is trust, everything else is not; a text is an error
    /// message.
    pub fn trust(&self) -> Trust {
        let questions = self.clone();
        Trust::Ask(Arc::new(move |question: TrustQuestion| {
            let (server, answer) = (question.server.clone(), questions.ask("trust", &question));
            Box::pin(async move { is_yes(&server, answer.await) })
        }))
    }

    /// The sign-in callback of a manager that asks this way. The answer is `{"redirect_url": "…"}`, or anything else if
    /// that is not known.
    pub fn on_auth(&self) -> OnAuth {
        let questions = self.clone();
        OnAuth::new(move |prompt: AuthPrompt| {
            let answer = questions.ask("auth", &prompt);
            async move {
                let answer: AuthAnswer = serde_json::from_str(&answer.await?).ok()?;
                answer.redirect_url
            }
        })
    }

    /// The store of logins of a manager that asks this way. The answer is `{"value": …}` with a text or null; anything else
    /// is a failure.
    pub fn login_store(&self) -> LoginStore {
        let questions = self.clone();
        LoginStore::new(move |request: LoginStoreRequest| {
            let answer = questions.ask("login_store", &request);
            async move {
                let answer = answer.await.unwrap_or_default();
                let answer: Result<LoginStoreAnswer, _> = serde_json::from_str(&answer);
                answer.map(|answer| answer.value).map_err(|_| "the callback failed".to_owned())
            }
        })
    }

    /// The sampling callback of a manager that asks this way. The answer is `{"value": …}` with the message, its text or
    /// null; anything else is a refusal.
    pub fn on_sampling(&self) -> OnSampling {
        let questions = self.clone();
        OnSampling::new(move |request: SamplingRequest| {
            let answer = questions.ask("sampling", &request);
            async move { read_value(answer.await).filter(|value| !value.is_null()) }
        })
    }

    /// The elicitation callback of a manager that asks this way. The answer is `{"value": …}` with an action and its
    /// content; anything else cancels.
    pub fn on_elicitation(&self) -> OnElicitation {
        let questions = self.clone();
        OnElicitation::new(move |request: ElicitationRequest| {
            let answer = questions.ask("elicitation", &request);
            async move {
                let answer = read_value(answer.await).and_then(ElicitationAnswer::from_value);
                answer.unwrap_or(ElicitationAnswer::Cancel)
            }
        })
    }

    fn leave(&self, id: u64) {
        let mut state = lock(&self.0);
        let was_newest = state.listeners.last().is_some_and(|listener| listener.id == id);
        state.listeners.retain(|listener| listener.id != id);
        state.meanwhile.retain(|listener| listener.id != id);
        if was_newest {
            state.untaken().for_each(|question| state.notify(question));
        }
    }
}

#[derive(Deserialize)]
struct LoginStoreAnswer {
    value: Option<String>,
}

fn read_value(answer: Option<String>) -> Option<Value> {
    #[derive(Deserialize)]
    struct Answer {
        value: Value,
    }
    serde_json::from_str(&answer?).ok().map(|Answer { value }| value)
}

#[derive(Deserialize)]
struct AuthAnswer {
    redirect_url: Option<String>,
}

fn is_yes(server: &str, answer: Option<String>) -> bool {
    if let Some(problem) = answer.as_deref().and_then(|json| serde_json::from_str(json).ok()) {
        let problem: String = problem;
        tracing::warn!(server, "The trust callback failed, so the answer is no: {problem}");
    }
    answer.as_deref() == Some("true")
}

/// A registered listener.
pub struct Listening {
    questions: Questions,
    id: u64,
    made_in: ForkGeneration,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // In a forked child, a thread that does not exist there may hold the lock.
        if !self.made_in.is_inherited() {
            self.questions.leave(self.id);
        }
    }
}

impl Question {
    /// A question and the future of its answer. Dropping the future withdraws the question.
    pub(crate) fn new<T: Serialize>(
        kind: &'static str,
        content: &T,
    ) -> (Question, impl Future<Output = Option<String>> + Send + use<T>) {
        // The core's own types always serialise; anything else would be a bug.
        let text = serde_json::to_string(&QuestionJson { kind, content }).unwrap_or_default();
        let (reply, answer) = oneshot::channel();
        let reply = Arc::new(Mutex::new(ReplyState::Open(reply)));
        (Question { kind, text: text.into(), reply }, async move { answer.await.ok() })
    }

    /// The kind of question: `trust`, `approval`, `identity`, `auth`, `login_store`, `sampling` or `elicitation`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Takes the question, unless another listener has it.
    pub fn take(&self) -> Option<Taken> {
        let mut reply = lock(&self.reply);
        if !reply.is_open() {
            return None;
        }
        match std::mem::replace(&mut *reply, ReplyState::Taken) {
            ReplyState::Open(sender) => Some(Taken {
                question: self.clone(),
                reply: Some(sender),
                made_in: ForkGeneration::current(),
            }),
            ReplyState::Taken | ReplyState::Given => None,
        }
    }

    fn is_open(&self) -> bool {
        lock(&self.reply).is_open()
    }

    /// Whether an answer is still useful.
    fn is_wanted(&self) -> bool {
        let reply = lock(&self.reply);
        reply.is_open() || matches!(*reply, ReplyState::Taken)
    }
}

impl ReplyState {
    fn is_open(&self) -> bool {
        matches!(self, ReplyState::Open(sender) if !sender.is_closed())
    }
}

impl Taken {
    /// The question, as JSON with a `kind`.
    pub fn text(&self) -> &str {
        &self.question.text
    }

    /// Whether the answer is still awaited.
    pub fn is_wanted(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_closed())
    }

    /// Answers with JSON.
    pub fn answer(mut self, json: impl Into<String>) {
        *lock(&self.question.reply) = ReplyState::Given;
        if let Some(reply) = self.reply.take() {
            // The asker may be gone.
            let _ = reply.send(json.into());
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        match self.reply.take() {
            // In a forked child, the parent has to answer.
            Some(reply) if self.made_in.is_inherited() => std::mem::forget(reply),
            Some(reply) => *lock(&self.question.reply) = ReplyState::Open(reply),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;

    fn listen_to(questions: &Questions) -> (Listening, mpsc::Receiver<Question>) {
        let (notify, heard) = mpsc::channel();
        let listening = questions.listen(move |question| notify.send(question).unwrap());
        (listening, heard)
    }

    #[test]
    fn a_question_without_a_listener_waits_for_one() {
        let questions = Questions::default();
        let answer = questions.ask("trust", &json!({}));
        let (_listening, heard) = listen_to(&questions);
        heard.recv().unwrap().take().unwrap().answer("0");
        assert_eq!(answer.now_or_never(), Some(Some("0".to_owned())));
    }

    #[test]
    fn an_answer_comes_back() {
        let questions = Questions::default();
        let (_listening, heard) = listen_to(&questions);
        let answer = questions.ask("trust", &json!({"server": "a"}));
        let taken = heard.recv().unwrap().take().unwrap();
        assert_eq!(taken.text(), r#"{"kind":"trust","server":"a"}"#);
        taken.answer("true");
        assert_eq!(answer.now_or_never(), Some(Some("true".to_owned())));
    }

    #[test]
    fn a_question_passes_to_the_remaining_listener_and_is_taken_once() {
        let questions = Questions::default();
        let (_first, heard_first) = listen_to(&questions);
        let (second, heard_second) = listen_to(&questions);
        let answer = questions.ask("trust", &json!({}));
        assert!(heard_first.try_recv().is_err());
        let late = heard_second.recv().unwrap();
        drop(second);
        heard_first.recv().unwrap().take().unwrap().answer("1");
        assert!(late.take().is_none());
        assert_eq!(answer.now_or_never(), Some(Some("1".to_owned())));
    }

    #[test]
    fn a_later_listener_can_take_an_open_question() {
        let questions = Questions::default();
        let (_busy, _heard) = listen_to(&questions);
        let answer = questions.ask("trust", &json!({}));
        let (_fresh, heard) = listen_to(&questions);
        heard.recv().unwrap().take().unwrap().answer("2");
        assert_eq!(answer.now_or_never(), Some(Some("2".to_owned())));
    }

    #[test]
    fn a_listener_of_the_lowest_priority_is_asked_last() {
        let questions = Questions::default();
        let (notify, heard_last) = mpsc::channel();
        let (listening, _heard) = listen_to(&questions);
        let _watching =
            questions.listen_meanwhile(move |question: Question| notify.send(question).unwrap());
        let answer = questions.ask("trust", &json!({}));
        assert!(heard_last.try_recv().is_err());
        drop(listening);
        heard_last.recv().unwrap().take().unwrap().answer("3");
        assert_eq!(answer.now_or_never(), Some(Some("3".to_owned())));
    }

    #[test]
    fn a_question_without_a_listener_goes_to_all_that_listen_meanwhile() {
        let questions = Questions::default();
        let (notify, heard) = mpsc::channel();
        let _dead = questions.listen_meanwhile(|_| {});
        let _watching =
            questions.listen_meanwhile(move |question: Question| notify.send(question).unwrap());
        let _dead_too = questions.listen_meanwhile(|_| {});
        let answer = questions.ask("trust", &json!({}));
        heard.recv().unwrap().take().unwrap().answer("5");
        assert_eq!(answer.now_or_never(), Some(Some("5".to_owned())));
    }

    #[test]
    fn a_question_that_was_taken_and_dropped_is_open_again() {
        let questions = Questions::default();
        let (listening, heard) = listen_to(&questions);
        let answer = questions.ask("trust", &json!({}));
        let taken = heard.recv().unwrap().take().unwrap();
        let (first, heard) = listen_to(&questions);
        assert!(heard.try_recv().is_err(), "somebody has it");
        drop((taken, listening, first));
        let (_next, heard) = listen_to(&questions);
        heard.recv().unwrap().take().unwrap().answer("4");
        assert_eq!(answer.now_or_never(), Some(Some("4".to_owned())));
        let (_late, heard) = listen_to(&questions);
        assert!(heard.try_recv().is_err(), "it has been answered");
    }

    #[test]
    fn a_withdrawn_question_reaches_no_listener() {
        let questions = Questions::default();
        drop(questions.ask("trust", &json!({})));
        let (_listening, heard) = listen_to(&questions);
        assert!(heard.try_recv().is_err());
    }
}
