//! Runs the programs of `core/examples`. The soak has its own test, `storm`; `conformance` is run by `make conformance`.

#[path = "../examples/parallel_calls.rs"]
#[allow(dead_code)]
mod parallel_calls;

#[tokio::test]
async fn parallel_calls_add_up() {
    let sums = parallel_calls::sums(env!("CARGO_BIN_EXE_mcpool")).await.unwrap();
    let expected: Vec<String> = (40..50).map(|sum| sum.to_string()).collect();
    assert_eq!(sums, expected);
}
