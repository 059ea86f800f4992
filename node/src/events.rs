//! Owns the handle on a stream of events.

use std::rc::Rc;
use std::sync::Arc;

use mcpool::Events;
use napi_derive::napi;

use crate::bridge::start;
use crate::post::Post;
use crate::text::to_json;

/// A stream of events from the moment it was asked for.
#[napi]
pub struct NativeEvents {
    stream: Arc<Events>,
    post: Rc<Post>,
}

impl NativeEvents {
    pub(crate) fn new(events: Events, post: Rc<Post>) -> Self {
        NativeEvents { stream: Arc::new(events), post }
    }
}

#[napi]
impl NativeEvents {
    /// The next event, `null` at the end. `holds` keeps the process alive.
    #[napi]
    pub fn next(&self, key: i64, holds: bool) {
        let stream = self.stream.clone();
        start(&self.post, key, holds, async move { Ok(to_json(&stream.next().await)) });
    }

    /// How many events this reader was too slow for.
    #[napi]
    pub fn lost(&self) -> i64 {
        self.stream.lost() as i64
    }
}
