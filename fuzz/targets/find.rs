//! See `mcpool::fuzzing::find`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::find(data));
