//! Owns the handle on a stream of events.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mcpool::Events;
use napi_derive::napi;

use crate::bridge::start;
use crate::post::Post;
use crate::text::to_json;

/// A stream of events from the moment it was asked for.
#[napi]
pub struct NativeEvents {
    stream: Arc<Mutex<Option<Events>>>,
    lost: Arc<AtomicU64>,
    post: Rc<Post>,
}

impl NativeEvents {
    pub(crate) fn new(events: Events, post: Rc<Post>) -> Self {
        NativeEvents { stream: Arc::new(Mutex::new(Some(events))), lost: Arc::default(), post }
    }
}

#[napi]
impl NativeEvents {
    /// The next event, `null` at the end. One may be asked for at a time. `holds` keeps the process alive.
    #[napi]
    pub fn next(&self, key: i64, holds: bool) {
        let (stream, lost) = (self.stream.clone(), self.lost.clone());
        start(&self.post, key, holds, async move {
            let taken = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(mut events) = taken else { return Ok("null".to_owned()) };
            let event = events.next().await;
            lost.store(events.lost(), Ordering::Relaxed);
            *stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(events);
            Ok(to_json(&event))
        });
    }

    /// How many events this reader was too slow for.
    #[napi]
    pub fn lost(&self) -> i64 {
        self.lost.load(Ordering::Relaxed) as i64
    }
}
