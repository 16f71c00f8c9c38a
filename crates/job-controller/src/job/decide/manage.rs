//! Makes and removes pods (J-60, J-61, J-91, J-100).

use std::time::Duration;

use workload_core::id::{Kind, ObjectKey, Uid};
use workload_core::mistake::{Mistake, made};
use workload_core::plan::{Delete, DeleteGuard, Note, Stage, Target, Wake};
use workload_core::time::{self, Timestamp};

use super::create::{self, Creation};
use super::intent::Step;
use super::surplus;
use crate::job::facts::Facts;
use crate::job::pod::Pod;
use crate::job::words;

/// Makes or removes pods, never both in one turn (J-61).
pub(super) fn manage(facts: &Facts<'_>, burst: usize, now: Timestamp) -> Management {
    let job = &facts.seen.job;
    if job.spec.is_suspended() && made(Mistake::SuspendedCounted) {
        return Management::kill(&facts.active);
    }
    if job.spec.is_suspended() || facts.round.held.is_some() {
        return Management::removal(&facts.active);
    }
    let surplus = facts.active.len().saturating_sub(create::wanted(facts));
    let mut going = surplus::choose(facts, surplus);
    going.truncate(burst);
    if !going.is_empty() {
        return Management::removal(&going);
    }
    let hindered = Hindered::of(facts, now);
    if !hindered.given_up.is_empty() {
        return Management::giving_up(&hindered.given_up);
    }
    let creation = create::missing(facts, burst, now);
    Management::creation(creation, hindered.next)
}

/// What is done about the pods, as a stage.
#[derive(Default)]
pub(super) struct Management {
    pub(super) stage: Option<Stage>,
    removed: Vec<(ObjectKey, Uid, bool)>,
    wait: Option<Duration>,
    pub(super) notes: Vec<Note>,
}

impl Management {
    fn removal(going: &[&Pod]) -> Self {
        let departures: Vec<_> = going.iter().map(|pod| surplus::uncounted(pod)).collect();
        Self {
            stage: (!departures.is_empty()).then_some(Stage::Depart(departures)),
            removed: keys(going),
            ..Self::default()
        }
    }

    /// The mistake of [`Mistake::SuspendedCounted`].
    fn kill(going: &[&Pod]) -> Self {
        Self {
            stage: Some(Stage::Delete(going.iter().map(|pod| surplus::kill(pod)).collect())),
            removed: keys(going),
            ..Self::default()
        }
    }

    /// Pods that wait for what does not come are removed and counted (opt-in `job.bad-image-after`). The reason may have
    /// lapsed: then the pod is another version by now and stays.
    fn giving_up(pods: &[&Pod]) -> Self {
        let delete = |pod: &&Pod| {
            let reason = pod.hindrance.as_ref().map(|hindrance| hindrance.reason.to_string());
            let text = format!(
                "Deleted pod: {}, which has waited for too long: {}",
                pod.meta.key.name,
                reason.unwrap_or_default()
            );
            Delete {
                target: Target::of(Kind::POD, &pod.meta),
                guard: DeleteGuard::UidAndVersion,
                note: Some(Note::warning(words::SUCCESSFUL_DELETE, text)),
            }
        };
        Self {
            stage: Some(Stage::Delete(pods.iter().map(delete).collect())),
            removed: keys(pods),
            ..Self::default()
        }
    }

    fn creation(creation: Creation, next: Option<Duration>) -> Self {
        let Creation { creates, wait, notes } = creation;
        Self {
            stage: (!creates.is_empty()).then_some(Stage::Create(creates)),
            wait: wait.into_iter().chain(next).min(),
            notes,
            ..Self::default()
        }
    }

    pub(super) fn created(&self) -> usize {
        match &self.stage {
            Some(Stage::Create(creates)) => creates.len(),
            _ => 0,
        }
    }

    pub(super) fn wake(&self) -> Wake {
        self.wait.map_or(Wake::OnChange, Wake::After)
    }

    pub(super) fn step(&self, suspended: bool) -> Step {
        Step::Manage {
            removed: self.removed.clone(),
            created: self.created(),
            suspended,
        }
    }
}

/// Active pods that wait for an image or for configuration (opt-in `job.bad-image-after`).
struct Hindered<'a> {
    given_up: Vec<&'a Pod>,
    next: Option<Duration>,
}

impl<'a> Hindered<'a> {
    fn of(facts: &Facts<'a>, now: Timestamp) -> Self {
        let mut hindered = Self {
            given_up: Vec::new(),
            next: None,
        };
        let Some(patience) = facts.seen.job.opt_ins.bad_image_after else {
            return hindered;
        };
        for pod in &facts.active {
            let Some(hindrance) = &pod.hindrance else { continue };
            match time::until(time::plus(hindrance.since, patience.0), now) {
                None => hindered.given_up.push(pod),
                Some(rest) => hindered.next = Some(hindered.next.map_or(rest, |next| next.min(rest))),
            }
        }
        hindered
    }
}

pub(super) fn keys(pods: &[&Pod]) -> Vec<(ObjectKey, Uid, bool)> {
    let key = |pod: &&Pod| (pod.meta.key.clone(), pod.meta.uid.clone(), pod.is_ready());
    pods.iter().map(key).collect()
}
