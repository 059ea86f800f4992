//! Owns passing a call to the core: the one verb that has to be fast, so it is a bare Node-API function. The overhead
//! of a class method (finding and checking its object) is a large part of a whole call.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::Arc;

use mcpool::ToolRef;
use mcpool::host::{Address, CallHandle, Given, Language, Letter, OptionInfo, Questions};
use mcpool::{Arguments, CallOptions, Manager};
use napi::bindgen_prelude::{FromNapiValue, Unknown};
use napi::{Env, Result, ValueType, check_status, sys, type_of};

use crate::post::Post;
use crate::question::listen;
use crate::text::Text;
use crate::waiting::{Stop, Waiting};

/// What the function brings along.
pub(crate) struct Caller {
    pub(crate) core: Arc<Manager>,
    pub(crate) post: Rc<Post>,
    pub(crate) questions: Option<Questions>,
}

impl Caller {
    /// `submit(key, server, tool, argumentsJson, progress, ...options)`; see the declaration.
    pub(crate) fn into_function(self, env: &Env) -> Result<Unknown<'_>> {
        let (env, mut function) = (env.raw(), null_mut());
        let caller: *mut c_void = Box::into_raw(Box::new(self)).cast();
        let (name, length) = (c"submit".as_ptr(), 6);
        // SAFETY: the caller lives as long as the function, whose finalizer frees it.
        unsafe {
            check_status!(sys::napi_create_function(
                env,
                name,
                length,
                Some(submit),
                caller,
                &mut function
            ))?;
            let (hint, kept) = (null_mut(), null_mut());
            check_status!(sys::napi_add_finalizer(env, function, caller, Some(free), hint, kept))?;
            Unknown::from_napi_value(env, function)
        }
    }

    fn call(&self, env: sys::napi_env, values: &[sys::napi_value]) -> Result<bool> {
        // SAFETY: the values are the arguments of the running call.
        let values = Values { env, values };
        let key = values.read::<i64>(0)?.unwrap_or_default() as u64;
        let listening =
            self.questions.as_ref().map(|questions| listen(questions, &self.post, key as i64));
        let sent = self.send(key, &values)?;
        let stop = match sent {
            Ok(handle) => Stop::Call(handle),
            Err(error) => {
                self.post.mailbox.post(key, Letter::Failed(error));
                Stop::Nothing
            }
        };
        self.post.expect(key, Waiting { stop, holds: true, _listening: listening });
        Ok(!self.post.sends_soon() && self.post.mailbox.wants_flush_scheduled())
    }

    fn send(&self, key: u64, values: &Values<'_>) -> Result<mcpool::Result<CallHandle>> {
        let server = values.read::<Text>(1)?;
        let tool = values.read::<Text>(2)?.unwrap_or_default();
        let arguments = values.read::<Text>(3)?;
        let progress = values.read::<bool>(4)?.unwrap_or_default();
        let given = values.read_options()?;
        let address = Address { mailbox: self.post.mailbox.clone(), key };
        let send = || {
            let arguments = match arguments {
                Some(json) => Arguments::from_writer(json.into_bytes())?,
                None => Arguments::none(),
            };
            let mut options = CallOptions::default();
            for (option, value) in given {
                options.set_given(option, value, Language::Node)?;
            }
            if progress {
                let Address { mailbox, key } = address.clone();
                options.on_progress =
                    Some(Arc::new(move |progress| mailbox.post(key, Letter::Progress(progress))));
            }
            let tool = match &server {
                Some(server) => ToolRef::Of { server: server.as_str(), tool: tool.as_str() },
                None => ToolRef::Named(tool.as_str()),
            };
            self.core.submit(tool, arguments, options, address)
        };
        Ok(send())
    }
}

/// The arguments of a call from JavaScript.
struct Values<'a> {
    env: sys::napi_env,
    values: &'a [sys::napi_value],
}

impl Values<'_> {
    /// The value at this place, unless it is missing or undefined.
    fn read<T: FromNapiValue>(&self, at: usize) -> Result<Option<T>> {
        match self.values.get(at) {
            None => Ok(None),
            // SAFETY: the values belong to the running call in this environment.
            Some(&value) => unsafe { Option::from_napi_value(self.env, value) },
        }
    }

    fn is_number(&self, at: usize) -> Result<bool> {
        match self.values.get(at) {
            None => Ok(false),
            Some(&value) => Ok(type_of!(self.env, value)? == ValueType::Number),
        }
    }

    /// The options of the call: pairs of a place in the core's table and a value, which is a number or JSON.
    fn read_options(&self) -> Result<Vec<(&'static OptionInfo, Given)>> {
        let mut given = Vec::new();
        for at in (FIRST_OPTION..self.values.len()).step_by(2) {
            let place = self.read::<u32>(at)?.unwrap_or(u32::MAX) as usize;
            let Some(option) = CallOptions::OPTIONS.get(place) else { continue };
            let value = match self.is_number(at + 1)? {
                true => Given::Value(self.read::<f64>(at + 1)?.into()),
                false => Given::Json(self.read::<Text>(at + 1)?.unwrap_or_default().into_bytes()),
            };
            given.push((option, value));
        }
        Ok(given)
    }
}

/// The place of the first option among the arguments of `submit`.
const FIRST_OPTION: usize = 5;
const MOST_VALUES: usize = FIRST_OPTION + 2 * CallOptions::OPTIONS.len();

unsafe extern "C" fn submit(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut values = [null_mut(); MOST_VALUES];
    let (mut count, mut caller, mut answer) = (values.len(), null_mut(), null_mut());
    // SAFETY: at most as many values are written as there is room for; the data is the caller of this function.
    let outcome = catch_unwind(AssertUnwindSafe(|| unsafe {
        let first = values.as_mut_ptr();
        sys::napi_get_cb_info(env, info, &mut count, first, null_mut(), &mut caller);
        let caller = &*caller.cast::<Caller>();
        caller.call(env, &values[..count.min(values.len())])
    }));
    let failed = match outcome {
        Ok(Ok(wants_flush)) => {
            // SAFETY: booleans can always be had.
            unsafe { sys::napi_get_boolean(env, wants_flush, &mut answer) };
            return answer;
        }
        Ok(Err(error)) => error,
        Err(_) => napi::Error::from_reason("mcpool has a bug: submit panicked"),
    };
    // SAFETY: this is the environment of the running call.
    unsafe { napi::JsError::from(failed).throw_into(env) };
    null_mut()
}

unsafe extern "C" fn free(_env: sys::napi_env, caller: *mut c_void, _hint: *mut c_void) {
    // SAFETY: gives back what `into_function` made.
    drop(unsafe { Box::from_raw(caller.cast::<Caller>()) });
}
