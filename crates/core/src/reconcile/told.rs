//! What people have been told about objects, so that nothing is said over and over: opt-ins without effect, and what holds
//! an object up.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::id::{Kind, ObjectKey, Uid};
use crate::opt_in::Rejected;
use crate::plan::{Note, Target};
use crate::workload::Explanation;

/// Reason of the event about an opt-in without effect.
pub const INVALID_OPT_IN: &str = "InvalidOptIn";

/// How long a cause that was explained is not explained again.
const QUIET: Duration = Duration::from_mins(10);

/// Counts opt-ins without effect and objects that are held up.
#[derive(Clone, Debug, Default)]
pub struct ToldMetrics {
    rejected: Family<OptInLabels, Counter>,
    held_up: Family<CauseLabels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OptInLabels {
    kind: &'static str,
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CauseLabels {
    kind: &'static str,
    cause: &'static str,
}

impl ToldMetrics {
    /// Metrics that `registry` exports as `opt_in_invalid_total{kind,name}` and `held_up_objects{kind,cause}`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "opt_in_invalid",
            "Opt-ins without effect because nobody knows them or their value cannot be read; each value once per object",
            metrics.rejected.clone(),
        );
        registry.register(
            "held_up_objects",
            "Objects that do not get on, by what holds them up",
            metrics.held_up.clone(),
        );
        metrics
    }
}

/// What was said about the objects of one kind.
#[derive(Debug)]
pub(super) struct Told {
    kind: Kind,
    objects: Mutex<HashMap<ObjectKey, Record>>,
    metrics: ToldMetrics,
}

#[derive(Debug)]
struct Record {
    uid: Uid,
    rejected: HashSet<Rejected>,
    causes: BTreeSet<&'static str>,
    explained: HashMap<&'static str, Instant>,
}

impl Told {
    pub(super) fn new(kind: Kind, metrics: ToldMetrics) -> Self {
        Self {
            kind,
            objects: Mutex::default(),
            metrics,
        }
    }

    /// The notes about those opt-ins of which nothing was said yet.
    pub(super) fn rejected(&self, object: &Target, rejected: &[Rejected]) -> Vec<Note> {
        let mut objects = self.objects.lock();
        if rejected.is_empty() {
            if let Some(record) = objects.get_mut(&object.key) {
                record.rejected.clear();
            }
            return Vec::new();
        }
        let record = self.record(&mut objects, object);
        let now: HashSet<&Rejected> = rejected.iter().collect();
        record.rejected.retain(|known| now.contains(known));
        let news = rejected.iter().filter(|each| record.rejected.insert((*each).clone()));
        news.map(|each| {
            let (kind, name) = (self.kind.kind, each.name);
            self.metrics.rejected.get_or_create(&OptInLabels { kind, name }).inc();
            Note::warning(INVALID_OPT_IN, each.to_string())
        })
        .collect()
    }

    /// Takes in what holds an object up now; the notes about those causes of which nothing was said lately.
    pub(super) fn held_up(&self, object: &Target, by: Vec<Explanation>, now: Instant) -> Vec<Note> {
        let mut objects = self.objects.lock();
        if by.is_empty() && !objects.contains_key(&object.key) {
            return Vec::new();
        }
        let record = self.record(&mut objects, object);
        let causes: BTreeSet<_> = by.iter().map(|explanation| explanation.cause).collect();
        self.count(&record.causes, &causes);
        record.causes = causes;
        record
            .explained
            .retain(|_, at| now.saturating_duration_since(*at) < QUIET);
        let mut notes = Vec::new();
        for Explanation { cause, note } in by {
            record.explained.entry(cause).or_insert_with(|| {
                notes.push(note);
                now
            });
        }
        notes
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        if let Some(record) = self.objects.lock().remove(key) {
            self.count(&record.causes, &BTreeSet::new());
        }
    }

    fn record<'r>(&self, objects: &'r mut HashMap<ObjectKey, Record>, object: &Target) -> &'r mut Record {
        let record = objects
            .entry(object.key.clone())
            .or_insert_with(|| Record::new(&object.uid));
        if record.uid != object.uid {
            self.count(&record.causes, &BTreeSet::new());
            *record = Record::new(&object.uid);
        }
        record
    }

    fn count(&self, before: &BTreeSet<&'static str>, after: &BTreeSet<&'static str>) {
        let gauge = |cause: &&'static str| {
            let (kind, cause) = (self.kind.kind, *cause);
            self.metrics.held_up.get_or_create_owned(&CauseLabels { kind, cause })
        };
        for gone in before.difference(after).map(gauge) {
            gone.dec();
        }
        for new in after.difference(before).map(gauge) {
            new.inc();
        }
    }
}

impl Record {
    fn new(uid: &Uid) -> Self {
        Self {
            uid: uid.clone(),
            rejected: HashSet::new(),
            causes: BTreeSet::new(),
            explained: HashMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::act::tests::target;

    fn told() -> Told {
        Told::new(Kind::DEPLOYMENT, ToldMetrics::default())
    }

    fn web(uid: &str) -> Target {
        target(Kind::DEPLOYMENT, "web", uid, "1")
    }

    fn because(cause: &'static str) -> Explanation {
        Explanation {
            cause,
            note: Note::warning("HeldUp", cause),
        }
    }

    fn gauge(told: &Told, cause: &'static str) -> i64 {
        let kind = "Deployment";
        told.metrics
            .held_up
            .get_or_create_owned(&CauseLabels { kind, cause })
            .get()
    }

    fn said(notes: &[Note]) -> Vec<&str> {
        notes.iter().map(|note| &*note.message).collect()
    }

    #[test]
    fn each_value_is_rejected_once_per_object() {
        let told = told();
        let bad = Rejected::new("deployment.hold-at", "x", "no number");
        let worse = Rejected::new("deployment.hold-at", "y", "no number");
        assert_eq!(told.rejected(&web("u1"), std::slice::from_ref(&bad)).len(), 1);
        assert_eq!(told.rejected(&web("u1"), std::slice::from_ref(&bad)).len(), 0);
        assert_eq!(told.rejected(&web("u1"), std::slice::from_ref(&worse)).len(), 1);
        assert_eq!(told.rejected(&web("u1"), &[]).len(), 0);
        assert_eq!(
            told.rejected(&web("u1"), std::slice::from_ref(&worse)).len(),
            1,
            "set anew"
        );
        assert_eq!(
            told.rejected(&web("u2"), std::slice::from_ref(&worse)).len(),
            1,
            "another object"
        );
        let (kind, name) = ("Deployment", "deployment.hold-at");
        let labels = OptInLabels { kind, name };
        assert_eq!(told.metrics.rejected.get_or_create_owned(&labels).get(), 4);
    }

    #[test]
    fn a_cause_is_explained_at_most_every_ten_minutes() {
        let told = told();
        let (start, web) = (crate::time::Clock::instant(&crate::time::SystemClock), web("u1"));
        let at = |minutes: u64| start + Duration::from_mins(minutes);
        assert_eq!(said(&told.held_up(&web, vec![because("a")], at(0))), ["a"]);
        assert_eq!(
            said(&told.held_up(&web, vec![because("a"), because("b")], at(1))),
            ["b"]
        );
        assert_eq!(said(&told.held_up(&web, Vec::new(), at(2))), [""; 0]);
        assert_eq!(
            said(&told.held_up(&web, vec![because("a")], at(9))),
            [""; 0],
            "not again"
        );
        assert_eq!(said(&told.held_up(&web, vec![because("a")], at(10))), ["a"]);
    }

    #[test]
    fn the_gauge_counts_objects_by_cause() {
        let told = told();
        let now = crate::time::Clock::instant(&crate::time::SystemClock);
        let shop = target(Kind::DEPLOYMENT, "shop", "u9", "1");
        told.held_up(&web("u1"), vec![because("a"), because("b")], now);
        told.held_up(&shop, vec![because("a")], now);
        assert_eq!((gauge(&told, "a"), gauge(&told, "b")), (2, 1));
        told.held_up(&web("u1"), vec![because("b")], now);
        assert_eq!((gauge(&told, "a"), gauge(&told, "b")), (1, 1));
        told.rejected(&web("u2"), &[Rejected::new("deployment.hold-at", "x", "")]);
        assert_eq!(gauge(&told, "b"), 0, "its successor under the name");
        told.forget(&shop.key);
        assert_eq!(gauge(&told, "a"), 0);
    }
}
