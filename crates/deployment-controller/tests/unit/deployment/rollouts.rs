//! Whole rollouts: every line is one turn that wrote something.

use std::time::Duration;

use serde_json::json;
use testkit::builders::{Manifest as _, Templated as _, deployment, pod};
use workload_core::time;

use super::cluster::{Cluster, image};
use super::{DESIRED, HISTORY, MAX, REVISION, annotation, set};

/// Ten replicas of image `a`, rolled out; surge 3, two may be unavailable.
fn ten() -> Cluster {
    Cluster::settled(deployment("web").replicas(10).rolling(3, 2))
}

/// The same, stuck half-way to image `b`, whose pods do not become ready: `a` 8, `b` 5.
fn stuck() -> Cluster {
    let mut cluster = ten();
    cluster.broken = vec!["b"];
    cluster.edit(|web| web.image("b"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 8, b 5");
    cluster
}

// proves: deployment/D-13, deployment/D-77
#[test]
fn a_new_deployment_gets_one_replica_set() {
    let mut cluster = Cluster::of(deployment("web").replicas(3));
    insta::assert_snapshot!(cluster.roll(), @"
    create a 3; Progressing True NewReplicaSetCreated; revision 1
    Progressing True NewReplicaSetAvailable
    ");
}

// proves: deployment/T-1, deployment/D-31, deployment/D-32, deployment/D-33, deployment/D-35, deployment/D-74
#[test]
fn a_broken_template_stops_at_what_surge_and_availability_allow() {
    let mut cluster = ten();
    cluster.broken = vec!["b"];
    cluster.edit(|web| web.image("b"));
    insta::assert_snapshot!(cluster.roll(), @"
    create b 3; scale a 10 -> 8; Progressing True NewReplicaSetCreated; revision 2
    scale b 3 -> 5; Progressing True ReplicaSetUpdated
    ");
    assert_eq!(cluster.sizes(), "a 8, b 5");
    cluster.now = time::plus(cluster.now, Duration::from_mins(10));
    insta::assert_snapshot!(cluster.roll(), @"Progressing False ProgressDeadlineExceeded");
}

// proves: deployment/T-2, deployment/D-22, deployment/D-23
#[test]
fn scaling_a_stuck_rollout_keeps_the_shares() {
    let mut cluster = stuck();
    cluster.edit(|web| web.replicas(30));
    insta::assert_snapshot!(cluster.roll(), @"scale b 5 -> 13; scale a 8 -> 20");
    for image in ["a", "b"] {
        assert_eq!(annotation(cluster.set(image), DESIRED), Some("30"));
        assert_eq!(annotation(cluster.set(image), MAX), Some("33"));
    }
    cluster.edit(|web| web.replicas(10));
    insta::assert_snapshot!(cluster.roll(), @"scale b 13 -> 5; scale a 20 -> 8");
}

// proves: deployment/T-3, deployment/D-10, deployment/D-33, deployment/D-34
#[test]
fn undoing_a_stuck_rollout_takes_the_broken_pods_first() {
    let mut cluster = stuck();
    cluster.report("a", 8, 7);
    cluster.edit(|web| web.image("a"));
    insta::assert_snapshot!(cluster.turn().text(), @"revision of a 3; revision-history of a 1; scale b 5 -> 1; revision 3");
    insta::assert_snapshot!(cluster.roll(), @"
    scale a 8 -> 10
    scale b 1 -> 0
    Progressing True NewReplicaSetAvailable
    ");
    assert_eq!(annotation(cluster.set("a"), REVISION), Some("3"));
    assert_eq!(annotation(cluster.set("a"), HISTORY), Some("1"));
}

// proves: deployment/T-4, deployment/D-13, deployment/D-34
#[test]
fn a_third_template_replaces_the_stuck_second_one() {
    let mut cluster = stuck();
    cluster.broken = vec!["b", "c"];
    cluster.edit(|web| web.image("c"));
    let first = cluster.turn();
    insta::assert_snapshot!(first.text(), @"create c 0; scale b 5 -> 0; Progressing True NewReplicaSetCreated; revision 3");
    let spoken = first.said();
    assert_eq!(spoken.len(), 1, "a ReplicaSet of size 0 is nothing to tell: {spoken:?}");
    insta::assert_snapshot!(cluster.roll(), @"
    scale c 0 -> 5
    Progressing True ReplicaSetUpdated
    ");
    assert_eq!(cluster.sizes(), "a 8, b 0, c 5");
}

// proves: deployment/T-5, deployment/D-30
#[test]
fn one_replica_without_surge_goes_before_its_successor_comes() {
    let mut cluster = Cluster::settled(deployment("web").replicas(1).rolling(0, "1%"));
    cluster.edit(|web| web.image("b"));
    insta::assert_snapshot!(cluster.roll(), @"
    create b 0; scale a 1 -> 0; Progressing True NewReplicaSetCreated; revision 2
    scale b 0 -> 1; Progressing True ReplicaSetUpdated
    Progressing True NewReplicaSetAvailable
    ");
    let mut cluster = Cluster::settled(deployment("web").replicas(1).rolling("25%", "25%"));
    cluster.edit(|web| web.image("b"));
    insta::assert_snapshot!(cluster.roll(), @"
    create b 1; Progressing True NewReplicaSetCreated; revision 2
    scale a 1 -> 0; Progressing True ReplicaSetUpdated
    Progressing True NewReplicaSetAvailable
    ");
}

// proves: deployment/T-7, deployment/D-90
#[test]
fn terminating_pods_change_no_size() {
    let mut cluster = Cluster::settled(deployment("web").replicas(100).rolling(20, 0));
    cluster.broken = vec!["b"];
    cluster.edit_set("a", |set| set.set("/status/terminatingReplicas", 15));
    cluster.edit(|web| web.image("b"));
    cluster.turn();
    cluster.turn();
    assert_eq!(cluster.sizes(), "a 100, b 20");
    assert_eq!(cluster.deployment["status"]["terminatingReplicas"], 15);
    cluster.report("b", 20, 0);
    cluster.edit_set("b", |set| set.set("/status/terminatingReplicas", 1));
    cluster.edit(|web| web.replicas(120));
    insta::assert_snapshot!(cluster.turn().text(), @"scale b 20 -> 23; scale a 100 -> 117");
    assert_eq!(cluster.deployment["status"]["terminatingReplicas"], 16);
    assert_eq!(annotation(cluster.set("a"), DESIRED), Some("120"));
    assert_eq!(annotation(cluster.set("a"), MAX), Some("140"));
}

// proves: deployment/T-8, deployment/D-20, deployment/D-22
#[test]
fn a_rollout_scaled_to_nothing_comes_back_with_the_new_template_only() {
    let sets = [set("a", 3, 3), set("b", 2, 2), set("c", 1, 1)];
    let mut cluster = Cluster::of(deployment("web").replicas(6).rolling(2, 1).image("c"));
    for set in sets {
        cluster = cluster.with(set.annotation(DESIRED, "6").annotation(MAX, "8"));
    }
    cluster.edit(|web| web.replicas(0));
    insta::assert_snapshot!(cluster.roll(), @"
    scale c 1 -> 0; scale a 3 -> 0; scale b 2 -> 0; Progressing True FoundNewReplicaSet; revision 3
    Progressing True NewReplicaSetAvailable
    ");
    cluster.edit(|web| web.replicas(6));
    insta::assert_snapshot!(cluster.roll(), @"scale c 0 -> 6");
}

// proves: deployment/T-9, deployment/D-40, deployment/D-41, deployment/D-42, deployment/D-43
#[test]
fn recreate_makes_no_pod_before_the_last_old_one_is_gone() {
    let mut cluster = Cluster::settled(deployment("web").replicas(6).recreate());
    cluster.edit(|web| web.image("b"));
    cluster.pods = vec![
        pod("one").owned_by(cluster.set("a")).terminating(cluster.now).json(),
        pod("two").owned_by(cluster.set("a")).phase("Unknown").json(),
    ];
    insta::assert_snapshot!(cluster.roll(), @"scale a 6 -> 0");
    assert_eq!(cluster.deployment["status"]["replicas"], 0);
    cluster.pods.remove(0);
    assert_eq!(cluster.roll(), "", "the pod of a silent node may still run");
    cluster.pods[0]["status"]["phase"] = json!("Failed");
    insta::assert_snapshot!(cluster.roll(), @"
    create b 6; Progressing True NewReplicaSetCreated; revision 2
    Progressing True NewReplicaSetAvailable
    ");
    cluster
        .pods
        .push(pod("three").owned_by(cluster.set("b")).terminating(cluster.now).json());
    for replicas in [7, 5] {
        cluster.edit(|web| web.replicas(replicas));
        cluster.turn();
        assert_eq!(
            cluster.sizes(),
            format!("a 0, b {replicas}"),
            "terminating pods do not hold up scaling"
        );
    }
}

// proves: deployment/T-10, deployment/D-21, deployment/D-84, deployment/D-85, deployment/K-1
#[test]
fn a_paused_deployment_is_scaled_but_not_rolled() {
    let mut cluster = Cluster::settled(deployment("web").replicas(1));
    cluster.edit(|web| web.set("/spec/paused", true).image("b").replicas(10));
    insta::assert_snapshot!(cluster.roll(), @"scale a 1 -> 10; Progressing Unknown DeploymentPaused");
    assert_eq!(cluster.deployment["status"]["observedGeneration"], 2);
    let paused_at = cluster.condition("Progressing").unwrap()["lastUpdateTime"].clone();
    cluster.edit(|web| web.set("/spec/paused", false));
    let resumed = cluster.turn();
    insta::assert_snapshot!(resumed.text(), @"create b 3; scale a 10 -> 8; Progressing Unknown DeploymentResumed; revision 2");
    assert_ne!(cluster.condition("Progressing").unwrap()["lastUpdateTime"], paused_at);
    insta::assert_snapshot!(cluster.roll(), @"
    scale b 3 -> 5
    scale a 8 -> 3; Progressing True ReplicaSetUpdated
    scale b 5 -> 10
    scale a 3 -> 0
    Progressing True NewReplicaSetAvailable
    ");
}

// proves: deployment/T-12, deployment/D-14
#[test]
fn a_replica_set_edited_in_place_loses_its_place_but_not_its_name() {
    let mut cluster = Cluster::settled(deployment("web").replicas(2));
    cluster.edit_set("a", |set| set.image("x"));
    insta::assert_snapshot!(cluster.roll(), @"
    collisions 1
    create a 1; Progressing True NewReplicaSetCreated; revision 2
    scale x 2 -> 1; Progressing True ReplicaSetUpdated
    scale a 1 -> 2
    scale x 1 -> 0
    Progressing True NewReplicaSetAvailable
    ");
}

// proves: deployment/T-13, deployment/C-11, deployment/D-6, deployment/D-14
#[test]
fn a_replica_set_whose_label_was_changed_is_let_go_and_taken_back() {
    let mut cluster = Cluster::settled(deployment("web").replicas(2));
    let name = cluster.set("a")["metadata"]["name"].clone();
    cluster.edit_set("a", |set| set.label("app", "other"));
    insta::assert_snapshot!(cluster.roll(), @"
    release a; collisions 1
    create a 2; Progressing True NewReplicaSetCreated
    Progressing True NewReplicaSetAvailable
    ");
    let strayed = |cluster: &Cluster| {
        cluster
            .sets
            .iter()
            .position(|set| set["metadata"]["name"] == name)
            .unwrap()
    };
    let at = strayed(&cluster);
    cluster.sets[at]["metadata"]["labels"]["app"] = json!("web");
    cluster.sets[at]["metadata"]["resourceVersion"] = json!("9000");
    insta::assert_snapshot!(cluster.roll(), @"
    adopt a; revision of a 2; revision-history of a 1; scale a 2 -> 0; Progressing True ReplicaSetUpdated; revision 2
    Progressing True NewReplicaSetAvailable
    ");
    assert_eq!(cluster.sets[strayed(&cluster)]["spec"]["replicas"], 2);
    assert_eq!(
        cluster.sets.iter().filter(|set| set["spec"]["replicas"] == 0).count(),
        1
    );
}

// proves: deployment/T-14, deployment/C-11, deployment/D-8
#[test]
fn a_new_deployment_takes_over_what_the_former_one_left() {
    let orphan = set("a", 2, 2).set("/metadata/ownerReferences", json!([]));
    let mut cluster = Cluster::of(deployment("web").replicas(2));
    cluster = cluster.with(orphan.clone());
    cluster.edit_set("a", |set| set.set("/metadata/ownerReferences", json!([])));
    insta::assert_snapshot!(cluster.roll(), @"adopt a; Progressing True NewReplicaSetAvailable; revision 1");
    assert_eq!(cluster.sets.len(), 1);

    let mut cluster = Cluster::of(deployment("web").replicas(2).image("b"));
    cluster = cluster.with(orphan.annotation(REVISION, "3546343826724305832"));
    cluster.edit_set("a", |set| set.set("/metadata/ownerReferences", json!([])));
    cluster.roll();
    assert_eq!(annotation(cluster.set("b"), REVISION), Some("3546343826724305833"));
}

// proves: deployment/T-24, deployment/D-9, deployment/D-31, deployment/D-33
#[test]
fn annotations_are_copied_and_meddled_sizes_put_right() {
    let mut cluster = Cluster::settled(deployment("web").replicas(3).rolling(1, 0));
    cluster.edit(|web| web.image("b"));
    cluster.roll();
    let before = cluster.set("b")["metadata"]["generation"].clone();

    cluster.edit(|web| web.annotation("example.com/owner", "shop"));
    insta::assert_snapshot!(cluster.roll(), @"owner of b shop");
    assert_eq!(cluster.set("b")["metadata"]["generation"], before);
    assert_eq!(cluster.deployment["status"]["observedGeneration"], 3);
    cluster.edit(|web| web.patched(&json!({"metadata": {"annotations": {"example.com/owner": null}}})));
    assert_eq!(cluster.roll(), "", "the copy stays");

    cluster.edit_set("b", |set| set.replicas(5));
    insta::assert_snapshot!(cluster.turn().text(), @"scale b 5 -> 3");
    cluster.settle();
    cluster.edit_set("a", |set| set.replicas(2));
    insta::assert_snapshot!(cluster.clone().turn().text(), @"scale a 2 -> 0");
    cluster.settle();
    insta::assert_snapshot!(cluster.roll(), @"
    scale a 2 -> 0; Progressing True ReplicaSetUpdated
    Progressing True NewReplicaSetAvailable
    ");
}

// proves: deployment/T-25, deployment/L-1, deployment/D-20, deployment/D-21
#[test]
fn a_rollout_scaled_to_the_size_that_it_has_goes_on() {
    let mut cluster = Cluster::settled(deployment("web").replicas(5).rolling(0, 1));
    cluster.edit(|web| web.image("b"));
    cluster.turn();
    assert_eq!(cluster.sizes(), "a 4, b 0");
    cluster.settle();
    cluster.edit(|web| web.replicas(4));
    insta::assert_snapshot!(cluster.roll(), @"
    desired-replicas of a 4; max-replicas of a 4
    scale a 4 -> 3
    scale b 0 -> 1; Progressing True ReplicaSetUpdated
    scale a 3 -> 2
    scale b 1 -> 2
    scale a 2 -> 1
    scale b 2 -> 3
    scale a 1 -> 0
    scale b 3 -> 4
    Progressing True NewReplicaSetAvailable
    ");
}

// proves: deployment/L-1
#[test]
fn a_change_of_strategy_and_size_at_once_does_not_stop_a_rollout() {
    let mut cluster = stuck();
    cluster.broken.clear();
    cluster.edit(|web| web.set("/spec/strategy", json!({"type": "Recreate"})).replicas(9));
    insta::assert_snapshot!(cluster.roll(), @"
    desired-replicas of b 9; max-replicas of b 9; desired-replicas of a 9; max-replicas of a 9
    scale a 8 -> 0
    scale b 5 -> 9
    Progressing True NewReplicaSetAvailable
    ");
}

// proves: deployment/W-23, deployment/W-25, deployment/D-64
#[test]
fn a_rollout_writes_to_replica_sets_as_often_as_its_waves_demand_and_then_not_at_all() {
    let cases = [
        ((10, 3, 2), (2, 3)),
        ((100, 25, 25), (2, 3)),
        ((7, 2, 1), (3, 3)),
        ((4, 1, 0), (3, 4)),
        ((10, 10, 0), (0, 1)),
        ((10, 0, 10), (1, 1)),
    ];
    for ((replicas, surge, unavailable), expected) in cases {
        let mut cluster = Cluster::settled(deployment("web").replicas(replicas).rolling(surge, unavailable));
        cluster.edit(|web| web.image("b"));
        let text = cluster.roll();
        let writes = |what: &str| text.matches(what).count();
        assert_eq!(
            (writes("scale b"), writes("scale a")),
            expected,
            "{replicas}, {surge}, {unavailable}:\n{text}"
        );
        let stored = cluster.deployment.clone();
        assert_eq!(cluster.roll(), "");
        assert_eq!(cluster.deployment, stored);
    }
}

// proves: deployment/C-65, deployment/D-13, deployment/K-10
#[test]
fn the_hash_is_the_same_in_name_labels_selector_and_template() {
    let mut cluster = Cluster::of(deployment("web").replicas(2));
    cluster.turn();
    let set = &cluster.sets[0];
    assert_eq!(image(set), "a");
    let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().unwrap();
    assert_eq!(set["metadata"]["name"], format!("web-{hash}"));
    assert_eq!(
        set["metadata"]["labels"],
        json!({"app": "web", "pod-template-hash": hash})
    );
    assert_eq!(set["spec"]["selector"]["matchLabels"], set["metadata"]["labels"]);
    assert_eq!(set["spec"]["template"]["metadata"]["labels"], set["metadata"]["labels"]);
}
