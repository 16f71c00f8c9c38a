//! The process is killed right before and right after each of its writes, and a new one goes on.

use testkit::simulation::{Repertoire as _, Survey, crashes};

use crate::{simulation, stories};

pub(crate) fn survey() -> Survey {
    Survey::of(stories::all().into_iter().map(simulation))
}

#[test]
fn every_crash_point_of_every_story_comes_to_the_same_end() {
    let survey = survey();
    let cases = crashes(&survey);
    assert!(cases.len() > 200, "{} crash points", cases.len());
    survey.play_all(&cases, &|_| {}).check();
}
