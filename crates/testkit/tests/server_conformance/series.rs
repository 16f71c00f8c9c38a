//! Series of deeds.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use testkit::server::{Server, block_on, environment, skipped};

use super::deed::Deed;
use super::pair::Pair;
use super::strategies::deeds;

/// The number of series in a longer run.
const CASES: &str = "PROPTEST_CASES";
/// How long a series is.
const LENGTH: usize = 120;
/// How many series a short run plays.
const SERIES: u32 = 2;

fn settings() -> ProptestConfig {
    let settings = ProptestConfig {
        failure_persistence: None,
        max_shrink_time: 120_000,
        ..ProptestConfig::default()
    };
    match environment(CASES) {
        Some(_) => settings,
        None => ProptestConfig {
            cases: SERIES,
            ..settings
        },
    }
}

/// Plays a series on both servers in a namespace of its own.
async fn play(server: &'static Server, namespace: String, deeds: &[Deed]) -> Result<(), String> {
    let mut pair = Pair::open(server, namespace).await;
    let mut outcome = Ok(());
    for (number, deed) in deeds.iter().enumerate() {
        outcome = pair
            .play(deed)
            .await
            .map_err(|why| format!("deed {number}, {deed:?}: {why}"));
        if outcome.is_err() {
            break;
        }
    }
    if outcome.is_ok() {
        outcome = pair.compare_histories().await;
    }
    pair.close(server).await;
    outcome
}

#[test]
fn random_series_of_requests_are_answered_as_by_a_real_server() {
    let Some(server) = block_on(Server::ours()) else {
        return skipped("the servers of `cargo xtask test`");
    };
    // The same series in every run, so that a difference can be met again; more of them are random.
    let mut runner = match environment(CASES) {
        Some(_) => TestRunner::new(settings()),
        None => TestRunner::new_with_rng(settings(), TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let played = runner.run(&prop::collection::vec(deeds(), LENGTH), |deeds| {
        let deeds = deeds.concat();
        let namespace = format!("conformance-{}-{}", std::process::id(), next());
        block_on(play(server, namespace, &deeds)).map_err(TestCaseError::fail)
    });
    match played {
        Ok(()) => {}
        Err(TestError::Fail(why, deeds)) => {
            let deeds: Vec<_> = deeds.iter().flatten().map(|deed| format!("{deed:?}")).collect();
            panic!("{}\n{why}", deeds.join("\n"));
        }
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

/// Numbers that are used once.
fn next() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
