//! See `mcpool::fuzzing::parse_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::parse_json(data));
