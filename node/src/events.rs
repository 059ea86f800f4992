//! Owns the handle of an event stream.

use std::rc::Rc;
use std::sync::Arc;

use mcpool::Events;
use mcpool::host::Questions;
use napi_derive::napi;

use crate::bridge::start_listening;
use crate::post::Post;
use crate::question::listen_meanwhile;
use crate::text::to_json;

/// A stream of events, from its creation.
#[napi]
pub struct NativeEvents {
    stream: Arc<Events>,
    post: Rc<Post>,
    questions: Option<Questions>,
}

impl NativeEvents {
    pub(crate) fn new(events: Events, post: Rc<Post>, questions: Option<Questions>) -> Self {
        NativeEvents { stream: Arc::new(events), post, questions }
    }
}

#[napi]
impl NativeEvents {
    /// Waits until there are events to take; `false` at the end. `holds` keeps the process alive.
    #[napi]
    pub fn ready(&self, key: i64, holds: bool) {
        let stream = self.stream.clone();
        let listening =
            self.questions.as_ref().map(|asked| listen_meanwhile(asked, &self.post, key));
        let ready = || async move { Ok(to_json(&stream.ready().await)) };
        start_listening(&self.post, key, holds, listening, ready);
    }

    /// The events since the last call, as a JSON list; empty when all are read.
    #[napi]
    pub fn take(&self) -> String {
        to_json(&self.stream.take())
    }

    /// How many events this reader has missed because it was too slow.
    #[napi]
    pub fn lost(&self) -> i64 {
        self.stream.lost() as i64
    }
}
