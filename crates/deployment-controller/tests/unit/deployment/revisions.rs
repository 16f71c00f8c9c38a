//! What the new ReplicaSet carries of its Deployment, and how it is made (deployment D-6…D-16).

use rstest::rstest;
use serde_json::json;
use testkit::builders::{Manifest as _, ReplicaSet, Templated as _, deployment};

use super::cluster::Cluster;
use super::{DESIRED, HISTORY, MAX, REVISION, annotation, set};

/// Two replicas of image `c` with these sets.
fn world(sets: impl IntoIterator<Item = ReplicaSet>) -> Cluster {
    sets.into_iter()
        .fold(Cluster::of(deployment("web").replicas(2).image("c")), Cluster::with)
}

fn with_revision(image: &str, revision: &str) -> ReplicaSet {
    set(image, 0, 0).annotation(REVISION, revision)
}

fn without_revision(image: &str) -> ReplicaSet {
    let bare = set(image, 0, 0).json();
    let mut bare = super::cluster::Stored(bare);
    bare = bare.patched(&json!({"metadata": {"annotations": null}}));
    super::set(image, 0, 0).set("/metadata", bare.json()["metadata"].clone())
}

// proves: deployment/D-8, deployment/D-12
#[rstest]
#[case::no_old_set(vec![], Some("1"), "1")]
#[case::one_more_than_the_highest(vec![with_revision("a", "7"), with_revision("b", "3")], Some("1"), "8")]
#[case::higher_already(vec![with_revision("a", "2")], Some("5"), "5")]
#[case::equal_to_the_next(vec![with_revision("a", "2")], Some("3"), "3")]
#[case::old_ones_without_number(vec![with_revision("a", "x"), without_revision("b")], Some("1"), "1")]
#[case::negative(vec![with_revision("a", "-4")], Some("1"), "1")]
#[case::none_yet(vec![with_revision("a", "2")], None, "3")]
#[case::none_yet_beside_a_negative_one(vec![with_revision("a", "-4")], None, "1")]
#[case::beyond_32_bits(vec![with_revision("a", "3546343826724305832")], Some("1"), "3546343826724305833")]
fn the_new_set_has_the_highest_revision(
    #[case] old: Vec<ReplicaSet>,
    #[case] own: Option<&str>,
    #[case] expected: &str,
) {
    let new = own.map_or_else(|| without_revision("c"), |own| with_revision("c", own));
    let mut cluster = world(old).with(new);
    cluster.turn();
    assert_eq!(annotation(cluster.set("c"), REVISION), Some(expected));
    assert_eq!(annotation(&cluster.deployment, REVISION), Some(expected));
}

// proves: deployment/D-10
#[rstest]
#[case::first(None, "3", Some("3"))]
#[case::next(Some("1"), "3", Some("1,3"))]
#[case::malformed(Some(",1"), "3", Some("3"))]
#[case::not_raised(Some("1"), "9", Some("1"))]
fn former_revisions_are_kept(#[case] history: Option<&str>, #[case] own: &str, #[case] expected: Option<&str>) {
    let new = history
        .into_iter()
        .fold(with_revision("c", own), |set, history| set.annotation(HISTORY, history));
    let mut cluster = world([with_revision("a", "8")]).with(new);
    cluster.turn();
    assert_eq!(annotation(cluster.set("c"), HISTORY), expected);
}

// proves: deployment/D-10
#[test]
fn the_list_of_former_revisions_is_cut_from_the_front() {
    let rest = (101..599)
        .map(|number| number.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let extended = |first: &str| {
        let history = format!("{first},{rest}");
        let old = with_revision("a", "800");
        let mut cluster = world([old]).with(with_revision("c", "600").annotation(HISTORY, &history));
        cluster.turn();
        annotation(cluster.set("c"), HISTORY).unwrap().to_owned()
    };
    assert_eq!(extended("1000"), format!("1000,{rest},600"));
    assert_eq!(extended("1000").len(), 2000);
    assert_eq!(extended("10000"), format!("{rest},600"));
}

// proves: deployment/D-10
#[test]
fn a_set_whose_revision_is_a_word_is_left_alone() {
    let mut cluster = world([with_revision("a", "8"), with_revision("c", "one")]);
    cluster.edit(|web| web.annotation("example.com/owner", "shop").replicas(0));
    assert_eq!(cluster.turn().written(), "");
    assert_eq!(annotation(&cluster.deployment, REVISION), Some("one"));
}

// proves: deployment/D-9
#[test]
fn annotations_go_from_the_deployment_to_its_new_set_only() {
    let mut cluster = world([
        with_revision("a", "1"),
        with_revision("c", "2").annotation("left", "over"),
    ]);
    let annotations = json!({
        "kubernetes.io/change-cause": "edit",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "deployment.kubernetes.io/revision": "77",
        "deployment.kubernetes.io/revision-history": "5,6",
        "deployment.kubernetes.io/desired-replicas": "99",
        "deployment.kubernetes.io/max-replicas": "99",
        "deprecated.deployment.rollback.to": "not a number",
    });
    cluster.edit(|web| web.set("/metadata/annotations", annotations).replicas(0));
    cluster.turn();
    assert_eq!(
        cluster.set("c")["metadata"]["annotations"],
        json!({"deployment.kubernetes.io/revision": "2", "kubernetes.io/change-cause": "edit", "left": "over"})
    );
    assert_eq!(
        cluster.set("a")["metadata"]["annotations"],
        json!({"deployment.kubernetes.io/revision": "1"})
    );
}

// proves: deployment/D-11
#[test]
fn min_ready_seconds_goes_to_the_new_set_only() {
    let mut cluster = world([with_revision("a", "1"), with_revision("c", "2")]);
    cluster.edit(|web| web.min_ready_seconds(5).replicas(0));
    assert_eq!(cluster.turn().written(), "min-ready of c 5");
    assert_eq!(cluster.turn().written(), "");
}

// proves: deployment/D-11, deployment/D-65
#[test]
fn one_patch_carries_all_that_is_wanted_of_a_set() {
    let mut cluster = world([with_revision("a", "4"), with_revision("c", "2")]);
    cluster.edit(|web| web.min_ready_seconds(5).annotation("example.com/owner", "shop"));
    let turn = cluster.turn();
    assert_eq!(turn.plan.stages.len(), 1);
    insta::assert_snapshot!(
        turn.text(),
        @"scale c 0 -> 2; min-ready of c 5; revision of c 5; revision-history of c 2; owner of c shop; Progressing True FoundNewReplicaSet; revision 5"
    );
}

// proves: deployment/D-6, deployment/D-7
#[test]
fn of_two_sets_with_the_template_the_older_is_the_new_one() {
    let twin = set("d", 1, 1).image("c");
    let mut cluster = world([set("c", 1, 1), twin]);
    cluster.turn();
    let size = |name: &str| {
        let set = cluster.sets.iter().find(|set| set["metadata"]["name"] == name);
        set.unwrap()["spec"]["replicas"].clone()
    };
    assert_eq!(
        (size("web-c"), size("web-d")),
        (json!(2), json!(1)),
        "the younger one is old"
    );
}

// proves: deployment/D-5, deployment/D-6
#[test]
fn of_two_sets_of_one_second_the_first_by_name_is_older() {
    let same_age = |name: &str| {
        let twin = set("c", 1, 1).set("/metadata/name", name);
        twin.uid(&format!("uid-of-{name}"))
    };
    let mut cluster = world([same_age("web-2"), same_age("web-1")]);
    cluster.turn();
    let grown = cluster.sets.iter().find(|set| set["spec"]["replicas"] == 2).unwrap();
    assert_eq!(grown["metadata"]["name"], "web-1");
}

// proves: deployment/D-6, deployment/L-13
#[test]
fn a_set_on_its_way_out_still_is_the_new_one() {
    let mut cluster = world([set("c", 2, 2).terminating(super::noon())]);
    assert_eq!(cluster.turn().written(), "");
}

// proves: deployment/D-13, deployment/C-13
#[test]
fn a_new_set_is_made_of_the_template_and_what_tells_it_apart() {
    let web = deployment("web")
        .replicas(10)
        .rolling(3, 0)
        .min_ready_seconds(7)
        .label("of", "the deployment")
        .annotation("kubernetes.io/change-cause", "first");
    let expressions = json!([{"key": "tier", "operator": "NotIn", "values": ["back"]}]);
    let mut cluster = Cluster::of(web.set("/spec/selector/matchExpressions", expressions.clone()));
    cluster.turn();
    let set = cluster.set("a");
    let hash = set["metadata"]["labels"]["pod-template-hash"].clone();
    assert_eq!(
        set["metadata"]["labels"],
        json!({"app": "web", "pod-template-hash": hash})
    );
    assert_eq!(
        set["metadata"]["annotations"],
        json!({(REVISION): "1", (DESIRED): "10", (MAX): "13", "kubernetes.io/change-cause": "first"})
    );
    assert_eq!(
        set["metadata"]["ownerReferences"],
        json!([{
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-of-web",
            "controller": true, "blockOwnerDeletion": true,
        }])
    );
    assert_eq!(
        set["spec"],
        json!({
            "replicas": 10,
            "minReadySeconds": 7,
            "selector": {
                "matchLabels": {"app": "web", "pod-template-hash": hash},
                "matchExpressions": expressions,
            },
            "template": {
                "metadata": {"labels": {"app": "web", "pod-template-hash": hash}},
                "spec": cluster.deployment["spec"]["template"]["spec"],
            },
        })
    );
}

// proves: deployment/D-13
#[test]
fn a_size_of_nothing_is_written_out() {
    let mut cluster = world([set("a", 3, 3)]);
    cluster.edit(|web| {
        web.set(
            "/spec/strategy/rollingUpdate",
            json!({"maxSurge": 0, "maxUnavailable": 1}),
        )
    });
    assert!(cluster.turn().written().starts_with("create c 0"));
    assert_eq!(cluster.set("c")["spec"]["replicas"], 0);
}

// proves: deployment/D-16
#[test]
fn a_name_too_long_is_cut_before_the_hash() {
    let mut cluster = Cluster::of(deployment("web"));
    cluster.turn();
    let hash = cluster.sets[0]["metadata"]["labels"]["pod-template-hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let long = "w".repeat(253);
    let mut cluster = Cluster::of(deployment("web").set("/metadata/name", long.as_str()));
    cluster.turn();
    let name = cluster.sets[0]["metadata"]["name"].as_str().unwrap();
    assert_eq!(name.len(), 253);
    assert_eq!(name, format!("{}-{hash}", &long[..252 - hash.len()]));
}

// proves: deployment/C-63, deployment/C-64
#[test]
fn the_name_follows_from_template_and_collisions_alone() {
    let name = |cluster: &mut Cluster| {
        cluster.turn();
        cluster.sets[0]["metadata"]["name"].clone()
    };
    let plain = name(&mut Cluster::of(deployment("web").replicas(2)));
    assert_eq!(
        name(&mut Cluster::of(deployment("web").replicas(7).min_ready_seconds(3))),
        plain
    );
    assert_ne!(name(&mut Cluster::of(deployment("web").image("b"))), plain);
    for count in [0, 1] {
        let collided = deployment("web").set("/status/collisionCount", count);
        assert_ne!(name(&mut Cluster::of(collided)), plain, "{count}");
    }
}

// proves: deployment/I-7, deployment/D-6
#[test]
fn a_field_of_the_template_that_nobody_knows_is_passed_on_and_compared() {
    let mut cluster = Cluster::of(deployment("web").set("/spec/template/spec/x-future", json!({"a": [1]})));
    cluster.roll();
    assert_eq!(
        cluster.sets[0]["spec"]["template"]["spec"]["x-future"],
        json!({"a": [1]})
    );
    cluster.edit(|web| web.set("/spec/template/spec/x-future/a", json!([2])));
    cluster.roll();
    assert_eq!(cluster.sets.len(), 2);
    assert_eq!(
        cluster.sets[1]["spec"]["template"]["spec"]["x-future"],
        json!({"a": [2]})
    );
}
