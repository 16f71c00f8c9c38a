//! In what two accounts differ, for people to read.

use std::collections::BTreeSet;

use serde_json::Value;

use super::account::Account;
use super::budget::certain_differences;

/// All differences, one line each; none if the halves are equal.
pub(super) fn differences(ours: &Account, upstream: &Account) -> Vec<String> {
    let mut found = objects(ours, upstream);
    found.extend(histories(ours, upstream));
    found.extend(events(ours, upstream));
    found.extend(certain_differences(ours, upstream));
    found
}

/// One difference: what it is about, and what each side has.
pub(super) fn both(what: &str, ours: impl std::fmt::Display, upstream: impl std::fmt::Display) -> String {
    format!("{what}\n    ours      {ours}\n    upstream  {upstream}")
}

fn objects(ours: &Account, upstream: &Account) -> Vec<String> {
    let keys = |account: &Account| account.objects.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    let (our_keys, their_keys) = (keys(ours), keys(upstream));
    if our_keys != their_keys {
        return vec![both("what is left", our_keys.join(", "), their_keys.join(", "))];
    }
    let mut found = Vec::new();
    for ((key, our), (_, their)) in ours.objects.iter().zip(&upstream.objects) {
        compare(key, our, their, &mut found);
    }
    found
}

/// Adds a line for every place at which two values differ.
fn compare(at: &str, ours: &Value, upstream: &Value, found: &mut Vec<String>) {
    match (ours, upstream) {
        (Value::Object(our), Value::Object(their)) => {
            let keys: BTreeSet<_> = our.keys().chain(their.keys()).collect();
            for key in keys {
                match (our.get(key), their.get(key)) {
                    (Some(our), Some(their)) => compare(&format!("{at} /{key}"), our, their, found),
                    (our, their) => {
                        let [our, their] =
                            [our, their].map(|value| value.map_or_else(|| "absent".to_owned(), Value::to_string));
                        found.push(both(&format!("{at} /{key}"), our, their));
                    }
                }
            }
        }
        (Value::Array(our), Value::Array(their)) if our.len() == their.len() => {
            for (index, (our, their)) in our.iter().zip(their).enumerate() {
                compare(&format!("{at} /{index}"), our, their, found);
            }
        }
        (our, their) if our == their => {}
        (our, their) => found.push(both(at, our, their)),
    }
}

fn histories(ours: &Account, upstream: &Account) -> Vec<String> {
    let keys: BTreeSet<_> = ours.histories.keys().chain(upstream.histories.keys()).collect();
    let of = |account: &Account, key: &String| {
        let history = account.histories.get(key);
        history.map_or_else(|| "never existed".to_owned(), |values| values.join(" -> "))
    };
    keys.into_iter()
        .filter(|key| ours.histories.get(*key) != upstream.histories.get(*key))
        .map(|key| both(&format!("history of {key}"), of(ours, key), of(upstream, key)))
        .collect()
}

fn events(ours: &Account, upstream: &Account) -> Vec<String> {
    let only = |who: &str, these: &Account, those: &Account| {
        let lines = these.events.difference(&those.events);
        lines
            .map(|event| format!("event only {who}: {event}"))
            .collect::<Vec<_>>()
    };
    [only("ours", ours, upstream), only("upstream's", upstream, ours)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parity::Pace;
    use crate::parity::samples::Samples;
    use crate::record::Change;
    use serde_json::json;
    use workload_core::id::Kind;

    /// What a small rollout leaves, with one thing in it that `twist` may change.
    fn account(hash: &str, twist: impl FnOnce(&mut Value)) -> Account {
        let mut samples = Samples::default();
        let set = format!("web-{hash}");
        samples.deployment("web");
        samples.set(&set, hash, &format!("uid-{hash}"));
        let mut last = json!({
            "metadata": {"name": set, "uid": format!("uid-{hash}"), "labels": {"pod-template-hash": hash},
                "annotations": {"deployment.kubernetes.io/revision": "1"}},
            "spec": {"replicas": 3},
            "status": {"replicas": 3, "conditions": [
                {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": hash},
            ]},
        });
        twist(&mut last);
        samples.write(Kind::REPLICA_SET, Change::Modified, last);
        samples.event(
            "web",
            "ScalingReplicaSet",
            &format!("Scaled up replica set {set} from 0 to 3"),
        );
        Account::of(&samples.state, "test-1", Pace::Stepwise)
    }

    fn check(twist: impl FnOnce(&mut Value), expected: &[&str]) {
        let found = differences(&account("65bb57b6b5", twist), &account("7d6b446664", |_| {}));
        let about: Vec<_> = found.iter().filter_map(|text| text.lines().next()).collect();
        assert_eq!(about, expected);
    }

    #[test]
    fn halves_that_differ_in_hashes_uids_and_messages_only_are_equal() {
        check(|_| {}, &[]);
    }

    #[test]
    fn another_reason_is_found_in_the_object_and_in_its_history() {
        check(
            |set| set["status"]["conditions"][0]["reason"] = "Other".into(),
            &[
                "ReplicaSet web-HASH1 /status /conditions /0 /reason",
                "history of ReplicaSet web-HASH1 ReplicaFailure",
            ],
        );
    }

    #[test]
    fn a_lost_and_a_surplus_field_are_found() {
        check(
            |set| {
                set["spec"]["extra"] = 1.into();
                set["status"] = json!({"conditions": set["status"]["conditions"]});
            },
            &[
                "ReplicaSet web-HASH1 /spec /extra",
                "ReplicaSet web-HASH1 /status /replicas",
            ],
        );
    }

    #[test]
    fn another_size_is_found() {
        check(
            |set| set["spec"]["replicas"] = 2.into(),
            &[
                "ReplicaSet web-HASH1 /spec /replicas",
                "history of ReplicaSet web-HASH1 size",
            ],
        );
    }

    #[test]
    fn an_object_too_many_is_found() {
        let mut more = account("65bb57b6b5", |_| {});
        more.objects.push(("Pod web-HASH1-POD".to_owned(), json!({})));
        let found = differences(&more, &account("7d6b446664", |_| {}));
        assert!(found[0].starts_with("what is left"), "{found:?}");
    }

    #[test]
    fn an_event_that_only_one_half_has_is_found() {
        let mut silent = account("65bb57b6b5", |_| {});
        let told = std::mem::take(&mut silent.events);
        let found = differences(&silent, &account("7d6b446664", |_| {}));
        let expected: Vec<_> = told
            .iter()
            .map(|event| format!("event only upstream's: {event}"))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_detour_to_the_same_end_is_found() {
        let detour = |sizes: &[i64]| {
            let mut samples = Samples::default();
            for size in sizes {
                let object = json!({"metadata": {"name": "web", "uid": "u"}, "spec": {"replicas": size}});
                samples.write(Kind::REPLICA_SET, Change::Modified, object);
            }
            Account::of(&samples.state, "test-1", Pace::Stepwise)
        };
        let found = differences(&detour(&[1, 3, 2]), &detour(&[1, 2, 2]));
        assert_eq!(
            found,
            ["history of ReplicaSet web size\n    ours      1 -> 3 -> 2\n    upstream  1 -> 2"]
        );
    }
}
