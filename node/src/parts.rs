//! Owns handing over large JSON: long strings cross by themselves, and only the frame around them is parsed above.
//! A megabyte of text costs then one copy, where parsing would read it once more and copy it again.

use std::ops::Range;
use std::ptr::null_mut;

use memchr::{memchr, memchr2};
use napi::sys;

use crate::text;

/// Below this size a result is parsed as quickly as it is taken apart.
const LARGE: usize = 64 << 10;
const LONG: usize = 16 << 10;
/// A result whose long strings do not come early is made of many small values: then looking costs more than it gives.
const LOOKED_AT: usize = 64;

/// A string of `json`, or for large JSON an array in which pieces of it and long strings take turns.
pub(crate) fn to_js(env: sys::napi_env, json: &str) -> sys::napi_value {
    let strings = if json.len() < LARGE { Vec::new() } else { long_strings(json.as_bytes()) };
    if strings.is_empty() {
        return text::to_js(env, json);
    }
    let ends = strings.iter().flat_map(|string| [string.start, string.end]).chain([json.len()]);
    let mut array = null_mut();
    // SAFETY: arrays can always be made on the environment's thread.
    unsafe { sys::napi_create_array(env, &mut array) };
    let mut begin = 0;
    for (index, end) in ends.enumerate() {
        // SAFETY: `array` and the piece are values of the open scope.
        unsafe {
            sys::napi_set_element(env, array, index as u32, text::to_js(env, &json[begin..end]))
        };
        begin = end;
    }
    array
}

/// Where the long string values are that mean what they are, without escapes.
fn long_strings(json: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..LOOKED_AT {
        let Some(quote) = memchr(b'"', &json[at..]) else { break };
        let start = at + quote + 1;
        let Some((end, plain)) = string_end(json, start) else { break };
        at = end + 1;
        let next = json[at..].iter().find(|byte| !byte.is_ascii_whitespace());
        if plain && end - start >= LONG && next != Some(&b':') {
            found.push(start..end);
        }
    }
    found
}

/// Where the string that starts here ends, and whether it has no escapes.
fn string_end(json: &[u8], start: usize) -> Option<(usize, bool)> {
    let (mut end, mut plain) = (start, true);
    loop {
        end += memchr2(b'"', b'\\', json.get(end..)?)?;
        if json[end] == b'"' {
            return Some((end, plain));
        }
        plain = false;
        end += 2;
    }
}
