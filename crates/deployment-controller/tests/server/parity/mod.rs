//! The same scripts, played by us and by kube-controller-manager, come to the same: objects, histories, events; and ours
//! does not write more often.

mod kubectl;
mod ownership;
mod revisions;
mod rollouts;
mod scaling;
mod templates;
mod trouble;

use serde_json::{Value, json};
use testkit::Scene;
use testkit::parity::Pace;
use workload_core::id::Kind;

use crate::PROGRAM;

/// Plays a script of single steps twice and compares.
#[allow(clippy::needless_pass_by_value, reason = "a script is written where it is played")]
fn parity(script: impl AsyncFn(&Scene)) {
    testkit::parity::parity(&PROGRAM, Pace::Stepwise, &script);
}

/// As [`parity`], for a script in which things happen as fast as they can.
#[allow(clippy::needless_pass_by_value, reason = "a script is written where it is played")]
fn parity_at_own_pace(script: impl AsyncFn(&Scene)) {
    testkit::parity::parity(&PROGRAM, Pace::Own, &script);
}

/// Makes a workload and gets it ready, pod by pod.
async fn make(scene: &Scene, workload: impl Into<Value>) {
    scene.create(workload).await;
    scene.serve_pods().await;
}

/// Changes the spec of the Deployment `web`, and waits until nothing is left to do but to get pods ready.
async fn change_spec(scene: &Scene, spec: Value) {
    scene.merge(Kind::DEPLOYMENT, "web", json!({ "spec": spec })).await;
    scene.end_pods().await;
}

/// Gives `web` another image; see [`change_spec`].
async fn roll(scene: &Scene, image: &str) {
    scene.set_image("web", image).await;
    scene.end_pods().await;
}
