//! What a user may do to a Job that runs.

use serde_json::json;
use testkit::Kind;
use testkit::simulation::scenario::Scenario;
use testkit::simulation::seed::Stream;
use testkit::simulation::server::{DeleteOptions, Propagation};

use super::spec::{Spec, Work};

/// The most changes of a Job.
const MOST: u64 = 3;

/// The story goes on with what the user does to this Job.
pub(super) fn changes_mind(mut story: Scenario, spec: &Spec, stream: &Stream) -> Scenario {
    let mut suspended = spec.is_suspended;
    // A Job that goes by itself may be gone by then.
    if !spec.is_short_lived && stream.one_in(2) {
        for _ in 0..stream.between(&(1..=MOST)) {
            story = story.wait(stream.millis(&(100..=9_000)));
            story = changed(story, spec, &mut suspended, stream);
        }
    }
    if suspended && !spec.is_short_lived && !stream.one_in(4) {
        story = story.wait(stream.millis(&(100..=9_000)));
        story = suspend(story, spec, false);
    }
    if spec.is_short_lived || !stream.one_in(8) {
        return story;
    }
    let propagation = *stream.pick(&[Propagation::Background, Propagation::Foreground, Propagation::Orphan]);
    let options = DeleteOptions {
        propagation: Some(propagation),
        ..DeleteOptions::default()
    };
    story
        .wait(stream.millis(&(100..=20_000)))
        .delete(Kind::JOB, &spec.name, options)
}

fn changed(story: Scenario, spec: &Spec, suspended: &mut bool, stream: &Stream) -> Scenario {
    if stream.one_in(2) {
        *suspended = !*suspended;
        return suspend(story, spec, *suspended);
    }
    let size = spec.least_size()..=spec.least_size().max(5);
    let size = stream.between(&size);
    let spec_of = |fields| json!({ "spec": fields });
    let patch = match spec.work {
        Work::Indexed(_) if stream.one_in(2) => spec_of(json!({"parallelism": size, "completions": size})),
        Work::Indexed(_) | Work::Fixed(_) | Work::Queue => spec_of(json!({"parallelism": size})),
    };
    story.merge(Kind::JOB, &spec.name, patch)
}

fn suspend(story: Scenario, spec: &Spec, suspended: bool) -> Scenario {
    story.merge(Kind::JOB, &spec.name, json!({"spec": {"suspend": suspended}}))
}
