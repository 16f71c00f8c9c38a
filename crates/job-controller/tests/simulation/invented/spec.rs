//! Any Job that the server takes.

use serde_json::{Value, json};
use testkit::builders::{Job, Manifest as _, job};
use testkit::simulation::seed::Stream;

/// Codes with which containers fail.
pub(super) const CODES: [u8; 4] = [1, 3, 42, 137];

/// How the work of a Job is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// One success is enough.
    Queue,
    /// So many pods have to succeed.
    Fixed(u32),
    /// One pod for each of so many parts.
    Indexed(u32),
}

/// A Job.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) work: Work,
    pub(super) parallelism: u32,
    /// It is deleted some time after its end.
    pub(super) is_short_lived: bool,
    pub(super) is_suspended: bool,
    fields: Vec<(&'static str, Value)>,
}

impl Spec {
    pub(super) fn drawn(name: String, stream: &Stream) -> Self {
        let number = |most: u64| u32::try_from(stream.between(&(1..=most))).unwrap_or(1);
        let work = match stream.between(&(1..=10)) {
            1..=2 => Work::Queue,
            3..=5 => Work::Fixed(number(6)),
            6 if stream.one_in(3) => Work::Fixed(0),
            _ => Work::Indexed(number(6)),
        };
        let mut drawing = Drawing {
            stream,
            fields: Vec::new(),
        };
        let per_index = matches!(work, Work::Indexed(_)) && stream.one_in(3);
        drawing.ends(work);
        drawing.failures(work, per_index);
        let ttl = stream.one_in(4);
        if ttl {
            drawing.set("ttlSecondsAfterFinished", stream.between(&(0..=10)));
        }
        Self {
            name,
            work,
            parallelism: if stream.one_in(20) { 0 } else { number(4) },
            is_short_lived: ttl,
            is_suspended: stream.one_in(6),
            fields: drawing.fields,
        }
    }

    /// The least size that the server lets it have: what its policies name must exist.
    pub(super) fn least_size(&self) -> u64 {
        let names_parts = |(field, _): &(&str, Value)| ["successPolicy", "maxFailedIndexes"].contains(field);
        match self.work {
            Work::Indexed(parts) if self.fields.iter().any(names_parts) => parts.into(),
            Work::Indexed(_) | Work::Fixed(_) | Work::Queue => 0,
        }
    }

    pub(super) fn manifest(&self) -> Job {
        let mut manifest = job(&self.name).parallelism(self.parallelism);
        manifest = match self.work {
            Work::Queue => manifest,
            Work::Fixed(pods) => manifest.completions(pods),
            Work::Indexed(parts) => manifest.indexed(parts),
        };
        if self.is_suspended {
            manifest = manifest.suspended();
        }
        let with =
            |manifest: Job, (field, value): &(&str, Value)| manifest.set(&format!("/spec/{field}"), value.clone());
        self.fields.iter().fold(manifest, with)
    }
}

/// A spec on its way.
struct Drawing<'s> {
    stream: &'s Stream,
    fields: Vec<(&'static str, Value)>,
}

impl Drawing<'_> {
    fn set(&mut self, field: &'static str, value: impl Into<Value>) {
        self.fields.push((field, value.into()));
    }

    /// What ends the Job beside its work.
    fn ends(&mut self, work: Work) {
        if self.stream.one_in(6) {
            self.set("activeDeadlineSeconds", self.stream.between(&(3..=60)));
        }
        let Work::Indexed(parts) = work else { return };
        if self.stream.one_in(4) {
            let last = u64::from(parts - 1);
            let rule = match self.stream.between(&(1..=3)) {
                1 => json!({"succeededIndexes": self.stream.between(&(0..=last)).to_string()}),
                2 => json!({"succeededCount": self.stream.between(&(1..=u64::from(parts)))}),
                _ => json!({"succeededIndexes": format!("0-{last}"), "succeededCount": 1}),
            };
            self.set("successPolicy", json!({"rules": [rule]}));
        }
    }

    fn failures(&mut self, work: Work, per_index: bool) {
        if per_index {
            self.set("backoffLimitPerIndex", self.stream.between(&(0..=2)));
            if let (Work::Indexed(parts), true) = (work, self.stream.one_in(3)) {
                self.set("maxFailedIndexes", self.stream.between(&(0..=u64::from(parts))));
            }
        } else if !self.stream.one_in(3) {
            self.set("backoffLimit", *self.stream.pick(&[0, 1, 2, 4]));
        }
        if self.stream.one_in(3) {
            let rules: Vec<Value> = (0..self.stream.between(&(1..=3)))
                .map(|_| self.rule(per_index))
                .collect();
            self.set("podFailurePolicy", json!({"rules": rules}));
            return;
        }
        if self.stream.one_in(2) {
            self.set(
                "podReplacementPolicy",
                *self.stream.pick(&["Failed", "TerminatingOrFailed"]),
            );
        }
        if !per_index && self.stream.one_in(4) {
            self.set("template/spec/restartPolicy", "OnFailure");
        }
    }

    /// A rule of the failure policy.
    fn rule(&self, per_index: bool) -> Value {
        let actions = ["Ignore", "Count", "FailJob", "FailIndex"];
        let action = *self.stream.pick(if per_index { &actions[..] } else { &actions[..3] });
        if self.stream.one_in(3) {
            let disrupted = json!({"type": "DisruptionTarget", "status": "True"});
            return json!({"action": action, "onPodConditions": [disrupted]});
        }
        let mut codes: Vec<u8> = CODES.into_iter().filter(|_| self.stream.one_in(2)).collect();
        if codes.is_empty() {
            codes.push(CODES[0]);
        }
        let operator = if self.stream.one_in(4) { "NotIn" } else { "In" };
        if operator == "NotIn" {
            codes.insert(0, 0);
        }
        json!({"action": action, "onExitCodes": {"operator": operator, "values": codes}})
    }
}
