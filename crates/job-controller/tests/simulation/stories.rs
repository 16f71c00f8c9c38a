//! What users do with Jobs, and how their pods fare.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::Kind;
use testkit::builders::{Job, Manifest as _, job};
use testkit::record::State;
use testkit::simulation::fate::{Beginning, Fate};
use testkit::simulation::scenario::{NAMESPACE, Scenario};
use testkit::simulation::seed::Stream;
use testkit::simulation::server::{DeleteOptions, Propagation, Quota};

use crate::{laws, summary};

/// All stories.
pub(crate) fn all() -> Vec<Scenario> {
    vec![
        one(),
        parallel(),
        indexed(),
        queue(),
        suspend(),
        limit(),
        limit_per_index(),
        fail_job(),
        ignore(),
        count(),
        fail_index(),
        success(),
        replacement(),
        deadline(),
        elastic(),
        scale_down(),
        restarts(),
        quota(),
        orphan(),
        adopt(),
        of_somebody_else(),
        delete(),
        ttl(),
    ]
}

fn story(name: &'static str, job: Job) -> Scenario {
    let story = Scenario::named(name, summary::of).under(laws::all);
    story.create(Kind::JOB, job.json()).fates(|_, _| DONE)
}

/// As [`story`], where the number of pods that have ended follows from times.
fn racy(name: &'static str, job: Job) -> Scenario {
    let story = Scenario::named(name, summary::without_counts).under(laws::all);
    story.create(Kind::JOB, job.json()).fates(|_, _| DONE)
}

const fn exit(code: u8) -> Fate {
    Fate::Exit(Duration::from_millis(1200), code)
}

const DONE: Fate = exit(0);
const FAILED: Fate = exit(1);

/// One pod does it.
pub(crate) fn one() -> Scenario {
    ended(story("one pod", job("work")))
}

/// Several at once, some of which fail.
pub(crate) fn parallel() -> Scenario {
    let work = job("work").parallelism(3).completions(5);
    ended(story("parallel", work)).fates(|pod, _| {
        if pod.number % 2 == 1 && pod.number < 4 {
            FAILED
        } else {
            DONE
        }
    })
}

/// One part fails once.
pub(crate) fn indexed() -> Scenario {
    let work = job("work").indexed(4).parallelism(2);
    ended(story("indexed", work)).fates(|pod, _| if first_of(pod, 1) { FAILED } else { DONE })
}

fn first_of(pod: &Beginning<'_>, index: u64) -> bool {
    pod.index() == Some(index) && pod.attempt == 0
}

/// Pods that share a queue: the first success ends the making of pods.
fn queue() -> Scenario {
    let work = job("work").parallelism(3);
    ended(racy("work queue", work))
}

fn suspend() -> Scenario {
    let work = job("work").parallelism(2).completions(2);
    let runs = story("suspend", work).until("two pods run", |state| told(state, "active") == 2);
    let suspended = runs
        .merge(Kind::JOB, "work", json!({"spec": {"suspend": true}}))
        .until("no pod runs", |state| {
            says(state, "Suspended", "True") && state.pods().is_empty() && told(state, "terminating") == 0
        });
    let resumed = suspended.merge(Kind::JOB, "work", json!({"spec": {"suspend": false}}));
    ended(resumed).fates(|pod, _| if pod.number < 2 { Fate::Stays } else { DONE })
}

fn limit() -> Scenario {
    let work = job("work").backoff_limit(2);
    ended(story("limit", work)).fates(|_, _| FAILED)
}

fn limit_per_index() -> Scenario {
    let work = job("work").indexed(4).parallelism(2).backoff_limit_per_index(1);
    ended(story("limit per index", work)).fates(odd_ones_fail)
}

fn odd_ones_fail(pod: &Beginning<'_>, _: &Stream) -> Fate {
    if pod.index().is_some_and(|index| index % 2 == 1) {
        FAILED
    } else {
        DONE
    }
}

/// The last of three pods exits with a code that ends the Job; the others are killed.
fn fail_job() -> Scenario {
    let work = job("work")
        .parallelism(3)
        .completions(3)
        .on_exit_codes("FailJob", "In", &[42]);
    ended(story("FailJob", work)).fates(|pod, _| if pod.number == 2 { exit(42) } else { Fate::Stays })
}

/// An eviction does not count, not even where nothing may fail.
fn ignore() -> Scenario {
    let work = job("work").backoff_limit(0).on_condition("Ignore", "DisruptionTarget");
    let evicted = Fate::Evicted(Duration::from_millis(1500));
    ended(story("Ignore", work)).fates(move |pod, _| if pod.number == 0 { evicted } else { DONE })
}

fn count() -> Scenario {
    let work = job("work")
        .on_exit_codes("Count", "In", &[3])
        .on_exit_codes("FailJob", "NotIn", &[0]);
    ended(story("Count", work)).fates(|pod, _| if pod.number < 2 { exit(3) } else { DONE })
}

fn fail_index() -> Scenario {
    let work = job("work")
        .indexed(3)
        .parallelism(2)
        .backoff_limit_per_index(2)
        .on_exit_codes("FailIndex", "In", &[13]);
    ended(story("FailIndex", work)).fates(|pod, _| if pod.index() == Some(1) { exit(13) } else { DONE })
}

/// The part that matters is done; the others are killed.
fn success() -> Scenario {
    let work = job("work")
        .indexed(3)
        .parallelism(3)
        .set("/spec/successPolicy/rules", json!([{"succeededIndexes": "2"}]));
    ended(racy("success policy", work)).fates(|pod, _| if pod.index() == Some(2) { DONE } else { Fate::Stays })
}

/// A pod that takes long to end is replaced only then.
pub(crate) fn replacement() -> Scenario {
    let work = job("work").indexed(2).parallelism(2).pod_replacement("Failed");
    let deleted = Fate::Deleted(Duration::from_secs(2));
    ended(story("replacement after the end", work))
        .fates(move |pod, _| if first_of(pod, 0) { deleted } else { DONE })
        .ending(4_000..=9_000)
}

fn deadline() -> Scenario {
    let work = job("work").parallelism(2).deadline_seconds(20);
    ended(racy("deadline", work)).fates(|_, _| Fate::Stays)
}

/// Fewer parts, then more again: what was done beyond the end is done anew; then none at all.
fn elastic() -> Scenario {
    let sized = |story: Scenario, size: u32| {
        let spec = json!({"spec": {"completions": size, "parallelism": size}});
        story.merge(Kind::JOB, "work", spec)
    };
    let runs = |done: &'static str, size: i64| {
        move |state: &State| {
            let text = state.job("work").map_or("", |job| job.text("/status/completedIndexes"));
            text == done && told(state, "active") == size && told(state, "terminating") == 0
        }
    };
    let work = job("work").indexed(3).parallelism(3);
    // A pod whose finalizer could not be taken in between counts again.
    let first = racy("elastic", work).until("the third is done", runs("2", 2));
    let smaller = sized(first, 2).until("that is forgotten", runs("", 2));
    let larger = sized(smaller, 3).until("the third is done again", runs("2", 2));
    ended(sized(larger, 0)).fates(|pod, _| if pod.index() == Some(2) { DONE } else { Fate::Stays })
}

/// Fewer pods at once: those that go count for nothing.
fn scale_down() -> Scenario {
    let work = job("work").parallelism(4).completions(6);
    let runs = story("scale down", work).until("four pods run", |state| told(state, "active") == 4);
    runs.merge(Kind::JOB, "work", json!({"spec": {"parallelism": 1}}))
        .until("one pod runs", |state| {
            told(state, "active") == 1 && told(state, "terminating") == 0 && state.pods().len() == 1
        })
        .fates(|_, _| Fate::Stays)
        .keeping(&["batch.kubernetes.io/job-tracking"])
}

/// Containers that are started again where they are.
fn restarts() -> Scenario {
    let work = job("work")
        .parallelism(2)
        .completions(2)
        .backoff_limit(5)
        .set("/spec/template/spec/restartPolicy", "OnFailure");
    ended(story("restarts", work)).fates(|pod, _| {
        if pod.number == 0 && pod.restarts < 2 {
            FAILED
        } else {
            DONE
        }
    })
}

fn quota() -> Scenario {
    let work = job("work").parallelism(4).completions(6);
    let few = |hard| Quota {
        name: "few".to_owned(),
        namespace: NAMESPACE.to_owned(),
        kind: Kind::POD,
        hard,
    };
    let story = Scenario::named("quota", summary::of)
        .under(laws::all)
        .server("a quota of two pods", move |server| server.set_quota(few(2)));
    ended(story.create(Kind::JOB, work.json())).fates(|_, _| DONE)
}

/// The Job goes, its pods stay; another one of its name has nothing to do with them.
fn orphan() -> Scenario {
    let work = |image: &str| {
        let work = job("work").parallelism(2).completions(2);
        work.set("/spec/template/spec/containers/0/image", image)
    };
    let runs = story("orphan", work("left")).until("two pods run", |state| told(state, "active") == 2);
    let left = deleted(runs, Propagation::Orphan).until("no pod waits to be counted", |state| {
        state.job("work").is_none() && state.pods().iter().all(|pod| pod.at("/metadata/finalizers").is_null())
    });
    let again = left.create(Kind::JOB, work("again").json());
    ended(again).fates(|pod, _| if pod.pod.image() == "left" { Fate::Stays } else { DONE })
}

/// The Job goes, its pods stay; some time later another one of its selector takes them over, and counts what they come to.
fn adopt() -> Scenario {
    let labels = json!({"app": "work"});
    let work = || {
        let work = job("work").parallelism(2).completions(2);
        work.set("/spec/manualSelector", true)
            .set("/spec/selector", json!({"matchLabels": labels.clone()}))
            .set("/spec/template/metadata/labels", labels.clone())
    };
    let runs = racy("adopt", work()).until("two pods run", |state| told(state, "active") == 2);
    let left = deleted(runs, Propagation::Orphan)
        .until("it is gone", |state| state.job("work").is_none())
        .wait(Duration::from_secs(30));
    let again = left.create(Kind::JOB, work().json());
    ended(again).fates(|_, _| Fate::Exit(Duration::from_mins(2), 0))
}

/// A Job of another controller is left alone, beside one of ours.
fn of_somebody_else() -> Scenario {
    let theirs = job("theirs").parallelism(2).completions(2);
    let theirs = theirs.set("/spec/managedBy", "example.com/queue").json();
    ended(story("of somebody else", job("work")).create(Kind::JOB, theirs))
}

/// The Job goes with its pods while they run.
fn delete() -> Scenario {
    let work = job("work").parallelism(2).completions(2);
    let runs = story("delete", work).until("two pods run", |state| told(state, "active") == 2);
    deleted(runs, Propagation::Background)
        .until("all is gone", |state| state.pods().is_empty())
        .fates(|_, _| Fate::Stays)
}

/// The Job goes some time after its end, and its pods before it.
fn ttl() -> Scenario {
    let work = job("work").parallelism(2).completions(2).ttl_seconds(5);
    story("time to live", work).until("all is gone", |state| {
        state.job("work").is_none() && state.pods().is_empty() && !state.in_order().is_empty()
    })
}

fn deleted(story: Scenario, propagation: Propagation) -> Scenario {
    let options = DeleteOptions {
        propagation: Some(propagation),
        ..DeleteOptions::default()
    };
    story.delete(Kind::JOB, "work", options)
}

/// The Job has come to its end.
fn ended(story: Scenario) -> Scenario {
    story.until("the Job has ended", |state| {
        says(state, "Complete", "True") || says(state, "Failed", "True")
    })
}

fn says(state: &State, condition: &str, status: &str) -> bool {
    let job = state.job("work");
    job.is_some_and(|job| {
        job.condition(condition)
            .is_some_and(|condition| condition["status"] == status)
    })
}

/// A count in the status of the Job; -1 while nothing is told.
fn told(state: &State, field: &str) -> i64 {
    let status = state.job("work").map_or(&Value::Null, |job| job.at("/status"));
    if status["ready"].is_null() {
        return -1;
    }
    status[field].as_i64().unwrap_or_default()
}
