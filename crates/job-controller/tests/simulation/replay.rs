//! A history follows from its seed.

use std::time::Duration;

use testkit::simulation::Repertoire as _;
use testkit::simulation::schedule::Trouble;

use crate::histories::Histories;

/// Jobs and trouble that follow from these seeds have failed before: by an eviction that was ignored while the Job failed, by a
/// write that was sent again when its reason had passed, by a size that the server would have refused, by a surplus pod that had
/// succeeded, by a pod that succeeded though it was asked to go, by a kill that did not go through at once
/// (the last three).
const FAILED: [u64; 8] = [825, 5363, 5559, 6185, 9977, 16261, 16539, 16713];

#[test]
fn histories_that_have_failed_before_come_to_their_ends() {
    let histories = Histories::all();
    let cases = FAILED.map(|seed| histories.case(seed));
    histories.play_all(&cases, &|_| {}).check();
}

#[test]
fn the_same_trouble_twice_gives_the_same_trace() {
    Histories::all()
        .told
        .check_that_seeds_decide(&Trouble::of_jobs(2, Duration::from_secs(40)));
}
