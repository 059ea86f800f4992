//! Owns passing text: JavaScript strings in, one-byte strings out if possible, JSON for the rest.

use napi::bindgen_prelude::{FromNapiValue, TypeName, ValidateNapiValue};
use napi::{Result, ValueType, check_status, sys};

/// Long enough for most arguments to cross without asking for their length first.
const GUESS: usize = 512;

/// A JavaScript string as UTF-8.
#[derive(Default)]
pub(crate) struct Text(Vec<u8>);

impl Text {
    /// Its bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// As Rust sees it.
    pub(crate) fn as_str(&self) -> &str {
        // SAFETY: Node-API writes valid UTF-8, whatever the string holds.
        unsafe { std::str::from_utf8_unchecked(&self.0) }
    }
}

impl TypeName for Text {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for Text {}

impl FromNapiValue for Text {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut bytes: Vec<u8> = Vec::with_capacity(GUESS);
        let mut count = 0;
        let mut read = |bytes: &mut Vec<u8>| {
            let (room, size) = (bytes.as_mut_ptr().cast(), bytes.capacity());
            // SAFETY: at most `size` bytes are written, and `count` of them before the closing zero.
            unsafe {
                let status = sys::napi_get_value_string_utf8(env, value, room, size, &mut count);
                check_status!(status, "expected a string")?;
                bytes.set_len(count);
            }
            Ok::<usize, napi::Error>(count)
        };
        // A character that does not fit is left out as a whole, so a nearly full buffer may be truncated.
        if read(&mut bytes)? + 4 >= bytes.capacity() {
            let mut length = 0;
            let none = std::ptr::null_mut();
            // SAFETY: without a buffer only the length is written.
            let status =
                unsafe { sys::napi_get_value_string_utf8(env, value, none, 0, &mut length) };
            check_status!(status)?;
            bytes = Vec::with_capacity(length + 1);
            read(&mut bytes)?;
        }
        Ok(Text(bytes))
    }
}

/// A JavaScript string of `text`; undefined if it is longer than the engine allows.
pub(crate) fn to_js(env: sys::napi_env, text: &str) -> sys::napi_value {
    let (start, length) = (text.as_ptr().cast(), text.len() as isize);
    let mut value = std::ptr::null_mut();
    // One-byte strings are copied; UTF-8 has to be decoded.
    // SAFETY: `start` and `length` describe `text`; the engine copies it.
    let status = unsafe {
        if text.is_ascii() {
            sys::napi_create_string_latin1(env, start, length, &mut value)
        } else {
            sys::napi_create_string_utf8(env, start, length, &mut value)
        }
    };
    if status != sys::Status::napi_ok {
        // SAFETY: there is always an undefined.
        unsafe { sys::napi_get_undefined(env, &mut value) };
    }
    value
}

/// The JSON of one of the core's own types, all of which have one.
pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
