//! When a Job goes after its end.

use std::time::Duration;

use job_controller::job::spec::Job;
use job_controller::ttl::expiry::Expiry;
use job_controller::ttl::{Knowledge, Observed, decide, of_job};
use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Manifest as _, job};
use workload_core::cache::Delta;
use workload_core::id::Kind;
use workload_core::plan::{DeleteGuard, Stage, Target, Wake};
use workload_core::time::Timestamp;

/// A Job that ended at five seconds past ten, by a condition of this type.
fn ended(condition: &str, ttl: Option<u32>) -> testkit::builders::Job {
    let end = json!([
        {"type": "Suspended", "status": "False", "lastTransitionTime": "2026-01-02T09:00:00Z"},
        {"type": condition, "status": "True", "lastTransitionTime": "2026-01-02T10:00:05Z"},
    ]);
    let work = job("work").set("/status/conditions", end);
    match ttl {
        Some(seconds) => work.ttl_seconds(seconds),
        None => work,
    }
}

fn at(time: &str) -> Timestamp {
    format!("2026-01-02T{time}Z").parse().unwrap()
}

fn seen(work: testkit::builders::Job, knowledge: Knowledge) -> Observed {
    let work: Job = work.decode();
    Observed {
        expiry: Expiry::of(&work).unwrap(),
        job: Target::of(Kind::JOB, &work.meta),
        knowledge,
    }
}

// proves: job/TTL-1, job/TTL-2
#[rstest]
#[case::complete(ended("Complete", Some(10)), true)]
#[case::failed(ended("Failed", Some(10)), true)]
#[case::no_time(ended("Complete", None), false)]
#[case::about_to_fail(ended("FailureTarget", Some(10)), false)]
#[case::on_its_way(ended("Complete", Some(10)).terminating(at("10:00:06")), false)]
fn only_jobs_that_have_ended_and_are_to_go_are_looked_at(#[case] work: testkit::builders::Job, #[case] looked: bool) {
    let work: Job = work.decode();
    let key = work.meta.key.clone();
    let delta = Delta::Applied {
        old: None,
        new: work.into(),
    };
    assert_eq!(of_job(&delta), looked.then_some(key));
}

// proves: job/TTL-2
#[test]
fn a_job_that_does_not_say_when_it_ended_stays() {
    let condition = json!([{"type": "Complete", "status": "True", "lastTransitionTime": Value::Null}]);
    let work: Job = job("work").ttl_seconds(0).set("/status/conditions", condition).decode();
    assert_eq!(Expiry::of(&work), None);
}

// proves: job/TTL-3, job/TTL-7, field/FR-TT-05
#[rstest]
#[case::early("10:00:05", Some(10))]
#[case::a_second_early("10:00:14", Some(1))]
#[case::in_time("10:00:15", None)]
#[case::late("12:00:00", None)]
#[case::our_clock_is_behind("09:59:05", Some(70))]
fn a_job_goes_when_its_time_has_come(#[case] now: &str, #[case] rest: Option<u64>) {
    let seen = seen(ended("Complete", Some(10)), Knowledge::Live);
    let plan = decide(&seen, at(now));
    let wake = rest.map_or(Wake::OnChange, |rest| Wake::After(Duration::from_secs(rest)));
    assert_eq!(plan.wake, wake);
    assert_eq!(plan.stages.is_empty(), rest.is_some());
    assert_eq!(seen.expiry.is_ahead(at(now)), now == "09:59:05");
}

// proves: job/TTL-4, job/TTL-5
#[test]
fn the_server_is_asked_before_a_job_goes_after_all_that_it_owns() {
    let work = || ended("Complete", Some(10));
    let plan = decide(&seen(work(), Knowledge::Cached), at("10:00:15"));
    assert!(matches!(&plan.stages[..], [Stage::Read(of)] if of.len() == 1));
    assert_eq!(plan.intent, None);
    let plan = decide(&seen(work(), Knowledge::Live), at("10:00:16"));
    let [Stage::DeleteForeground(deletes)] = &plan.stages[..] else {
        panic!("{:?}", plan.stages)
    };
    assert_eq!((deletes.len(), deletes[0].guard), (1, DeleteGuard::Uid));
    assert_eq!(deletes[0].target.uid.as_str(), "uid-of-work");
    let late = plan.intent.unwrap().late_by(at("10:00:16"));
    assert_eq!(late, Duration::from_secs(1));
}

// proves: job/L-8
#[rstest]
#[case("Complete", "ttl-complete", Some(10), Some(3))]
#[case("Failed", "ttl-failed", Some(10), Some(3))]
#[case("Failed", "ttl-failed", None, Some(3))]
#[case("Complete", "ttl-failed", Some(10), Some(10))]
#[case("Complete", "ttl-failed", None, None)]
fn each_outcome_can_have_a_time_of_its_own(
    #[case] condition: &str,
    #[case] opt_in: &str,
    #[case] ttl: Option<u32>,
    #[case] rest: Option<u64>,
) {
    let work: Job = ended(condition, ttl).opt_in(&format!("job.{opt_in}"), "3").decode();
    let found = Expiry::of(&work).and_then(|expiry| expiry.rest(at("10:00:05")));
    assert_eq!(found, rest.map(Duration::from_secs));
}
