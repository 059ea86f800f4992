//! Owns the handle on a stream of events.

use std::rc::Rc;
use std::sync::Arc;

use mcpool::{Events, Questions};
use napi_derive::napi;

use crate::bridge::start_listening;
use crate::post::Post;
use crate::question::overhear;
use crate::text::to_json;

/// A stream of events from the moment it was asked for.
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
    /// The next event, `null` at the end. `holds` keeps the process alive.
    #[napi]
    pub fn next(&self, key: i64, holds: bool) {
        let stream = self.stream.clone();
        let listening = self.questions.as_ref().map(|asked| overhear(asked, &self.post, key));
        let next = || async move { Ok(to_json(&stream.next().await)) };
        start_listening(&self.post, key, holds, listening, next);
    }

    /// How many events this reader was too slow for.
    #[napi]
    pub fn lost(&self) -> i64 {
        self.stream.lost() as i64
    }
}
