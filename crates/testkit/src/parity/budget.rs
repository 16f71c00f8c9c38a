//! How often something may be written: never more often than by upstream.
//!
//! Births, removals and changes of objects are determined by a script. How many status writes a burst of pods takes is not:
//! whoever looks a moment later has one less to write. So where these are more, the script is played again, and the fewest
//! of ours are held against the most of upstream's. A surplus write per turn is found all the same.

use std::collections::{BTreeMap, BTreeSet};

use super::account::{Account, Part, Written};
use super::difference::both;

/// What several performances of one script took.
#[derive(Debug, Default)]
pub(super) struct Budget {
    fewest_of_ours: BTreeMap<Written, usize>,
    most_of_upstream: BTreeMap<Written, usize>,
}

impl Budget {
    /// Takes note of one more performance.
    pub(super) fn add(&mut self, ours: &Account, upstream: &Account) {
        let kinds = ours.writes.keys().chain(upstream.writes.keys()).cloned();
        for written in kinds.collect::<BTreeSet<_>>() {
            let [our, their] =
                [ours, upstream].map(|account| account.writes.get(&written).copied().unwrap_or_default());
            let fewest = self.fewest_of_ours.entry(written.clone()).or_insert(our);
            *fewest = our.min(*fewest);
            let most = self.most_of_upstream.entry(written).or_insert(their);
            *most = their.max(*most);
        }
    }

    /// What we wrote more often than upstream in every performance, one line each.
    pub(super) fn surplus(&self) -> Vec<String> {
        surplus(&self.fewest_of_ours, &self.most_of_upstream)
    }
}

/// Where one performance shows for certain that the numbers of writes differ: objects must be made and removed exactly as
/// often as by upstream, and not be changed more often.
pub(super) fn certain_differences(ours: &Account, upstream: &Account) -> Vec<String> {
    let of = |account: &Account, parts: &[Part]| -> BTreeMap<Written, usize> {
        let writes = account
            .writes
            .iter()
            .filter(|(written, _)| parts.contains(&written.part));
        writes.map(|(written, count)| (written.clone(), *count)).collect()
    };
    let mut found = surplus(&of(ours, &[Part::Object]), &of(upstream, &[Part::Object]));
    let [our, their] = [ours, upstream].map(|account| of(account, &[Part::Birth, Part::End]));
    for written in our.keys().chain(their.keys()).collect::<BTreeSet<_>>() {
        let [our, their] = [&our, &their].map(|counts| counts.get(written).copied().unwrap_or_default());
        if our != their {
            found.push(both(&written.to_string(), our, their));
        }
    }
    found
}

fn surplus(ours: &BTreeMap<Written, usize>, upstream: &BTreeMap<Written, usize>) -> Vec<String> {
    let more = |(written, count): (&Written, &usize)| {
        let allowed = upstream.get(written).copied().unwrap_or_default();
        (*count > allowed).then(|| both(&format!("more {written} than upstream"), count, allowed))
    };
    ours.iter().filter_map(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(part: Part, count: usize) -> Account {
        let written = Written {
            kind: "ReplicaSet".to_owned(),
            part,
        };
        Account {
            writes: BTreeMap::from([(written, count)]),
            ..Account::default()
        }
    }

    #[test]
    fn objects_are_made_and_removed_as_often_and_changed_no_more_often() {
        for (part, fewer, more) in [
            (Part::Birth, 1, 1),
            (Part::End, 1, 1),
            (Part::Object, 0, 1),
            (Part::Status, 0, 0),
        ] {
            for (count, expected) in [(2, fewer), (3, 0), (4, more)] {
                let found = certain_differences(&account(part, count), &account(part, 3));
                assert_eq!(found.len(), expected, "{part:?} {count}: {found:?}");
            }
        }
    }

    #[test]
    fn a_surplus_status_write_is_one_only_if_every_performance_has_it() {
        let mut budget = Budget::default();
        for (ours, upstream, is_surplus) in [(5, 3, true), (5, 4, true), (4, 4, false)] {
            let (ours, upstream) = (account(Part::Status, ours), account(Part::Status, upstream));
            assert!(certain_differences(&ours, &upstream).is_empty());
            budget.add(&ours, &upstream);
            assert_eq!(!budget.surplus().is_empty(), is_surplus);
        }
    }

    #[test]
    fn what_only_we_write_is_surplus() {
        let mut budget = Budget::default();
        budget.add(&account(Part::Status, 1), &Account::default());
        assert_eq!(budget.surplus().len(), 1);
    }
}
