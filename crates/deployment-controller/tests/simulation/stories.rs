//! What users do with Deployments.

use serde_json::{Value, json};
use testkit::Kind;
use testkit::builders::{Manifest as _, Templated as _, deployment, replica_set};
use testkit::object::Stored;
use testkit::record::State;
use testkit::simulation::scenario::{NAMESPACE, Scenario};
use testkit::simulation::server::{DeleteOptions, Propagation, Quota};

use crate::{laws, opt_ins, summary};

/// A finalizer of somebody else.
const HELD: &str = "example.com/held";
/// A custom resource that controls ReplicaSets of its own.
const ROLLOUT: Kind = Kind {
    group: "example.com",
    version: "v1",
    kind: "Rollout",
    plural: "rollouts",
};

/// All stories.
pub(crate) fn all() -> Vec<Scenario> {
    [
        create(),
        scale(),
        rolling(),
        roll("roll by surge alone", 4, json!(1), json!(0), 5, 4),
        roll("roll by unavailability alone", 4, json!(0), json!(1), 4, 3),
        roll("roll all at once", 4, json!("100%"), json!("50%"), 8, 2),
        recreate(),
        roll_back(),
        change_of_mind(),
        pause(),
        orphan(),
        delete(),
        quota(),
        deadline(),
        history(),
        held_by_a_finalizer(),
        of_a_stranger(),
    ]
    .into_iter()
    .chain(opt_ins::all())
    .collect()
}

pub(crate) fn story(name: &'static str) -> Scenario {
    Scenario::named(name, summary::of).under(laws::surplus)
}

/// A Deployment of three pods comes up.
pub(crate) fn create() -> Scenario {
    let web = deployment("web").replicas(3).json();
    settled(story("create").create(Kind::DEPLOYMENT, web)).under(laws::rolling(4, 0))
}

pub(crate) fn scale() -> Scenario {
    let web = deployment("web").replicas(3).json();
    let three = settled(story("scale").create(Kind::DEPLOYMENT, web));
    let six = settled(scaled(three, 6));
    settled(scaled(six, 2)).under(laws::rolling(6, 2))
}

/// A rolling update with upstream's defaults.
pub(crate) fn rolling() -> Scenario {
    roll("roll", 5, json!("25%"), json!("25%"), 7, 4)
}

fn roll(name: &'static str, size: u32, surge: Value, unavailable: Value, most: i64, least: i64) -> Scenario {
    let web = deployment("web").replicas(size).rolling(surge, unavailable).json();
    let first = settled(story(name).create(Kind::DEPLOYMENT, web));
    settled(imaged(first, "b")).under(laws::rolling(most, least))
}

fn recreate() -> Scenario {
    let web = deployment("web").replicas(3).recreate().json();
    let first = settled(story("recreate").create(Kind::DEPLOYMENT, web));
    settled(imaged(first, "b"))
}

fn roll_back() -> Scenario {
    let web = deployment("web").replicas(4).json();
    let first = settled(story("roll back").create(Kind::DEPLOYMENT, web));
    let second = settled(imaged(first, "b"));
    settled(imaged(second, "a")).under(laws::rolling(5, 3))
}

/// Two new templates, the second before the first is rolled out: how many pods of the first are made depends on who is faster.
fn change_of_mind() -> Scenario {
    let web = deployment("web").replicas(4).json();
    let first = settled(story("change of mind").create(Kind::DEPLOYMENT, web));
    let second = imaged(first, "b").until("a new pod is there", |state| has_pod(state, "b"));
    settled(imaged(second, "c"))
        .under(laws::rolling(5, 3))
        .created_twice_at_most()
}

fn pause() -> Scenario {
    let web = deployment("web").replicas(4).json();
    let paused = settled(story("pause").create(Kind::DEPLOYMENT, web))
        .merge(Kind::DEPLOYMENT, "web", json!({"spec": {"paused": true}}))
        .until("the pause is seen", is_observed);
    let changed = imaged(paused, "b").until("the template is seen", is_observed);
    let larger = scaled(changed, 6).until("it has grown", |state| {
        is_observed(state)
            && state
                .deployment("web")
                .is_some_and(|web| web.count("availableReplicas") == 6)
    });
    let resumed = larger.merge(Kind::DEPLOYMENT, "web", json!({"spec": {"paused": false}}));
    settled(resumed).under(laws::rolling(8, 3))
}

/// The Deployment goes, what it owned stays, and another one of the same selector takes it over.
///
/// A process that sees the new Deployment while its cache of ReplicaSets still shows the old owner makes a ReplicaSet of its
/// own, by upstream's rules (deployment D-14), and later scales one of the two down; so the bounds hold but for that, and which
/// of them is left with pods is open.
pub(crate) fn orphan() -> Scenario {
    let web = || deployment("web").replicas(3).json();
    let options = DeleteOptions {
        propagation: Some(Propagation::Orphan),
        ..DeleteOptions::default()
    };
    let story = Scenario::named("orphan", summary::of_what_runs).under(laws::surplus);
    let left = settled(story.create(Kind::DEPLOYMENT, web()))
        .delete(Kind::DEPLOYMENT, "web", options)
        .until("it is gone", |state| state.deployment("web").is_none());
    settled(left.create(Kind::DEPLOYMENT, web()))
        .under(laws::rolling(6, 3))
        .created_twice_at_most()
}

/// The Deployment goes with all that it owns.
///
/// A process that sees its ReplicaSet go before it sees the Deployment go makes another one, by upstream's rules (deployment
/// D-13); the garbage collector removes that too.
fn delete() -> Scenario {
    let web = deployment("web").replicas(3).json();
    let options = DeleteOptions {
        propagation: Some(Propagation::Background),
        ..DeleteOptions::default()
    };
    settled(story("delete").create(Kind::DEPLOYMENT, web))
        .created_twice_at_most()
        .delete(Kind::DEPLOYMENT, "web", options)
        .until("all is gone", |state| {
            state.pods().is_empty() && state.replica_sets().is_empty()
        })
}

fn quota() -> Scenario {
    let web = deployment("web").replicas(12).json();
    let refused = story("quota")
        .server("a quota of two pods", |server| server.set_quota(pods(2)))
        .create(Kind::DEPLOYMENT, web)
        .until("the failure is told", |state| {
            let web = state.deployment("web");
            web.is_some_and(|web| web.says("ReplicaFailure").starts_with("True") && web.count("availableReplicas") == 2)
        });
    settled(refused.server("a quota of 24 pods", |server| server.set_quota(pods(24)))).under(laws::rolling(15, 0))
}

fn deadline() -> Scenario {
    let web = deployment("web").replicas(3).deadline_seconds(30).json();
    let first = settled(story("deadline").create(Kind::DEPLOYMENT, web));
    let stuck = imaged(first, "bad").until("the deadline has passed", |state| {
        let web = state.deployment("web");
        web.is_some_and(|web| is_observed(state) && web.says("Progressing") == "False ProgressDeadlineExceeded")
    });
    settled(imaged(stuck, "a"))
        .never_ready(&["bad"])
        .under(laws::rolling(4, 3))
}

fn history() -> Scenario {
    let web = deployment("web").replicas(2).history_limit(1).json();
    let first = settled(story("history").create(Kind::DEPLOYMENT, web));
    let images = ["b", "c", "d"];
    let rolled = images
        .into_iter()
        .fold(first, |story, image| settled(imaged(story, image)));
    rolled.under(laws::rolling_and_cleaning(3, 2, 2))
}

/// Somebody's finalizer keeps a Deployment that is being deleted: it is not reconciled any more (deployment D-13), and all that it
/// owns goes once it has gone.
fn held_by_a_finalizer() -> Scenario {
    let web = deployment("web").replicas(3).finalizer(HELD);
    let options = DeleteOptions {
        propagation: Some(Propagation::Background),
        ..DeleteOptions::default()
    };
    settled(story("held by a finalizer").create(Kind::DEPLOYMENT, web.json()))
        .delete(Kind::DEPLOYMENT, "web", options)
        .until("its end has begun", |state| {
            state.deployment("web").is_some_and(Stored::is_terminating)
        })
        .merge(Kind::DEPLOYMENT, "web", json!({"spec": {"replicas": 5}}))
        .until("that is seen", is_observed)
        .keeping(&[HELD])
        .under(laws::rolling(3, 0))
}

/// A ReplicaSet that fits the Deployment belongs to a custom resource, until that goes and leaves it behind: then, and not before,
/// the Deployment adopts it.
///
/// As in `orphan`, a process that sees it free too late makes one of its own.
fn of_a_stranger() -> Scenario {
    let web = deployment("web").replicas(3);
    let mut theirs = replica_set("theirs")
        .replicas(2)
        .pod_label("of", "theirs")
        .label("app", "web");
    theirs = theirs
        .set("/spec/selector", json!({"matchLabels": {"app": "web", "of": "theirs"}}))
        .set("/spec/template/metadata/labels", json!({"app": "web", "of": "theirs"}));
    let rollout = json!({"metadata": {"name": "canary"}, "spec": {}});
    let options = DeleteOptions {
        propagation: Some(Propagation::Orphan),
        ..DeleteOptions::default()
    };
    let beside = story("of a stranger")
        .custom(ROLLOUT)
        .create(ROLLOUT, rollout)
        .create_owned(Kind::REPLICA_SET, theirs.json(), (ROLLOUT, "canary"))
        .create(Kind::DEPLOYMENT, web.json())
        .until("both are there", |state| {
            let theirs = state.get(Kind::REPLICA_SET, "theirs");
            theirs.is_some_and(|set| set.count("availableReplicas") == 2) && is_complete(state)
        });
    let left = beside
        .delete(ROLLOUT, "canary", options)
        .until("it is adopted", |state| {
            let theirs = state.get(Kind::REPLICA_SET, "theirs");
            theirs
                .zip(state.deployment("web"))
                .is_some_and(|(set, web)| set.is_controlled_by(web))
        });
    settled(left).under(laws::rolling(6, 0))
}

fn pods(hard: usize) -> Quota {
    Quota {
        name: "few".to_owned(),
        namespace: NAMESPACE.to_owned(),
        kind: Kind::POD,
        hard,
    }
}

fn scaled(story: Scenario, size: u32) -> Scenario {
    story.merge(Kind::DEPLOYMENT, "web", json!({"spec": {"replicas": size}}))
}

pub(crate) fn imaged(story: Scenario, image: &str) -> Scenario {
    let container = json!([{"name": "main", "image": image}]);
    let patch = json!({"spec": {"template": {"spec": {"containers": container}}}});
    story.merge(Kind::DEPLOYMENT, "web", patch)
}

fn is_complete(state: &State) -> bool {
    state
        .deployment("web")
        .is_some_and(|web| web.is_rolled_out() && web.says("Progressing") == "True NewReplicaSetAvailable")
}

/// The rollout is over, no pod is left terminating, and every status says so.
pub(crate) fn settled(story: Scenario) -> Scenario {
    story.until("the rollout is over", |state| {
        let over = is_complete(state);
        let told = |set: &&Stored| set.is_observed() && set.count("replicas") == set.size();
        over && state.pods().iter().all(|pod| !pod.is_terminating()) && state.replica_sets().iter().all(told)
    })
}

fn is_observed(state: &State) -> bool {
    state.deployment("web").is_some_and(Stored::is_observed)
}

fn has_pod(state: &State, image: &str) -> bool {
    state.pods().iter().any(|pod| pod.image() == image)
}
