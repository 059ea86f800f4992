//! See `mcpool::fuzzing::expand`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::expand(data));
