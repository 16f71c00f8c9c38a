//! A history follows from its seed; those that once failed are played again.

use std::time::Duration;

use testkit::simulation::schedule::Trouble;
use testkit::simulation::seed::Seed;
use testkit::simulation::{Case, Repertoire as _};

use crate::histories::survey;
use crate::{simulation, stories};

/// Histories that have failed before: the story, its seed, and what went wrong in it.
const FAILED: [(&str, u64, &str); 8] = [
    (
        "quota",
        1090,
        "write 7: silence before; request 10: close 0 replicasets",
    ),
    ("quota", 2300, "write 27: reset before"),
    ("orphan", 6016, "write 19: break 0 replicasets"),
    ("history", 12840, "write 1: late 37.590s"),
    ("deadline", 7097, "request 3: freeze 0 9.313s; 21.838s: jump 1 -7200"),
    ("failed pod backoff", 16653, "request 21: jump 0 -7200"),
    ("deadline", 14071, "write 21: silence before"),
    ("history", 2478, "write 5: answer 504 0; write 20: late 36.878s"),
];

#[test]
fn the_same_seed_twice_gives_the_same_trace() {
    for scenario in stories::all() {
        let story = simulation(scenario);
        let (one, other) = (story.undisturbed(Seed(1)), story.undisturbed(Seed(1)));
        assert!(one.verdict.is_ok(), "{one}");
        one.check_same(&other);
        let another = story.undisturbed(Seed(2));
        assert!(one.trace != another.trace, "another seed, another history");
        assert_eq!(
            one.verdict.as_ref().map(|end| &end.summary),
            another.verdict.as_ref().map(|end| &end.summary)
        );
    }
}

#[test]
fn the_same_trouble_twice_gives_the_same_trace() {
    survey().check_that_seeds_decide(&Trouble::everything(2, Duration::from_secs(40)));
}

#[test]
fn histories_that_have_failed_before_come_to_their_ends() {
    let survey = survey();
    let case = |(name, seed, schedule): (&str, u64, &str)| Case {
        story: survey.number(name),
        seed: Seed(seed),
        schedule: schedule.parse().unwrap(),
    };
    survey.play_all(&FAILED.map(case), &|_| {}).check();
}
