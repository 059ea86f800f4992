//! See `mcpool::fuzzing::lines`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::lines(data));
