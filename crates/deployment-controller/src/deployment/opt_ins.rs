//! What the user of a Deployment asks for beyond upstream's behaviour; the list is that of the opt-ins specification.

use std::str::FromStr;

use workload_core::labels::Labels;
use workload_core::opt_in::{Amount, Backoff, PREFIX, Reader, Rejected, Switch};

use super::spec::Strategy;

/// Name of the opt-in for [`PodReplacement`].
pub const POD_REPLACEMENT: &str = "deployment.pod-replacement";
/// Name of the opt-in for [`DisruptionBudgets`].
pub const DISRUPTION_BUDGETS: &str = "deployment.disruption-budgets";
/// Name of the opt-in for [`OptIns::never_grow_old`].
pub const NEVER_GROW_OLD: &str = "deployment.never-grow-old";
/// Name of the opt-in for [`OptIns::hold_at`].
pub const HOLD_AT: &str = "deployment.hold-at";
/// Name of the opt-in for [`OptIns::failed_pod_backoff`].
pub const FAILED_POD_BACKOFF: &str = "deployment.failed-pod-backoff";

/// The opt-ins of one Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptIns {
    /// When the replacement of a pod may be made.
    pub pod_replacement: PodReplacement,
    /// Whether a rollout waits for disruption budgets.
    pub disruption_budgets: DisruptionBudgets,
    /// Whether old ReplicaSets stay as small as they are when template and replicas change together (field FR-DP-12).
    pub never_grow_old: Switch,
    /// At how many updated replicas the rollout stops (field FR-DP-07).
    pub hold_at: Option<Amount>,
    /// How long a ReplicaSet whose pods fail at once waits before it makes others (L-7, field FR-DP-01).
    pub failed_pod_backoff: Option<Backoff>,
    /// Those that have no effect.
    pub rejected: Vec<Rejected>,
}

/// When the replacement of a pod may be made (L-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodReplacement {
    /// As soon as the pod was asked to go.
    #[default]
    TerminationStarted,
    /// Once it has gone, so that live and terminating pods together never exceed replicas and surge.
    TerminationComplete,
}

/// Whether a rollout waits for disruption budgets (L-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DisruptionBudgets {
    /// It does not.
    #[default]
    Ignore,
    /// Pods of old ReplicaSets are evicted, which a budget can refuse.
    Respect,
}

/// Who reconciles the ReplicaSets of the Deployments that this process reconciles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaSetLoop {
    /// This process.
    Here,
    /// Another one, which may not know any opt-in.
    Elsewhere,
}

impl OptIns {
    /// Those that the ReplicaSet loop has a part in.
    fn of_replica_sets(&self) -> impl Iterator<Item = &'static str> {
        let complete = self.pod_replacement == PodReplacement::TerminationComplete;
        let respect = self.disruption_budgets == DisruptionBudgets::Respect;
        [
            (POD_REPLACEMENT, complete),
            (DISRUPTION_BUDGETS, respect),
            (FAILED_POD_BACKOFF, self.failed_pod_backoff.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, asked)| asked.then_some(name))
    }

    /// True if the ReplicaSet loop has a part in one of them.
    pub(super) fn concern_replica_sets(&self) -> bool {
        self.of_replica_sets().next().is_some()
    }

    /// Gives up those that the ReplicaSet loop has a part in. `annotations` are those they were read from.
    pub(super) fn without_replica_sets(mut self, annotations: &Labels) -> Self {
        let why = "it needs the ReplicaSet loop of the same process";
        let given_up = self.of_replica_sets().map(|name| {
            let value = annotations.get(&format!("{PREFIX}{name}")).unwrap_or_default();
            Rejected::new(name, value, why)
        });
        let given_up: Vec<_> = given_up.collect();
        self.rejected.extend(given_up);
        self.pod_replacement = PodReplacement::default();
        self.disruption_budgets = DisruptionBudgets::default();
        self.failed_pod_backoff = None;
        self
    }

    /// Reads the annotations of a Deployment.
    pub fn read(annotations: &Labels) -> Self {
        let mut reader = Reader::new(annotations, "deployment.");
        Self {
            pod_replacement: reader.read(POD_REPLACEMENT).unwrap_or_default(),
            disruption_budgets: reader.read(DISRUPTION_BUDGETS).unwrap_or_default(),
            never_grow_old: reader.read(NEVER_GROW_OLD).unwrap_or_default(),
            hold_at: reader.read(HOLD_AT),
            failed_pod_backoff: reader.read(FAILED_POD_BACKOFF),
            rejected: reader.finish(),
        }
    }
}

impl OptIns {
    /// Gives up those that mean nothing to a Deployment of this strategy.
    pub(super) fn fit(&mut self, strategy: Strategy, annotations: &Labels) {
        if strategy == Strategy::Recreate && self.hold_at.take().is_some() {
            let value = annotations.get(&format!("{PREFIX}{HOLD_AT}")).unwrap_or_default();
            let why = "the strategy Recreate has no steps at which it could hold";
            self.rejected.push(Rejected::new(HOLD_AT, value, why));
        }
    }
}

impl FromStr for PodReplacement {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "TerminationStarted" => Ok(Self::TerminationStarted),
            "TerminationComplete" => Ok(Self::TerminationComplete),
            _ => Err("neither TerminationStarted nor TerminationComplete"),
        }
    }
}

impl FromStr for DisruptionBudgets {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "Respect" => Ok(Self::Respect),
            _ => Err("not Respect"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> OptIns {
        let keyed: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (format!("opt-in.workload-controllers/{name}"), *value))
            .collect();
        OptIns::read(&keyed.iter().map(|(key, value)| (&**key, *value)).collect())
    }

    #[test]
    fn nothing_is_asked_for_unless_it_is_written() {
        assert_eq!(read(&[]), OptIns::default());
        let others = [("job.rule-names", "{}"), ("statefulset.strict-budget", "maybe")];
        assert_eq!(read(&others), OptIns::default(), "opt-ins of other kinds");
    }

    #[test]
    fn each_opt_in_is_read() {
        let all = read(&[
            ("deployment.pod-replacement", "TerminationComplete"),
            ("deployment.disruption-budgets", "Respect"),
            ("deployment.never-grow-old", "true"),
            ("deployment.hold-at", "30%"),
            ("deployment.failed-pod-backoff", "10s,1m"),
        ]);
        assert_eq!(
            all,
            OptIns {
                pod_replacement: PodReplacement::TerminationComplete,
                disruption_budgets: DisruptionBudgets::Respect,
                never_grow_old: Switch::On,
                hold_at: "30%".parse().ok(),
                failed_pod_backoff: "10s,1m".parse().ok(),
                rejected: Vec::new(),
            }
        );
    }

    // proves: deployment/L-2, deployment/L-4, deployment/L-7
    #[test]
    fn what_the_replica_set_loop_does_is_rejected_where_another_process_runs_it() {
        let annotations: Labels = [
            (
                "opt-in.workload-controllers/deployment.pod-replacement",
                "TerminationComplete",
            ),
            ("opt-in.workload-controllers/deployment.disruption-budgets", "Respect"),
            ("opt-in.workload-controllers/deployment.failed-pod-backoff", "10s"),
            ("opt-in.workload-controllers/deployment.hold-at", "-1"),
        ]
        .into_iter()
        .collect();
        let all = OptIns::read(&annotations);
        let rejected = |opt_ins: &OptIns| opt_ins.rejected.iter().map(|each| each.name).collect::<Vec<_>>();
        assert_eq!((rejected(&all), all.concern_replica_sets()), (vec![HOLD_AT], true));
        let alone = all.without_replica_sets(&annotations);
        assert_eq!(
            rejected(&alone),
            [HOLD_AT, POD_REPLACEMENT, DISRUPTION_BUDGETS, FAILED_POD_BACKOFF]
        );
        assert!(!alone.concern_replica_sets());
        let unset = OptIns::default();
        assert_eq!(unset.clone().without_replica_sets(&Labels::default()), unset);
    }

    #[test]
    fn a_value_that_cannot_be_read_leaves_the_default() {
        let wrong = [
            ("deployment.pod-replacement", "terminationcomplete"),
            ("deployment.disruption-budgets", "Ignore"),
            ("deployment.never-grow-old", "yes"),
            ("deployment.hold-at", "-1"),
            ("deployment.failed-pod-backoff", "10"),
        ];
        for (name, value) in wrong {
            let OptIns { rejected, .. } = &read(&[(name, value)]);
            let names: Vec<_> = rejected.iter().map(|each| each.name).collect();
            assert_eq!(names, [name]);
            let rejected = rejected.clone();
            assert_eq!(
                read(&[(name, value)]),
                OptIns {
                    rejected,
                    ..OptIns::default()
                }
            );
        }
    }
}
