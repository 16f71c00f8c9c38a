//! Opt-ins of the Deployment that controls a ReplicaSet.

use std::sync::Arc;

use deployment_controller::deployment::spec;
use deployment_controller::replicaset::watches;
use rstest::rstest;
use testkit::builders::{Deployment, Manifest as _, ReplicaSet, Templated as _, deployment, replica_set};
use workload_core::cache::Delta;
use workload_core::workload::Observation;

use super::{World, cache, web};

fn owner() -> Deployment {
    deployment("web").rolling(1, 0).uid("uid-of-owner")
}

/// With an opt-in that both loops read.
fn opted() -> Deployment {
    owner().opt_in("deployment.pod-replacement", "TerminationComplete")
}

fn applied(old: Option<Deployment>, new: Deployment) -> Delta<spec::Deployment> {
    Delta::Applied {
        old: old.map(|old| Arc::new(old.decode())),
        new: Arc::new(new.decode()),
    }
}

fn removed(last: Deployment) -> Delta<spec::Deployment> {
    Delta::Removed {
        last: Arc::new(last.decode()),
    }
}

#[rstest]
#[case::added_without(applied(None, owner()), &[])]
#[case::added_with_one(applied(None, opted()), &["web-1", "web-2"])]
#[case::changed_otherwise(applied(Some(opted()), opted().replicas(3)), &[])]
#[case::set(applied(Some(owner()), opted()), &["web-1", "web-2"])]
#[case::unset(applied(Some(opted()), owner()), &["web-1", "web-2"])]
#[case::removed_without(removed(owner()), &[])]
#[case::removed_with_one(removed(opted()), &["web-1", "web-2"])]
#[case::of_an_earlier_deployment_of_that_name(applied(None, opted().uid("older")), &[])]
fn a_change_of_opt_ins_wakes_the_sets_of_the_deployment(
    #[case] delta: Delta<spec::Deployment>,
    #[case] expected: &[&str],
) {
    let of_owner = |name: &str| replica_set(name).uid(name).owned_by(&owner().json());
    let sets = [of_owner("web-1"), of_owner("web-2"), replica_set("alone").uid("alone")];
    let due = watches::of_deployment(&delta, &cache(&sets.map(ReplicaSet::json)));
    let mut names: Vec<_> = due.iter().map(|(key, _)| &*key.name).collect();
    names.sort_unstable();
    assert_eq!(names, expected);
}

// proves: deployment/C-10
#[rstest]
#[case::its_own(World::of(web(1), []).under(owner()), Some("web"))]
#[case::none(World::of(web(1), []), None)]
#[case::another_of_that_name(World::of(web(1).owned_by(&owner().uid("older").json()), []).with(owner()), None)]
#[case::of_another_kind(World::of(web(1).owned_by(&replica_set("web").uid("uid-of-owner").json()), []).with(owner()), None)]
fn a_set_knows_the_deployment_that_controls_it(#[case] world: World, #[case] expected: Option<&str>) {
    let Observation::Ready(seen) = world.observation(&world.controller()) else {
        panic!("nothing to act on")
    };
    let found = seen.deployment.as_deref().map(|deployment| &*deployment.meta.key.name);
    assert_eq!(found, expected);
}
