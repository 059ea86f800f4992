//! Plays the server of a simulation: reads what was sent, runs tools, and answers late, twice, out of order or never.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::wire::Loss;
use crate::wire::scripted::{Script, ScriptedLink};

/// The tool that may run once, and the one that may be repeated.
pub(super) const WRITE: &str = "write";
pub(super) const LOOK: &str = "look";

pub(super) struct Server {
    pub(super) script: Arc<Script>,
    /// Answers that are on their way, for each link.
    answers: BTreeMap<u64, Vec<Bytes>>,
    /// How many times each call has run.
    pub(super) runs: BTreeMap<u64, u32>,
    pub(super) ended_tasks: u64,
    pub(super) answered_questions: u64,
}

impl Server {
    pub(super) fn new(is_remote: bool) -> Server {
        Server {
            script: Script::new(is_remote),
            answers: BTreeMap::new(),
            runs: BTreeMap::new(),
            ended_tasks: 0,
            answered_questions: 0,
        }
    }

    /// Does one random thing.
    pub(super) fn step(&mut self, random: &mut Rng) {
        let links = self.script.links();
        let Some(link) = random.choice(&links) else {
            return self.end_dial(random);
        };
        match random.u8(..32) {
            0..12 => self.read(link, random),
            12..22 => self.answer(link, random),
            22 => self.speak(link, random),
            23 => self.answer_nobody(link, random),
            24 => link.die(random.bool()),
            25 => link.report(random.choice([Loss::Doubtful, Loss::Expired]).expect("a loss")),
            26 => self.forget(link),
            _ => self.end_dial(random),
        }
    }

    /// Works for a while as a good server does.
    pub(super) fn work(&mut self, random: &mut Rng) {
        self.script.end_dial(Ok(()));
        for link in self.script.links() {
            for _ in 0..4 {
                self.read(&link, random);
                self.answer(&link, random);
            }
        }
    }

    fn end_dial(&mut self, random: &mut Rng) {
        let refused = || Err(Error::new(ErrorKind::ConnectionLost, "refused"));
        self.script.end_dial(if random.u8(..4) == 0 { refused() } else { Ok(()) });
    }

    fn answers(&mut self, link: &Arc<ScriptedLink>) -> &mut Vec<Bytes> {
        self.answers.entry(link.number).or_default()
    }

    /// Reads one message; its answer is on its way, or lost.
    fn read(&mut self, link: &Arc<ScriptedLink>, random: &mut Rng) {
        let Some(message) = link.read_sent() else { return };
        let message: Value = serde_json::from_slice(&message).expect("a message of ours");
        let (Some(method), Some(id)) = (message["method"].as_str(), message["id"].as_u64()) else {
            return;
        };
        let outcome = match method {
            "initialize" => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": true}},
            }),
            "server/discover" => json!({
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {"listChanged": true}},
            }),
            // It stays open.
            "subscriptions/listen" => return,
            "tools/list" => json!({"tools": [
                {"name": WRITE},
                {"name": LOOK, "annotations": {"readOnlyHint": true}},
            ]}),
            "tools/call" if is_stateless(&message) => self.run_with_detours(&message, random),
            "tools/call" => self.run(&message),
            "tasks/get" => {
                let state = task_of(&message["params"]["taskId"], random);
                self.ended_tasks += u64::from(state["status"] == "completed");
                state
            }
            _ => json!({}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": outcome});
        // One of eight is lost.
        if random.u8(..8) > 0 {
            self.answers(link).push(answer.to_string().into());
        }
    }

    fn run(&mut self, message: &Value) -> Value {
        let key = message["params"]["arguments"]["key"].as_u64().expect("a call of ours");
        *self.runs.entry(key).or_default() += 1;
        json!({"content": [{"type": "text", "text": done(key)}]})
    }

    /// Runs a tool; or asks something first, or goes on after the answer.
    fn run_with_detours(&mut self, message: &Value, random: &mut Rng) -> Value {
        self.answered_questions += u64::from(message["params"]["inputResponses"].is_object());
        match random.u8(..6) {
            0 => json!({
                "resultType": "input_required",
                "inputRequests": {"r": {"method": "roots/list"}},
                "requestState": "s",
            }),
            1 | 2 => {
                let key = &message["params"]["arguments"]["key"];
                self.run(message);
                task_state(&json!(key.to_string()), "working", "task")
            }
            _ => self.run(message),
        }
    }

    /// Delivers one of the answers, perhaps twice, perhaps before an older one.
    fn answer(&mut self, link: &Arc<ScriptedLink>, random: &mut Rng) {
        let answers = self.answers(link);
        if !answers.is_empty() {
            let at = random.usize(..answers.len());
            let answer = match random.u8(..6) {
                0 => answers[at].clone(),
                _ => answers.swap_remove(at),
            };
            link.push(answer);
        }
        if random.u8(..4) > 0 {
            while link.deliver() {}
        }
    }

    /// Says something that nobody asked for.
    fn speak(&mut self, link: &Arc<ScriptedLink>, random: &mut Rng) {
        let token = random.u64(1..12);
        let said = random.choice([
            json!({"method": "notifications/tools/list_changed"}),
            json!({"method": "notifications/tasks", "params": {"taskId": token.to_string()}}),
            json!({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}),
            json!({"method": "notifications/message", "params": {"level": "info", "data": "x"}}),
            json!({"method": "ping", "id": token}),
            json!({"no": "message"}),
        ]);
        let mut said = said.expect("something");
        said["jsonrpc"] = json!("2.0");
        link.push(said.to_string().into());
        while link.deliver() {}
    }

    /// Answers under an id that nobody has asked with.
    fn answer_nobody(&mut self, link: &Arc<ScriptedLink>, random: &mut Rng) {
        let id = random.u64(1_000_000..);
        let result = json!({"content": [{"type": "text", "text": "stolen"}]});
        link.push(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string().into());
        while link.deliver() {}
    }

    /// Loses all answers that are on their way.
    fn forget(&mut self, link: &Arc<ScriptedLink>) {
        self.answers(link).clear();
    }
}

/// Whether a request is of the protocol without a handshake, in which a server may ask and answer with tasks.
fn is_stateless(message: &Value) -> bool {
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string()
}

/// How far the task of a call is. Its id is the key of the call.
fn task_of(id: &Value, random: &mut Rng) -> Value {
    let key = id.as_str().and_then(|id| id.parse().ok()).expect("a task of ours");
    match random.u8(..4) {
        0 => task_state(id, "working", "complete"),
        1 => {
            let mut state = task_state(id, "input_required", "complete");
            state["inputRequests"] = json!({"r": {"method": "roots/list"}});
            state
        }
        _ => {
            let mut state = task_state(id, "completed", "complete");
            state["result"] = json!({"content": [{"type": "text", "text": done(key)}]});
            state
        }
    }
}

fn task_state(id: &Value, status: &str, kind: &str) -> Value {
    json!({"resultType": kind, "taskId": id, "status": status, "pollIntervalMs": 500})
}

/// The answer to the call with this key.
pub(super) fn done(key: u64) -> String {
    format!("call {key} is done")
}
