//! What holds in every history: pods end and go as they like, caches lag, writes fail or their answers are lost, the process
//! ends at any point. The pretended server refuses what the real one would (J-200…J-202).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use workload_core::outcome::FailureClass;

use super::cluster::{Cluster, Trouble, is_over, is_tracked, name};

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
    Turn { jobs: usize, pods: usize },
    Run(Index),
    End(Index, i32),
    Delete(Index),
    Kubelet,
    Later(u64),
    Goes(usize, Trouble),
    Crash(usize),
    Suspend(bool),
    Parallelism(u32),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let trouble = prop_oneof![
        Just(Trouble::Lost),
        Just(Trouble::Refused(FailureClass::Transient)),
        Just(Trouble::Refused(FailureClass::Conflict)),
    ];
    let event = prop_oneof![
        8 => (0..4_usize, 0..6_usize).prop_map(|(jobs, pods)| Event::Turn { jobs, pods }),
        3 => any::<Index>().prop_map(Event::Run),
        5 => (any::<Index>(), prop_oneof![Just(0), Just(0), Just(1), Just(42)]).prop_map(|(pod, code)| Event::End(pod, code)),
        1 => any::<Index>().prop_map(Event::Delete),
        2 => Just(Event::Kubelet),
        3 => (1..40_u64).prop_map(Event::Later),
        2 => (0..6_usize, trouble).prop_map(|(number, trouble)| Event::Goes(number, trouble)),
        2 => (0..4_usize).prop_map(Event::Crash),
        1 => any::<bool>().prop_map(Event::Suspend),
        1 => (0..5_u32).prop_map(Event::Parallelism),
    ];
    prop::collection::vec(event, 1..40)
}

/// What is known of a history so far.
struct History {
    cluster: Cluster,
    /// Pods that were taken out of the lists of uncounted pods.
    counted: BTreeSet<String>,
    /// Pods that ended while they were still to be counted, and how.
    ended: BTreeMap<String, &'static str>,
    checked: usize,
}

impl History {
    fn of(cluster: Cluster) -> Self {
        Self {
            cluster,
            counted: BTreeSet::new(),
            ended: BTreeMap::new(),
            checked: 0,
        }
    }

    fn happens(&mut self, event: &Event) {
        let cluster = &mut self.cluster;
        match event {
            Event::Turn { jobs, pods } => {
                cluster.lag = (*jobs, *pods);
                cluster.turn();
                cluster.lag = (0, 0);
            }
            Event::Run(pod) => some(cluster, *pod, |phase| phase == "Pending", Cluster::run),
            Event::End(pod, code) => some(cluster, *pod, |_| true, |cluster, pod| cluster.end(pod, *code)),
            Event::Delete(pod) => some(cluster, *pod, |_| true, Cluster::delete_pod),
            Event::Kubelet => cluster.kubelet(),
            Event::Later(seconds) => cluster.after(*seconds),
            Event::Goes(number, trouble) => cluster.trouble = Some((*number, *trouble)),
            Event::Crash(stage) => {
                cluster.crash_before = Some(*stage);
                cluster.turn();
                cluster.crash_before = None;
            }
            Event::Suspend(suspend) => cluster.edit(json!({"spec": {"suspend": suspend}})),
            Event::Parallelism(parallelism) => cluster.edit(json!({"spec": {"parallelism": parallelism}})),
        }
        self.look();
    }

    /// Every status that was stored since: a pod leaves the lists once, into the count that fits, and never comes back.
    fn look(&mut self) {
        for at in self.checked.max(1)..self.cluster.stored.len() {
            let [before, after] = [&self.cluster.stored[at - 1], &self.cluster.stored[at]];
            let indexed = self.cluster.job["spec"]["completionMode"] == "Indexed";
            for (list, count) in [("succeeded", "succeeded"), ("failed", "failed")] {
                let [old, new] = [before, after].map(|status| listed(status, list));
                let left: Vec<_> = old.difference(&new).cloned().collect();
                let again: Vec<_> = new.intersection(&self.counted).collect();
                assert!(again.is_empty(), "{again:?} would be counted twice");
                let grown = number(after, count) - number(before, count);
                if !(indexed && list == "succeeded") {
                    assert_eq!(grown, i64::try_from(left.len()).unwrap(), "{list}: {before} -> {after}");
                }
                self.counted.extend(left);
            }
        }
        self.checked = self.cluster.stored.len();
        for pod in self.cluster.pods.iter().filter(|pod| is_tracked(pod) && is_over(pod)) {
            let how = if pod["status"]["phase"] == "Succeeded" {
                "succeeded"
            } else {
                "failed"
            };
            self.ended
                .entry(pod["metadata"]["uid"].as_str().unwrap().to_owned())
                .or_insert(how);
        }
    }

    /// Lets the Job come to its end: all its pods succeed from now on.
    fn end(&mut self) {
        self.cluster.trouble = None;
        self.cluster.edit(json!({"spec": {"suspend": false, "parallelism": 3}}));
        for _ in 0..200 {
            self.cluster.kubelet();
            self.look();
            self.cluster.turn();
            self.look();
            if self.cluster.is_finished() {
                return;
            }
            let active = self.cluster.active();
            for pod in active.split(' ').filter(|pod| !pod.is_empty()) {
                self.cluster.end(pod, 0);
            }
            self.look();
            self.cluster.after(700);
        }
        panic!("no end of it: {}", self.cluster.job["status"]);
    }
}

fn some(cluster: &mut Cluster, at: Index, fits: impl Fn(&str) -> bool, act: impl FnOnce(&mut Cluster, &str)) {
    let lives = |pod: &&std::sync::Arc<Value>| !is_over(pod) && fits(pod["status"]["phase"].as_str().unwrap());
    let pods: Vec<String> = cluster.pods.iter().filter(lives).map(|pod| name(pod)).collect();
    if !pods.is_empty() {
        let pod: &String = at.get(&pods);
        act(cluster, pod);
    }
}

fn listed(status: &Value, which: &str) -> BTreeSet<String> {
    let pods = status["uncountedTerminatedPods"][which].as_array();
    pods.into_iter()
        .flatten()
        .map(|pod| pod.as_str().unwrap().to_owned())
        .collect()
}

fn number(status: &Value, field: &str) -> i64 {
    status[field].as_i64().unwrap_or_default()
}

/// A Job of one of the kinds there are.
fn jobs() -> impl Strategy<Value = Cluster> {
    let replacement = prop_oneof![Just("Failed"), Just("TerminatingOrFailed")];
    let work = prop_oneof![
        Just(json!({"completions": 5})),
        Just(json!({"completions": null})),
        Just(json!({"completions": 5, "completionMode": "Indexed"})),
        Just(json!({"completions": 5, "completionMode": "Indexed", "backoffLimitPerIndex": 1})),
    ];
    let limit = prop_oneof![Just(2), Just(50)];
    let cap = prop_oneof![Just(2_usize), Just(500)];
    let (ignores, together) = (any::<bool>(), any::<bool>());
    (replacement, work, limit, cap, ignores, together).prop_map(|(replacement, work, limit, cap, ignores, together)| {
        let mut spec = json!({"parallelism": 3, "backoffLimit": limit, "podReplacementPolicy": replacement});
        if ignores {
            spec["podFailurePolicy"] = super::on_42("Ignore");
        }
        super::server::merge(&mut spec, &work);
        let mut cluster = Cluster::of(spec);
        cluster.bounds.uncounted = cap;
        if together {
            cluster = cluster.opt_in("job.on-pod-failure", "RestartAll");
        }
        cluster
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    // proves: field/FR-JB-02, job/J-40, job/J-44, job/J-46, job/J-50, job/J-51, job/J-192, job/J-200, job/J-201, job/J-202
    #[test]
    fn no_pod_is_counted_twice_and_every_job_ends(cluster in jobs(), events in events()) {
        let mut history = History::of(cluster);
        for event in &events {
            history.happens(event);
        }
        history.end();
        prop_assert_eq!(history.cluster.tracked(), "");
        prop_assert_eq!(history.cluster.status_of("uncountedTerminatedPods"), &json!({}));
        prop_assert_eq!(&history.cluster.counts()[..3], &[0, 0, 0]);
    }

    // proves: job/J-40, job/J-45
    #[test]
    fn every_end_is_counted_where_nobody_removes_pods(events in events(), replacement in prop_oneof![Just("Failed"), Just("TerminatingOrFailed")]) {
        let spec = json!({"parallelism": 3, "completions": 5, "backoffLimit": 1000, "podReplacementPolicy": replacement});
        let mut history = History::of(Cluster::of(spec));
        for event in &events {
            if !matches!(event, Event::Suspend(_) | Event::Parallelism(_)) {
                history.happens(event);
            }
        }
        history.end();
        for (pod, how) in &history.ended {
            prop_assert!(history.counted.contains(pod), "{} has {} and is not counted", pod, how);
        }
        let [.., succeeded, failed] = history.cluster.counts();
        prop_assert_eq!(usize::try_from(succeeded + failed).unwrap(), history.counted.len());
    }

    // proves: job/J-158, job/J-70, job/J-192, job/J-60, field/FR-JB-01, field/FR-JB-11
    #[test]
    fn an_index_never_has_two_live_pods_and_no_more_run_than_may(events in events(), limited in any::<bool>()) {
        let mut spec = json!({"parallelism": 3, "completions": 6, "completionMode": "Indexed",
                              "backoffLimit": 1000, "podReplacementPolicy": "Failed"});
        if limited {
            spec["backoffLimitPerIndex"] = 2.into();
        }
        let mut history = History::of(Cluster::of(spec));
        for event in &events {
            if matches!(event, Event::Parallelism(_)) {
                continue;
            }
            history.happens(event);
            let live: Vec<&std::sync::Arc<Value>> = history.cluster.pods.iter().filter(|pod| !is_over(pod)).collect();
            let index = |pod: &Value| pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"].to_string();
            let different: BTreeSet<String> = live.iter().map(|pod| index(pod)).collect();
            prop_assert_eq!(different.len(), live.len(), "two live pods of one index");
            prop_assert!(live.len() <= 3);
        }
    }

    // proves: job/J-124, job/J-200
    #[test]
    fn each_index_ends_in_at_most_one_set(events in events()) {
        let spec = json!({"parallelism": 3, "completions": 4, "completionMode": "Indexed", "backoffLimitPerIndex": 0});
        let mut history = History::of(Cluster::of(spec));
        for event in &events {
            history.happens(event);
        }
        history.end();
        let status = &history.cluster.job["status"];
        let count = |field: &str| {
            let text = status[field].as_str().unwrap_or_default();
            job_controller::job::indexes::Indexes::parse(text, 4).len()
        };
        prop_assert_eq!(count("completedIndexes") + count("failedIndexes"), 4, "{}", status);
        prop_assert_eq!(i64::try_from(count("completedIndexes")).unwrap(), number(status, "succeeded"));
    }

    // proves: job/J-42
    #[test]
    fn a_turn_is_not_repeated(cluster in jobs(), events in events()) {
        let mut history = History::of(cluster);
        for event in &events {
            history.happens(event);
        }
        history.cluster.trouble = None;
        history.cluster.settle();
        let turn = history.cluster.turn();
        prop_assert_eq!(turn.text(), "");
        prop_assert!(turn.notes.is_empty());
    }
}
