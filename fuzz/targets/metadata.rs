//! See `mcpool::fuzzing::metadata`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::metadata(data));
