//! The clean-up of finalizers: a pod that ends up with nobody to count it, because its Job is gone or has finished, must not be
//! kept from going for ever (J-170…J-174).
//!
//! One turn regards one pod. [`crate::job::watches`] says which pods are looked at.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use workload_core::cache::Store;
use workload_core::id::{Kind, ObjectKey};
use workload_core::outcome::Outcome;
use workload_core::plan::{Patch, PatchForm, Plan, Stage, Target};
use workload_core::time::Timestamp;
use workload_core::workload::{Aids, Conclusion, Observation, RetryLimit, Workload};

use crate::job::pod::Pod;
use crate::job::spec::Job;
use crate::job::{Serves, watches, words};

/// The clean-up on its caches.
pub struct Orphans {
    /// All Jobs.
    pub jobs: Arc<Store<Job>>,
    /// All pods.
    pub pods: Arc<Store<Pod>>,
    /// Whose pods it may touch.
    pub serves: Serves,
}

impl Workload for Orphans {
    type Observed = Arc<Pod>;
    type Intent = ();

    const KIND: Kind = Kind::POD;
    const QUEUE: &'static str = "job_orphan_pod";
    const COMPONENT: &'static str = "job-controller";
    const RETRIES: RetryLimit = RetryLimit::Paced {
        first: Duration::from_secs(1),
        longest: Duration::from_mins(1),
    };

    fn root(&self, key: &ObjectKey) -> Option<Target> {
        self.pods.get(key).map(|pod| Target::of(Kind::POD, &pod.meta))
    }

    /// Of all pods of a cluster hardly any is nobody's.
    fn concerns(&self, key: &ObjectKey) -> bool {
        let pod = self.pods.get(key);
        pod.is_some_and(|pod| pod.has_finalizer() && watches::is_nobodys(&pod, &self.jobs, &self.serves))
    }

    fn observe(&self, key: &ObjectKey, _aids: &Aids<'_>) -> Observation<Arc<Pod>> {
        let Some(pod) = self.pods.get(key) else {
            return Observation::Absent;
        };
        if !pod.has_finalizer() {
            return Observation::Ignored("it has no finalizer of ours");
        }
        if !watches::is_nobodys(&pod, &self.jobs, &self.serves) {
            return Observation::Ignored("somebody counts it");
        }
        Observation::Ready(pod)
    }

    /// That nobody counts the pod may have changed: a Job can adopt it at any time. So the version that was looked at must still
    /// be the server's.
    fn decide(&self, pod: &Arc<Pod>, _now: Timestamp) -> Plan<()> {
        let release = Patch {
            target: Target::of(Kind::POD, &pod.meta),
            form: PatchForm::Metadata,
            body: json!({"metadata": {
                "resourceVersion": pod.meta.version.as_str(),
                "$deleteFromPrimitiveList/finalizers": [words::TRACKING],
            }}),
            note: None,
        };
        Plan {
            stages: vec![Stage::PatchEach(vec![release])],
            ..Plan::quiet(())
        }
    }

    fn conclude(&self, _pod: &Arc<Pod>, _intent: &(), _outcome: &Outcome, _now: Timestamp) -> Conclusion {
        Conclusion::default()
    }
}

impl fmt::Debug for Orphans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orphans")
            .field("serves", &self.serves)
            .finish_non_exhaustive()
    }
}
