//! A small controller.

use std::sync::Arc;

use serde_json::json;

use crate::cache::{Delta, Store};
use crate::id::{Kind, ObjectKey};
use crate::meta::Object;
use crate::outcome::Outcome;
use crate::plan::{Note, Patch, PatchForm, Plan, Stage, Target};
use crate::pod::PodView;
use crate::run::Site;
use crate::time::Timestamp;
use crate::workload::{Aids, Conclusion, Observation, RetryLimit, Workload};

/// Patches its pod and says so, in every turn.
struct Toy {
    pods: Arc<Store<PodView>>,
}

impl Workload for Toy {
    type Observed = Target;
    type Intent = ();

    const KIND: Kind = Kind::POD;
    const QUEUE: &'static str = "toy";
    const COMPONENT: &'static str = "toy-controller";
    const RETRIES: RetryLimit = RetryLimit::Unlimited;

    fn observe(&self, key: &ObjectKey, _aids: &Aids<'_>) -> Observation<Target> {
        self.root(key).map_or(Observation::Absent, Observation::Ready)
    }

    fn root(&self, key: &ObjectKey) -> Option<Target> {
        let pod = self.pods.get(key)?;
        let meta = pod.meta();
        Some(Target {
            kind: Kind::POD,
            key: meta.key.clone(),
            uid: meta.uid.clone(),
            version: meta.version.clone(),
        })
    }

    fn decide(&self, seen: &Target, _now: Timestamp) -> Plan<()> {
        let patch = Patch {
            target: seen.clone(),
            form: PatchForm::Fields,
            body: json!({}),
            note: Some(Note::normal("Patched", "again")),
        };
        Plan {
            stages: vec![Stage::Patch(vec![patch])],
            ..Plan::quiet(())
        }
    }

    fn conclude(&self, _seen: &Target, (): &(), _outcome: &Outcome, _now: Timestamp) -> Conclusion {
        Conclusion::default()
    }
}

/// Sets up the toy and its cache.
pub(super) fn install(site: &mut Site) {
    let mut pods = site.cache::<PodView>();
    let workload = Toy { pods: pods.store() };
    let wakes = site.reconcile(workload, &pods, []);
    pods.subscribe(wakes.on(|delta: &Delta<PodView>| match delta {
        Delta::Applied { new, .. } => vec![new.meta().key.clone()],
        Delta::Removed { .. } => Vec::new(),
    }));
    site.keep(pods);
}
