//! See `mcpool::fuzzing::parse_toml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpool::fuzzing::parse_toml(data));
