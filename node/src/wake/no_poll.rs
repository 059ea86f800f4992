//! Stands in for `poll` on Windows, where libuv's functions are not looked up: the thread wakes instead.

use std::rc::Rc;

use napi::{Result, sys};

use crate::post::Post;

/// There is none.
pub(crate) enum Poll {}

impl Poll {
    pub(crate) fn start(_env: sys::napi_env, _post: &Rc<Post>) -> Result<Option<Poll>> {
        Ok(None)
    }

    pub(crate) fn hold(&self, _hold: bool) {
        match *self {}
    }
}
