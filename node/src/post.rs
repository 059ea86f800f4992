//! Owns the exchange between the core and one JavaScript thread: delivering letters, and keeping the process alive
//! meanwhile.
//! Invariant: everything here runs on the thread that created it; a letter whose key is gone is dropped.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::Arc;

use mcpool::host::{Letter, Mailbox, Taken};
use mcpool::{Question, ToolResult};
use napi::sys;
use napi_derive::napi;

use crate::result::Origins;
use crate::waiting::{Table, Waiting};
use crate::wake::Wake;
use crate::{TAG_KINDS, text};

/// Letters delivered by one call into JavaScript; each is two arguments.
const HANDFUL: usize = 128;

/// What a letter's text is. The generated declarations bring it to TypeScript.
#[napi]
pub enum LetterKind {
    /// A call's result, as the server wrote it; the key is done.
    Result,
    /// A verb's answer; the key is done.
    Json,
    /// An error; the key is done.
    Failed,
    /// The progress of a call.
    Progress,
    /// A question and its number.
    Question,
    /// A handle on the origin of the results from here on.
    Origin,
}

const _: () = assert!((LetterKind::Origin as u32) < TAG_KINDS && TAG_KINDS.is_power_of_two());

/// One JavaScript thread's post.
pub(crate) struct Post {
    /// Goes before the mailbox that it watches.
    pub(crate) wake: OnceCell<Wake>,
    env: sys::napi_env,
    pub(crate) mailbox: Arc<Mailbox>,
    /// `deliver(tag, value, tag, value, …)`; see [`TAG_KINDS`].
    deliver: Cell<sys::napi_ref>,
    waiting: Table,
    origins: Origins,
    /// Questions that JavaScript is answering.
    asked: RefCell<HashMap<u64, Taken>>,
    next_question: Cell<u64>,
    /// A delivery is under way, after which held-back messages are sent anyway.
    delivering: Cell<bool>,
}

impl Post {
    pub(crate) fn env(&self) -> sys::napi_env {
        self.env
    }

    pub(crate) fn new(
        env: sys::napi_env,
        deliver: sys::napi_ref,
        mailbox: Arc<Mailbox>,
    ) -> Rc<Post> {
        Rc::new(Post {
            env,
            mailbox,
            deliver: Cell::new(deliver),
            waiting: Table::default(),
            origins: Origins::default(),
            asked: RefCell::default(),
            next_question: Cell::new(0),
            delivering: Cell::new(false),
            wake: OnceCell::new(),
        })
    }

    pub(crate) fn expect(&self, key: u64, waiting: Waiting) {
        self.waiting.insert(key, waiting);
        self.settle();
    }

    /// Removes the waiter of `key`.
    pub(crate) fn forget(&self, key: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(key);
        self.settle();
        waiting
    }

    /// Keeps the process alive only while somebody waits.
    fn settle(&self) {
        if !self.delivering.get()
            && let Some(wake) = self.wake.get()
        {
            wake.hold(self.waiting.holds());
        }
    }

    /// Delivers all letters. `call` calls JavaScript with these arguments; false means that it threw.
    pub(crate) fn hand_over(&self, call: impl Fn(sys::napi_value, &[sys::napi_value]) -> bool) {
        let letters = self.mailbox.drain();
        let mut letters = letters.into_iter().peekable();
        while letters.peek().is_some() && !self.deliver.get().is_null() {
            let (mut scope, mut deliver) = (null_mut(), null_mut());
            // SAFETY: the environment lives while `deliver` is set, and this is its thread.
            unsafe {
                sys::napi_open_handle_scope(self.env, &mut scope);
                sys::napi_get_reference_value(self.env, self.deliver.get(), &mut deliver);
            }
            let mut arguments = Vec::with_capacity(2 * letters.len().min(HANDFUL));
            for (key, letter) in letters.by_ref().take(HANDFUL) {
                self.append(key, letter, &mut arguments);
            }
            if !arguments.is_empty() && !call(deliver, &arguments) {
                self.origins.forget_current();
            }
            // SAFETY: it was opened above.
            unsafe { sys::napi_close_handle_scope(self.env, scope) };
        }
    }

    fn append(&self, key: u64, letter: Letter, arguments: &mut Vec<sys::napi_value>) {
        let is_awaited = match letter {
            Letter::Progress(_) | Letter::Question(_) => self.waiting.knows(key),
            _ => self.forget(key).is_some(),
        };
        if !is_awaited {
            return;
        }
        let (kind, text) = match letter {
            Letter::Result(result) => {
                self.send_origin(key, &result, arguments);
                (LetterKind::Result, text::to_js(self.env, result.json()))
            }
            Letter::Json(json) => (LetterKind::Json, text::to_js(self.env, &json)),
            Letter::Failed(error) => {
                (LetterKind::Failed, text::to_js(self.env, &text::to_json(&error)))
            }
            Letter::Progress(progress) => {
                (LetterKind::Progress, text::to_js(self.env, &text::to_json(&progress)))
            }
            Letter::Question(question) => match self.ask(&question) {
                Some(text) => (LetterKind::Question, text::to_js(self.env, &text)),
                // Another listener answers it.
                None => return,
            },
        };
        arguments.extend([self.tag(key, kind), text]);
    }

    fn send_origin(&self, key: u64, result: &ToolResult, arguments: &mut Vec<sys::napi_value>) {
        if let Some(handle) = self.origins.handle_if_new(self.env, result.origin()) {
            arguments.extend([self.tag(key, LetterKind::Origin), handle]);
        }
    }

    fn tag(&self, key: u64, kind: LetterKind) -> sys::napi_value {
        let mut tag = null_mut();
        // SAFETY: numbers can always be made on the environment's thread.
        unsafe {
            sys::napi_create_int64(
                self.env,
                (key * u64::from(TAG_KINDS) + kind as u64) as i64,
                &mut tag,
            )
        };
        tag
    }

    /// Takes a question under a number; returns both as JSON.
    fn ask(&self, question: &Question) -> Option<String> {
        let taken = question.take()?;
        let id = self.next_question.replace(self.next_question.get() + 1);
        let text = format!("[{id},{}]", taken.text());
        let mut asked = self.asked.borrow_mut();
        // A promise that never settles must not keep the question of an ended call.
        asked.retain(|_, taken| taken.is_wanted());
        asked.insert(id, taken);
        Some(text)
    }

    /// Answers the question of this number; only the first answer counts.
    pub(crate) fn answer(&self, id: u64, json: String) {
        let taken = self.asked.borrow_mut().remove(&id);
        if let Some(taken) = taken {
            taken.answer(json);
        }
    }

    /// Whether messages held back are sent without a flush.
    pub(crate) fn sends_soon(&self) -> bool {
        self.delivering.get()
    }

    /// Runs a delivery; its microtasks have run when `deliver` returns. On Windows libuv does not call us.
    #[cfg(unix)]
    pub(crate) fn with_delivery(&self, deliver: impl FnOnce()) {
        self.delivering.set(true);
        deliver();
        self.delivering.set(false);
        self.mailbox.flush();
        self.settle();
    }

    /// The thread's JavaScript ends: nothing is delivered any more.
    pub(crate) fn end(&self) {
        let deliver = self.deliver.replace(null_mut());
        if !deliver.is_null() {
            // SAFETY: it is set only once and taken out only here.
            unsafe { sys::napi_delete_reference(self.env, deliver) };
        }
        self.waiting.clear();
        self.origins.clear(self.env);
        self.asked.take();
    }
}
