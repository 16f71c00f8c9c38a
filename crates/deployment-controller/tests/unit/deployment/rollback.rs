//! The old rollback annotation (deployment D-50…D-53).

use rstest::rstest;
use serde_json::json;
use testkit::builders::{Manifest as _, Templated as _, deployment};

use super::cluster::{Cluster, image};
use super::{HISTORY, REVISION, annotation};

const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

/// Three revisions, images `a`, `b` and `c`, each with a cause of its own.
fn world() -> Cluster {
    let mut cluster = Cluster::settled(
        deployment("web")
            .replicas(2)
            .annotation("kubernetes.io/change-cause", "a"),
    );
    for image in ["b", "c"] {
        cluster.edit(|web| web.image(image).annotation("kubernetes.io/change-cause", image));
        cluster.roll();
    }
    cluster
}

fn asking_for(revision: &str) -> Cluster {
    let mut cluster = world();
    cluster.edit(|web| web.annotation(ROLLBACK_TO, revision));
    cluster
}

// proves: deployment/D-51, deployment/D-52, deployment/D-53
#[rstest]
#[case::the_one_before_the_last("0", "b", "DeploymentRollback: Rolled back deployment \"web\" to revision 2")]
#[case::the_first("1", "a", "DeploymentRollback: Rolled back deployment \"web\" to revision 1")]
#[case::the_last(
    "3",
    "c",
    "DeploymentRollbackTemplateUnchanged: Revision 3 has the template that deployment \"web\" has already"
)]
#[case::one_that_is_not_there(
    "9",
    "c",
    "DeploymentRollbackRevisionNotFound: No replica set of deployment \"web\" has revision 9"
)]
fn the_template_of_a_revision_comes_back(#[case] asked: &str, #[case] expected: &str, #[case] said: &str) {
    let mut cluster = asking_for(asked);
    let turn = cluster.turn();
    assert_eq!(turn.written(), "change the deployment");
    assert_eq!(turn.said(), [said]);
    assert_eq!(image(&cluster.deployment), expected);
    assert_eq!(
        annotation(&cluster.deployment, "kubernetes.io/change-cause"),
        Some(expected)
    );
    assert_eq!(annotation(&cluster.deployment, ROLLBACK_TO), None);
    assert_eq!(annotation(&cluster.deployment, REVISION), Some("3"));
    assert!(
        cluster
            .deployment
            .pointer("/spec/template/metadata/labels/pod-template-hash")
            .is_none()
    );
}

// proves: deployment/D-53, deployment/D-10
#[test]
fn the_set_of_the_revision_is_used_again_under_a_new_number() {
    let mut cluster = asking_for("1");
    insta::assert_snapshot!(cluster.roll(), @"
    change the deployment
    scale a 0 -> 1; revision of a 4; revision-history of a 1; revision 4
    scale c 2 -> 1; Progressing True ReplicaSetUpdated
    scale a 1 -> 2
    scale c 1 -> 0
    Progressing True NewReplicaSetAvailable
    ");
    assert_eq!(annotation(cluster.set("a"), HISTORY), Some("1"));
    assert_eq!(cluster.sets.len(), 3);
}

// proves: deployment/D-51
#[test]
fn without_a_former_revision_there_is_none_to_go_back_to() {
    let mut cluster = Cluster::settled(deployment("web"));
    cluster.edit(|web| web.annotation(ROLLBACK_TO, "0"));
    let said = cluster.turn().said();
    assert_eq!(
        said,
        ["DeploymentRollbackRevisionNotFound: Deployment \"web\" has no revision before its last one"]
    );
    assert_eq!(annotation(&cluster.deployment, ROLLBACK_TO), None);
}

// proves: deployment/D-50, deployment/D-85
#[rstest]
#[case::a_word("first", false)]
#[case::nothing("", false)]
#[case::while_paused("1", true)]
fn a_request_that_is_no_number_or_comes_during_a_pause_is_not_acted_on(#[case] asked: &str, #[case] paused: bool) {
    let mut cluster = asking_for(asked);
    cluster.edit(|web| web.set("/spec/paused", paused));
    cluster.turn();
    assert_eq!(image(&cluster.deployment), "c");
    assert_eq!(annotation(&cluster.deployment, ROLLBACK_TO), Some(asked));
}

// proves: deployment/D-51
#[test]
fn a_template_of_its_own_gets_its_set_before_the_rollback() {
    let mut cluster = world();
    cluster.edit(|web| web.image("d").annotation(ROLLBACK_TO, "0"));
    let turn = cluster.turn();
    insta::assert_snapshot!(turn.text(), @"create d 1; change the deployment; Progressing True NewReplicaSetCreated; revision 4");
    assert_eq!(
        image(&cluster.deployment),
        "c",
        "revision 3 is the one before the last now"
    );
}

// proves: deployment/D-52
#[test]
fn fields_that_the_old_template_lacks_go_and_those_it_has_come_back() {
    let mut cluster = Cluster::settled(
        deployment("web")
            .replicas(1)
            .set("/spec/template/spec/nodeSelector", json!({"disk": "fast"})),
    );
    let template = cluster.deployment["spec"]["template"].clone();
    cluster.edit(|web| {
        web.image("b").pod_label("tier", "front").patched(&json!({
            "metadata": {"annotations": {"example.com/new": "1"}},
            "spec": {"template": {"spec": {"nodeSelector": {"disk": null, "zone": "a"}, "hostNetwork": true}}},
        }))
    });
    cluster.roll();
    cluster.edit(|web| web.annotation(ROLLBACK_TO, "0"));
    cluster.turn();
    assert_eq!(cluster.deployment["spec"]["template"], template);
    assert_eq!(annotation(&cluster.deployment, "example.com/new"), None);
}
