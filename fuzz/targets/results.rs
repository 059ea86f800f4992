//! See `mcpool::fuzzing::results`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::results(data));
