//! The clean-up of finalizers.

use std::sync::Arc;

use job_controller::job::pod::Pod;
use job_controller::job::words;
use job_controller::job::{Manager, Serves};
use job_controller::orphans::Orphans;
use serde_json::json;
use testkit::builders::{Manifest as _, pod};
use workload_core::cache::Store;
use workload_core::outcome::Outcome;
use workload_core::plan::{PatchForm, Stage, Wake};
use workload_core::time::Timestamp;
use workload_core::workload::Workload as _;

// proves: job/J-172
#[test]
fn the_finalizer_of_jobs_goes_and_no_other() {
    let orphans = Orphans {
        jobs: Arc::new(Store::default()),
        pods: Arc::new(Store::default()),
        serves: Serves(Manager::BuiltIn),
    };
    let left: Pod = pod("left").finalizer(words::TRACKING).finalizer("test/keep").decode();
    let left = Arc::new(left);
    let plan = orphans.decide(&left, Timestamp::MIN);
    let [Stage::PatchEach(patches)] = &plan.stages[..] else {
        panic!("{:?}", plan.stages)
    };
    // The version, because a Job may adopt the pod in between: then its Job counts it.
    let version = left.meta.version.as_str();
    let body = json!({"metadata": {
        "resourceVersion": version, "$deleteFromPrimitiveList/finalizers": [words::TRACKING],
    }});
    assert_eq!(
        (patches.len(), &patches[0].body, patches[0].form),
        (1, &body, PatchForm::Metadata)
    );
    assert_eq!(patches[0].target.uid, left.meta.uid);
    let end = orphans.conclude(&left, &(), &Outcome::default(), Timestamp::MIN);
    assert!(end.status.is_none() && end.notes.is_empty() && end.wake == Wake::OnChange);
}
