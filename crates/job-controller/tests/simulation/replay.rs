//! A history follows from its seed.

use std::time::Duration;

use testkit::simulation::Survey;
use testkit::simulation::schedule::{Trouble, draw};
use testkit::simulation::seed::Seed;

use crate::{simulation, stories};

#[test]
fn the_same_trouble_twice_gives_the_same_trace() {
    let survey = Survey::of(
        stories::all()
            .into_iter()
            .map(|scenario| simulation(scenario.replicas(2))),
    );
    for (at, (story, goal)) in survey.stories().iter().enumerate() {
        let seed = Seed(100 + at as u64);
        let schedule = draw(seed, &Trouble::of_jobs(2, Duration::from_secs(40)));
        let play = || story.disturbed(seed, &schedule, goal);
        play().check_same(&play());
    }
}
