//! Owns the rounds of a request that the server answers with questions (`input_required`, where the protocol has no
//! handshake): the managers answer, and the same request is sent again with the answers.
//! Invariant: a call stays in the table under its first id while its rounds go on, so that it is cancelled, times out and
//! ends as any other. Rounds and questions are bounded. A state is sent back as it came, and only with its own request.

use std::collections::HashSet;
use std::fmt::Write;

use bytes::Bytes;
use futures_util::future::try_join_all;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Session;
use super::message::read_object;
use super::repeated_call::RepeatedCall;
use super::server_requests::answer;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::result::ManagerId;
use crate::runtime;
use crate::server_request::Feature;
use crate::sync::lock;
use crate::wire::Flush;

/// How many times a server may answer one request with questions.
pub(super) const ROUNDS: u8 = 16;

/// The questions in an answer.
pub(super) struct InputRequests {
    requests: Requests,
    /// As the server wrote it.
    state: Option<Box<str>>,
}

impl InputRequests {
    /// Reads an answer; `None` if it is a result. What is neither is an error.
    pub(super) fn read(answer: &[u8]) -> Option<Result<InputRequests>> {
        if is_complete(answer) {
            return None;
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer<'a> {
            #[serde(borrow, default)]
            result_type: Option<&'a RawValue>,
            #[serde(borrow, default)]
            input_requests: Option<&'a RawValue>,
            #[serde(borrow, default)]
            request_state: Option<&'a RawValue>,
        }
        let answer: Answer<'_> = read_object(answer, std::marker::PhantomData).ok()?;
        match answer.result_type?.get() {
            "\"complete\"" => return None,
            "\"input_required\"" => {}
            _ => return Some(Err(unreadable("is of a kind that is not known"))),
        }
        let requests = match read_requests(answer.input_requests.map_or("{}", RawValue::get)) {
            Ok(requests) => requests,
            Err(error) => return Some(Err(error)),
        };
        if requests.is_empty() && answer.request_state.is_none() {
            return Some(Err(unreadable("asks for input and does not say which")));
        }
        let state = answer.request_state.map(|state| state.get().into());
        Some(Ok(InputRequests { requests, state }))
    }

    /// The questions of a task, by the member that has them.
    pub(super) fn of_task(requests: &RawValue) -> Result<InputRequests> {
        Ok(InputRequests { requests: read_requests(requests.get())?, state: None })
    }

    /// Those that have no answer yet.
    pub(super) fn without(mut self, answered: &HashSet<String>) -> Self {
        self.requests.retain(|key, _| !answered.contains(key));
        self
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// The members that the repeated request has besides its own, each after a comma.
    fn members(&self, answers: &IndexMap<String, Value>) -> String {
        let mut members = String::new();
        if !answers.is_empty() {
            let _ = write!(members, ",\"inputResponses\":{}", json!(answers));
        }
        if let Some(state) = &self.state {
            let _ = write!(members, ",\"requestState\":{state}");
        }
        members
    }
}

/// Questions by their keys: the method, and the parameters as written.
type Requests = IndexMap<String, (String, Box<str>)>;

fn read_requests(requests: &str) -> Result<Requests> {
    #[derive(Deserialize)]
    struct Request<'a> {
        method: String,
        #[serde(borrow, default)]
        params: Option<&'a RawValue>,
    }
    let requests = serde_json::from_str::<IndexMap<String, Request<'_>>>(requests)
        .map_err(|_| unreadable("asks for input that cannot be read"))?;
    let written = requests.into_iter().map(|(key, request)| {
        (key, (request.method, request.params.map_or("{}", RawValue::get).into()))
    });
    Ok(written.collect())
}

impl Session {
    /// If a call was answered with questions, answers them and sends it again. Returns whether that is so.
    pub(super) fn begin_round(&self, id: u64, outcome: &Result<Bytes, Error>) -> bool {
        let (true, Ok(result)) = (self.is_stateless(), outcome) else { return false };
        let input = match InputRequests::read(result) {
            None => return false,
            Some(Ok(input)) => input,
            Some(Err(error)) => {
                self.finish_request(id, Err(error));
                return true;
            }
        };
        let begun = lock(&self.table).begin_round(id);
        let (manager, again) = match begun {
            None => return false,
            Some((manager, Ok(again))) => (manager, again),
            Some((_, Err(()))) => {
                let error = asks_too_often().with_executed(Executed::Unknown);
                self.finish_request(id, Err(error));
                return true;
            }
        };
        let (session, server) = (self.me.clone(), self.server.to_string());
        self.pause_calls(Some(id));
        let task = async move {
            let Some(strong) = session.upgrade() else { return };
            let answering = strong.answer_inputs(&input, manager, server);
            let answers = answering.await;
            if !strong.open_requests.end(&round_key(id)) {
                return;
            }
            strong.resume_calls(Some(id));
            match answers {
                Ok(answers) => strong.send_again(id, again.with_members(&input.members(&answers))),
                Err(error) => strong.finish_request(id, Err(error)),
            }
        };
        if !self.open_requests.spawn(&round_key(id), self.limits.server_requests, task) {
            self.resume_calls(Some(id));
            self.finish_request(id, Err(asks_too_much().with_executed(Executed::Unknown)));
        }
        true
    }

    /// Sends a call once more, under an id of its own.
    fn send_again(&self, id: u64, again: RepeatedCall) {
        let next = self.next_id();
        let message = again.message(next);
        let is_open = self.change_table(|table| table.continue_as(id, next));
        let Some(wire) = self.wire.get().filter(|_| is_open) else { return };
        if let Err(error) = wire.send(message, Some(next), Flush::Now) {
            self.finish_request(
                id,
                Err(error.with_server(&self.server).with_executed(Executed::Unknown)),
            );
        }
    }

    /// Sends a request of a caller, and answers the questions that the server has about it.
    pub(crate) async fn ask_server(
        &self,
        manager: ManagerId,
        method: &str,
        params: &Value,
    ) -> Result<Bytes> {
        let mut params = params.clone();
        for _ in 0..=ROUNDS {
            let answer = self.request_for_caller(method, &params).await?;
            let input = self.is_stateless().then(|| InputRequests::read(&answer)).flatten();
            let Some(input) = input.transpose()? else { return Ok(answer) };
            let server = self.server.to_string();
            let answers = self.answer_inputs(&input, Some(manager), server).await?;
            // Those of the round before are gone.
            for name in ["inputResponses", "requestState"] {
                params.as_object_mut().map(|params| params.remove(name));
            }
            if !answers.is_empty() {
                params["inputResponses"] = json!(answers);
            }
            if let Some(state) = &input.state {
                params["requestState"] = serde_json::from_str(state).unwrap_or_default();
            }
        }
        Err(asks_too_often().with_server(&self.server))
    }

    /// The answers of a manager to questions, by their keys.
    pub(super) async fn answer_inputs(
        &self,
        input: &InputRequests,
        manager: Option<ManagerId>,
        server: String,
    ) -> Result<IndexMap<String, Value>> {
        if input.requests.len() > self.limits.server_requests {
            return Err(asks_too_much().with_server(&self.server));
        }
        let answers = input.requests.iter().map(|(key, (method, params))| {
            let (server, params) = (server.clone(), params.clone());
            async move {
                let feature = Feature::from_method(method);
                let answering = feature.and_then(|feature| {
                    Some((feature, self.subscribers.answering(feature, manager)?))
                });
                let Some((feature, manager)) = answering else {
                    return Err(self.not_offered(method));
                };
                let given = runtime::in_own_task(answer(feature, manager, server, params)).await;
                let given = given.unwrap_or_else(|| feature.unanswered());
                let given = given.map_err(|refusal| {
                    let text =
                        format!("The tool wanted an answer to {method}: {}", refusal.message);
                    Error::new(ErrorKind::ToolRejected, text)
                        .with_server(&self.server)
                        .with_executed(Executed::Unknown)
                })?;
                Ok((key.clone(), given))
            }
        });
        try_join_all(answers).await.map(|answers| answers.into_iter().collect())
    }

    fn not_offered(&self, method: &str) -> Error {
        let method = self.mask().text(&method.chars().take(100).collect::<String>()).into_owned();
        let text = format!("The server asks for {method}, which this manager does not offer");
        Error::new(ErrorKind::ToolRejected, text)
            .with_server(&self.server)
            .with_executed(Executed::Unknown)
            .with_hint("give the manager on_elicitation, on_sampling or roots")
    }
}

/// Whether an answer is a result by its text. Most are, and are not parsed here.
fn is_complete(answer: &[u8]) -> bool {
    const KIND: &[u8] = b"\"resultType\"";
    match memchr::memmem::find(answer, KIND) {
        None => true,
        Some(at) => {
            let is_only = memchr::memmem::find(&answer[at + KIND.len()..], KIND).is_none();
            is_only && answer[at + KIND.len()..].starts_with(b":\"complete\"")
        }
    }
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::ProtocolError, format!("The server's answer {what}"))
        .with_executed(Executed::Unknown)
}

/// The key of a call's round among the open requests. No id of a server is written like this.
pub(super) fn round_key(id: u64) -> String {
    format!("round of {id}")
}

pub(super) fn asks_too_often() -> Error {
    let text = format!("The server asks more than {ROUNDS} times");
    Error::new(ErrorKind::LimitExceeded, text)
}

pub(super) fn asks_too_much() -> Error {
    Error::new(ErrorKind::LimitExceeded, "The server asks too many questions at once")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::message;

    #[test]
    fn a_result_is_no_question() {
        for result in [
            r#"{"content":[{"type":"text","text":"input_required"}]}"#,
            r#"{"resultType":"complete","structuredContent":{"resultType":"input_required"}}"#,
            r#"{"content":[],"x":"input_required"}"#,
        ] {
            assert!(InputRequests::read(result.as_bytes()).is_none(), "{result}");
        }
    }

    #[test]
    fn what_is_neither_a_result_nor_a_question_is_an_error() {
        for answer in [
            r#"{"resultType":"input_required"}"#,
            r#"{"resultType":"input_required","inputRequests":{}}"#,
            r#"{"resultType":"input_required","inputRequests":5}"#,
            r#"{"inputRequests":{"k":{"method":5}},"resultType": "input_required"}"#,
            r#"{"content":[],"resultType":"zzz"}"#,
            r#"{"content":[{"resultType":"complete"}],"resultType":7}"#,
        ] {
            let error = InputRequests::read(answer.as_bytes()).unwrap().err().unwrap();
            assert_eq!(error.kind(), ErrorKind::ProtocolError, "{answer}");
        }
    }

    #[test]
    fn a_call_is_repeated_with_the_answers_and_the_state_as_it_came() {
        let answer = r#"{"resultType":"input_required","requestState":"\u0041 b","inputRequests":{"k":{"method":"roots/list"}}}"#;
        let input = InputRequests::read(answer.as_bytes()).unwrap().unwrap();
        let answers = IndexMap::from([("k".to_owned(), json!({"roots": []}))]);
        let sent = message::tools_call(7, "\"t\"", br#"{"id":7,"a":1}"#, None, b"");
        let again = RepeatedCall::new(&sent, 7).with_members(&input.members(&answers));
        let line = String::from_utf8(again.message(12).into_line()).unwrap();
        let expected = r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"t","arguments":{"id":7,"a":1},"_meta":{"progressToken":7},"inputResponses":{"k":{"roots":[]}},"requestState":"\u0041 b"}}"#;
        assert_eq!(line.trim_end(), expected);
    }

    #[test]
    fn without_a_state_none_is_sent() {
        let answer =
            r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}"#;
        let input = InputRequests::read(answer.as_bytes()).unwrap().unwrap();
        assert_eq!(input.members(&IndexMap::new()), "");
    }
}
