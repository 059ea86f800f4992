//! See `mcpool::fuzzing::normalise`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::normalise(data));
