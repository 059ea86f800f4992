//! See `mcpool::fuzzing::translate_any`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::translate_any(data));
