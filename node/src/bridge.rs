//! Owns the JavaScript handle of its thread's post.

use std::future::Future;
use std::ptr::null_mut;
use std::rc::Rc;

use mcpool::host::{Listening, Mailbox};
use napi::bindgen_prelude::{Function, JsValue, Unknown};
use napi::{Env, Result, check_status, sys};
use napi_derive::napi;

use crate::errors::OrThrow;
use crate::post::Post;
use crate::waiting::{Stop, Waiting};
use crate::wake::Wake;

/// One per JavaScript thread.
#[napi]
pub struct Bridge(pub(crate) Rc<Post>);

#[napi]
impl Bridge {
    /// `deliver` gets `(tag, value, tag, value, …)`. A tag is the key times `TAG_KINDS`, plus a `LetterKind`; a value is
    /// text, or a handle for `LetterKind.Origin`. The low 24 bits of a key can be used again after its letter; after a
    /// cancel the higher bits must differ. `watch` says that libuv can be used.
    #[napi(
        constructor,
        ts_args_type = "deliver: (...letters: (number | string | NativeOrigin)[]) => void, watch: boolean"
    )]
    pub fn new(env: Env, deliver: Function<'_, Unknown<'_>, ()>, watch: bool) -> Result<Self> {
        let mailbox = Mailbox::new().or_throw(&env)?;
        let mut kept = null_mut();
        // SAFETY: `deliver` is a value of the current scope.
        let status = unsafe { sys::napi_create_reference(env.raw(), deliver.raw(), 1, &mut kept) };
        check_status!(status)?;
        let post = Post::new(env.raw(), kept, mailbox);
        let wake = Wake::start(env.raw(), &post, watch)?;
        let _ = post.wake.set(wake);
        Ok(Bridge(post))
    }

    /// Sends the messages held back in this turn.
    #[napi]
    pub fn flush(&self) {
        self.0.mailbox.flush();
    }

    /// Answers a question, in JSON.
    #[napi]
    pub fn answer(&self, question: i64, json: String) {
        self.0.answer(question as u64, json);
    }

    /// Stops the work behind `key`; no letter comes for it.
    #[napi]
    pub fn cancel(&self, key: i64) {
        match self.0.forget(key as u64).map(|waiting| waiting.stop) {
            Some(Stop::Call(handle)) => handle.cancel(),
            Some(Stop::Verb(stop)) => stop(),
            Some(Stop::Nothing) | None => {}
        }
    }
}

/// Runs a verb of the core; its answer comes as a letter for `key`.
pub(crate) fn start<V>(post: &Post, key: i64, holds: bool, verb: V)
where
    V: Future<Output = mcpool::Result<String>> + Send + 'static,
{
    start_listening(post, key, holds, None, || verb);
}

/// Same, with a listener for questions, which has to exist before the verb is created.
pub(crate) fn start_listening<V>(
    post: &Post,
    key: i64,
    holds: bool,
    listening: Option<Listening>,
    verb: impl FnOnce() -> V,
) where
    V: Future<Output = mcpool::Result<String>> + Send + 'static,
{
    let key = key as u64;
    let stop = match post.mailbox.start(key, verb()) {
        Some(task) => Stop::Verb(Box::new(move || task.abort())),
        None => Stop::Nothing,
    };
    post.expect(key, Waiting { stop, holds, _listening: listening });
}
