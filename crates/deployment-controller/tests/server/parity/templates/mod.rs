//! Which edits of a template make a new ReplicaSet, and which say the same in other words (deployment D-6).

mod pairs;

use serde_json::Value;
use testkit::Scene;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use testkit::record::State;
use workload_core::id::Kind;

use self::pairs::{CHANGES, DEFAULTS, EMPTY, QUANTITIES};
use super::parity_at_own_pace;

/// What an edit comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    /// Both templates say the same.
    Same,
    /// The second one needs a new ReplicaSet.
    New,
}

/// One edit of a template.
struct Pair<'a> {
    name: &'a str,
    /// A JSON pointer in the template.
    at: &'a str,
    /// None: the field was not there.
    before: Option<Value>,
    after: Value,
    edit: Edit,
}

impl<'a> Pair<'a> {
    /// Reads a row of a table.
    fn parse(row: &'a str) -> Self {
        let (left, after) = row.split_once(" -> ").unwrap();
        let (mark, rest) = left.split_once(' ').unwrap();
        let (name, rest) = rest.split_once(' ').unwrap();
        let rest = rest.trim_start();
        let (at, before) = rest.split_once(' ').unwrap_or((rest, ""));
        Self {
            name,
            at,
            before: (!before.is_empty()).then(|| serde_json::from_str(before).unwrap()),
            after: serde_json::from_str(after).unwrap(),
            edit: if mark == "=" { Edit::Same } else { Edit::New },
        }
    }

    fn manifest(&self, value: Option<&Value>) -> Deployment {
        let web = deployment(self.name).replicas(0);
        match value {
            Some(value) => web.set(&format!("/spec/template{}", self.at), value.clone()),
            None => web,
        }
    }

    /// The number of ReplicaSets, once the Deployment has been seen with its second template.
    fn sets(&self, state: &State) -> Option<usize> {
        let owner = state.deployment(self.name)?;
        let sets: Vec<_> = state
            .replica_sets()
            .into_iter()
            .filter(|set| set.is_controlled_by(owner))
            .collect();
        let edited = sets.iter().any(|set| set.annotation("edited") == Some("yes"));
        (edited && owner.is_observed()).then_some(sets.len())
    }
}

/// Gives each Deployment its first template, then its second, and checks what comes of it.
async fn edit_all(scene: &Scene, table: &str) {
    let pairs: Vec<_> = table.trim().lines().map(Pair::parse).collect();
    for pair in &pairs {
        scene.create(pair.manifest(pair.before.as_ref())).await;
    }
    scene
        .until("all have their set", |state| {
            pairs.iter().all(|pair| {
                state
                    .deployment(pair.name)
                    .is_some_and(|web| web.revision() == Some("1"))
            })
        })
        .await;
    scene.until_at_rest().await;
    for pair in &pairs {
        let edited = pair.manifest(Some(&pair.after)).annotation("edited", "yes").json();
        let answer = scene.api().replace(Kind::DEPLOYMENT, pair.name, &edited).await;
        answer.unwrap_or_else(|error| panic!("{}: {error}", pair.name));
    }
    scene
        .until("all are edited", |state| {
            pairs.iter().all(|pair| pair.sets(state).is_some())
        })
        .await;
    scene.until_at_rest().await;
    let wrong: Vec<_> = pairs
        .iter()
        .filter(|pair| scene.look(|state| pair.sets(state)) != Some(1 + usize::from(pair.edit == Edit::New)))
        .map(|pair| format!("{} should be {:?}", pair.name, pair.edit))
        .collect();
    assert!(wrong.is_empty(), "{:?}: {wrong:#?}", scene.subject());
}

// proves: deployment/D-6, deployment/I-7, deployment/I-8
#[test]
fn empty_and_absent_are_one_where_the_server_makes_no_difference() {
    parity_at_own_pace(async |scene| edit_all(scene, EMPTY).await);
}

// proves: deployment/D-6, deployment/I-8
#[test]
fn quantities_count_by_value_and_texts_by_letter() {
    parity_at_own_pace(async |scene| edit_all(scene, QUANTITIES).await);
}

// proves: deployment/D-6, deployment/I-8
#[test]
fn defaults_written_out_are_no_change() {
    parity_at_own_pace(async |scene| edit_all(scene, DEFAULTS).await);
}

// proves: deployment/D-6, deployment/I-7, deployment/I-8
#[test]
fn what_changes_a_pod_makes_a_new_set() {
    parity_at_own_pace(async |scene| edit_all(scene, CHANGES).await);
}
