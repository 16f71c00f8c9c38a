//! Jobs of any sort, with pods of any fate, and users who change their minds: all of it follows from a seed. Nobody knows what
//! they come to; that their end is right is up to the laws.

mod fates;
mod spec;
mod user;

use testkit::Kind;
use testkit::builders::Manifest as _;
use testkit::simulation::Invented;
use testkit::simulation::scenario::Scenario;
use testkit::simulation::seed::Seed;

use self::fates::Nature;
use self::spec::Spec;
use crate::{laws, simulation, summary};

/// The most Jobs at once.
const MOST: u64 = 2;

/// The story of each seed.
pub(crate) fn all() -> Invented {
    Invented::by(|seed| simulation(of(seed)))
}

fn of(seed: Seed) -> Scenario {
    let stream = seed.stream("jobs");
    let mut story = Scenario::named("any Jobs", summary::of)
        .under(laws::of_any)
        .replicas(2)
        .keeping(&["batch.kubernetes.io/job-tracking"]);
    let jobs: Vec<Spec> = (0..stream.between(&(1..=MOST)))
        .map(|number| Spec::drawn(format!("work-{number}"), &stream))
        .collect();
    let natures: Vec<(String, Nature)> = jobs
        .iter()
        .map(|spec| (spec.name.clone(), Nature::of(spec, &stream)))
        .collect();
    for spec in &jobs {
        story = story.create(Kind::JOB, spec.manifest().json());
    }
    for spec in &jobs {
        story = user::changes_mind(story, spec, &stream);
    }
    if stream.one_in(4) {
        // Pods that take their time.
        story = story.ending(1_000..=12_000);
    }
    story.habits.yields = *stream.pick(&[0, 0, 3]);
    story.fates(move |pod, stream| {
        let owner = pod.pod.controller().and_then(|owner| owner["name"].as_str());
        let nature = natures.iter().find(|(name, _)| owner == Some(name));
        nature.map_or(fates::DONE, |(_, nature)| nature.fate(pod, stream))
    })
}
