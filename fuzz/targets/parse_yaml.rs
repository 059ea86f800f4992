//! See `mcpool::fuzzing::parse_yaml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::parse_yaml(data));
