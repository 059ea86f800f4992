//! Owns throwing the core's errors; the classes themselves are TypeScript's.

use napi::bindgen_prelude::{
    Env, JavaScriptClassExt, JsValue, TypeTag, Unknown, validate_type_tag,
};
use napi::{Result, Status, ValueType};
use napi_derive::napi;

use crate::text::to_json;

/// An error of the core on its way to the TypeScript layer. JavaScript cannot create one, so no other error is mistaken
/// for it.
#[napi]
pub struct NativeError {
    json: String,
}

#[napi]
impl NativeError {
    /// The JSON of the core's error.
    #[napi(getter)]
    pub fn json(&self) -> &str {
        &self.json
    }
}

impl NativeError {
    /// Whether this is one. Goes by the type tag: where the package is loaded twice, each copy has a class of its own.
    pub(crate) fn is_thrown(env: &Env, thrown: &Unknown<'_>) -> bool {
        // Asking for the tag of null or undefined would throw.
        let is_object = matches!(thrown.get_type(), Ok(ValueType::Object));
        let (tag, name) = (NativeError::type_tag(), "NativeError");
        // SAFETY: the value is an object of the running call.
        is_object && unsafe { validate_type_tag(env.raw(), thrown.raw(), &tag, name) }.is_ok()
    }
}

/// Lets `?` carry the core's errors out of functions that JavaScript called.
pub(crate) trait OrThrow<T> {
    fn or_throw(self, env: &Env) -> Result<T>;
}

impl<T> OrThrow<T> for mcpool::Result<T> {
    fn or_throw(self, env: &Env) -> Result<T> {
        self.map_err(|error| throw(env, &error))
    }
}

/// Throws the error, and returns the status that makes napi leave it as it is.
fn throw(env: &Env, error: &mcpool::Error) -> napi::Error {
    let thrown = NativeError { json: to_json(error) }.into_instance(env);
    match thrown.and_then(|error| env.throw(error)) {
        Ok(()) => napi::Error::new(Status::PendingException, error.code().to_owned()),
        Err(failure) => failure,
    }
}
