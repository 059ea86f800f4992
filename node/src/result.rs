//! Owns the JavaScript handles of result origins, so that a result is rendered with the settings at the time of its
//! call. The results of a tool share one handle: one per result would be half of the cost of delivering it.
//! Invariant: JavaScript gets a handle before the results that belong to it, and not again while they follow each
//! other.

use std::cell::{Cell, RefCell};

use mcpool::host::Origin;
use napi::bindgen_prelude::ToNapiValue;
use napi::sys;
use napi_derive::napi;

use crate::text::to_json;

/// A text for a model.
#[napi(object)]
pub struct ForModel {
    pub text: String,
    /// JSON array.
    pub signals: String,
}

/// How many handles are kept for later results. A busy host has fewer tools in use.
const KEPT: usize = 64;

/// The tool that a result is of, and how its manager shows it.
#[napi]
pub struct NativeOrigin(Origin);

#[napi]
impl NativeOrigin {
    /// The text of a result for a model, and JSON of the signals in it.
    #[napi]
    pub fn for_model(&self, json: String) -> ForModel {
        let result = self.0.result(json);
        ForModel { text: result.for_model().to_owned(), signals: to_json(&result.signals()) }
    }
}

/// The handles of one JavaScript thread.
#[derive(Default)]
pub(crate) struct Origins {
    kept: RefCell<Vec<(Origin, sys::napi_ref)>>,
    /// The place of the one that JavaScript got last.
    current: Cell<Option<usize>>,
}

impl Origins {
    /// The handle of `origin`, or undefined without one; `None` if JavaScript got the same one last.
    pub(crate) fn handle_if_new(
        &self,
        env: sys::napi_env,
        origin: Option<&Origin>,
    ) -> Option<sys::napi_value> {
        let Some(origin) = origin else { return Some(self.no_handle(env)) };
        let mut kept = self.kept.borrow_mut();
        let current = self.current.get().and_then(|place| kept.get(place));
        if current.is_some_and(|(known, _)| known.is_same(origin)) {
            return None;
        }
        if let Some(place) = kept.iter().position(|(known, _)| known.is_same(origin)) {
            self.current.set(Some(place));
            let mut handle = std::ptr::null_mut();
            // SAFETY: the reference is strong and was made in this environment.
            unsafe { sys::napi_get_reference_value(env, kept[place].1, &mut handle) };
            return Some(handle);
        }
        if kept.len() == KEPT {
            release(env, &mut kept);
        }
        let Some((handle, reference)) = new_handle(env, origin) else {
            return Some(self.no_handle(env));
        };
        kept.push((origin.clone(), reference));
        self.current.set(Some(kept.len() - 1));
        Some(handle)
    }

    fn no_handle(&self, env: sys::napi_env) -> sys::napi_value {
        self.current.set(None);
        let mut undefined = std::ptr::null_mut();
        // SAFETY: there is always an undefined.
        unsafe { sys::napi_get_undefined(env, &mut undefined) };
        undefined
    }

    /// JavaScript may not have seen the last handle.
    pub(crate) fn forget_current(&self) {
        self.current.set(None);
    }

    /// Releases all handles.
    pub(crate) fn clear(&self, env: sys::napi_env) {
        self.current.set(None);
        release(env, &mut self.kept.borrow_mut());
    }
}

fn new_handle(env: sys::napi_env, origin: &Origin) -> Option<(sys::napi_value, sys::napi_ref)> {
    let mut reference = std::ptr::null_mut();
    // SAFETY: a handle scope of this environment is open.
    unsafe {
        let handle = NativeOrigin::to_napi_value(env, NativeOrigin(origin.clone())).ok()?;
        let status = sys::napi_create_reference(env, handle, 1, &mut reference);
        (status == sys::Status::napi_ok).then_some((handle, reference))
    }
}

fn release(env: sys::napi_env, kept: &mut Vec<(Origin, sys::napi_ref)>) {
    for (_, reference) in kept.drain(..) {
        // SAFETY: each was made in this environment, which is still there, and is deleted once.
        unsafe { sys::napi_delete_reference(env, reference) };
    }
}
