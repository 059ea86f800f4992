//! See `mcpool::fuzzing::validate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::validate(data));
