//! The process is killed right before and right after each of its writes, and a new one goes on.

use testkit::simulation::{Case, Repertoire as _, Survey, exhaustive};

use crate::{simulation, stories};

pub(crate) fn survey() -> Survey {
    Survey::of(stories::all().into_iter().map(simulation))
}

/// Every crash point of every story.
pub(crate) fn cases(survey: &Survey) -> Vec<Case> {
    (0..survey.stories().len())
        .flat_map(|story| exhaustive(survey, story))
        .collect()
}

#[test]
fn every_crash_point_of_every_story_comes_to_the_same_end() {
    let survey = survey();
    let cases = cases(&survey);
    assert!(cases.len() > 200, "{} crash points", cases.len());
    survey.play_all(&cases, &|_| {}).check();
}
