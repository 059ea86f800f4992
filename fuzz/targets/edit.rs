//! See `mcpool::fuzzing::edit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::edit(data));
