#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| godwit_fuzz::sql(data));
