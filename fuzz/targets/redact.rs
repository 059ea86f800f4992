//! See `mcpool::fuzzing::redact_any`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::redact_any(data));
