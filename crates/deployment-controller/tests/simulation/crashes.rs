//! The process is killed right before and right after each of its writes, and a new one goes on.

use testkit::simulation::{Survey, exhaustive};

use crate::{simulation, stories};

#[test]
fn every_crash_point_of_every_story_comes_to_the_same_end() {
    let survey = Survey::of(stories::all().into_iter().map(simulation));
    let cases: Vec<_> = (0..survey.stories().len())
        .flat_map(|story| exhaustive(&survey, story))
        .collect();
    assert!(cases.len() > 200, "{} crash points", cases.len());
    survey.play_all(&cases, |_| {}).check();
}
