//! Names as both halves of a comparison can share them.
//!
//! Hashes, random suffixes and uids differ from run to run. Each is replaced by what it stands for: the second ReplicaSet of
//! `web` is `web-HASH2`, its pods are `web-HASH2-POD`, and a uid says whose it is. So a reference to the wrong object is
//! still seen.

use std::collections::{BTreeMap, HashMap};

use workload_core::id::Kind;

use crate::object::Stored;
use crate::record::{Change, State};

/// What the server and the controllers complete generated names with.
const ALPHABET: &str = "bcdfghjklmnpqrstvwxz2456789";
/// How many of these.
const SUFFIX: usize = 5;
/// The longest pod-template-hash.
const LONGEST_HASH: usize = 10;
/// Admission gives the volume of a pod's token a random name of this beginning.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// The shared names of everything that a record has ever seen.
pub(super) struct Names {
    namespace: String,
    /// Names of ReplicaSets, and theirs in common.
    sets: BTreeMap<String, String>,
    deployments: Vec<String>,
    jobs: Vec<String>,
    hashes: HashMap<String, String>,
    uids: HashMap<String, String>,
}

impl Names {
    /// Of all objects that `state` knows or knew in `namespace`. ReplicaSets are counted by birth, those of each Deployment
    /// by themselves.
    pub(super) fn of(state: &State, namespace: &str) -> Self {
        let mut names = Self {
            namespace: namespace.to_owned(),
            sets: BTreeMap::new(),
            deployments: Vec::new(),
            jobs: Vec::new(),
            hashes: HashMap::new(),
            uids: HashMap::new(),
        };
        let born = |kind| state.writes(kind).filter(|write| write.change == Change::Added);
        for write in born(Kind::DEPLOYMENT) {
            names.deployments.push(write.object.name().to_owned());
        }
        for write in born(Kind::JOB) {
            names.jobs.push(write.object.name().to_owned());
        }
        for write in born(Kind::REPLICA_SET) {
            names.add_set(&write.object);
        }
        let mut incarnations: HashMap<String, usize> = HashMap::new();
        for write in [Kind::DEPLOYMENT, Kind::REPLICA_SET, Kind::JOB, Kind::POD]
            .into_iter()
            .flat_map(born)
        {
            let object = format!("{} {}", write.object.kind(), names.text(write.object.name()));
            let count = incarnations.entry(object.clone()).or_default();
            *count += 1;
            // Pods of one set share a name; which of them came first says nothing.
            let number = if *count > 1 && write.object.kind() != Kind::POD.kind {
                format!(" #{count}")
            } else {
                String::new()
            };
            names
                .uids
                .insert(write.object.uid().to_owned(), format!("uid of {object}{number}"));
        }
        names
    }

    fn add_set(&mut self, set: &Stored) {
        let name = set.name();
        if self.sets.contains_key(name) {
            return;
        }
        let hash = set.label("pod-template-hash");
        let base = hash.and_then(|hash| name.strip_suffix(hash)?.strip_suffix('-'));
        let shared = match (hash, base) {
            (Some(hash), Some(base)) => {
                let prefix = format!("{base}-HASH");
                let number = 1 + self.sets.values().filter(|known| known.starts_with(&prefix)).count();
                let shared = format!("HASH{number}");
                self.hashes.entry(hash.to_owned()).or_insert_with(|| shared.clone());
                format!("{base}-{shared}")
            }
            (None, _) | (_, None) => name.to_owned(),
        };
        self.sets.insert(name.to_owned(), shared);
    }

    /// The shared form of the value of a label `pod-template-hash`.
    pub(super) fn hash(&self, hash: &str) -> String {
        self.hashes
            .get(hash)
            .map_or_else(|| "HASH of none".to_owned(), Clone::clone)
    }

    /// A text with all names in it in their shared form.
    pub(super) fn text(&self, text: &str) -> String {
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let mut shared = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let word = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(word);
            let core = word.trim_end_matches(['-', '.']);
            shared.push_str(&self.word(core));
            shared.push_str(&word[core.len()..]);
            let gap = after.find(is_of_word).unwrap_or(after.len());
            shared.push_str(&after[..gap]);
            rest = &after[gap..];
        }
        shared
    }

    fn word(&self, word: &str) -> String {
        if let Some(shared) = self.sets.get(word).or_else(|| self.uids.get(word)) {
            return shared.clone();
        }
        if word == self.namespace {
            return "NAMESPACE".to_owned();
        }
        if let Some(rest) = word
            .strip_prefix(&self.namespace)
            .filter(|rest| rest.starts_with(['-', '.']))
        {
            return format!("NAMESPACE{rest}");
        }
        if word.strip_prefix(TOKEN_VOLUME).is_some_and(is_random) {
            return format!("{TOKEN_VOLUME}RANDOM");
        }
        self.of_pod(word)
            .or_else(|| self.of_pod_of_job(word))
            .or_else(|| self.of_unborn_set(word))
            .unwrap_or_else(|| word.to_owned())
    }

    /// A pod of a ReplicaSet; also one that the server refused to store.
    fn of_pod(&self, word: &str) -> Option<String> {
        let (set, suffix) = word.rsplit_once('-')?;
        let shared = self.sets.get(set).filter(|_| is_random(suffix))?;
        Some(format!("{shared}-POD"))
    }

    /// A pod of a Job; of an Indexed one its name tells the index.
    fn of_pod_of_job(&self, word: &str) -> Option<String> {
        let (base, suffix) = word.rsplit_once('-')?;
        let of_index = |job: &str| {
            let index = base.strip_prefix(job).and_then(|rest| rest.strip_prefix('-'));
            index.is_some_and(|index| index.parse::<u32>().is_ok())
        };
        let known = self.jobs.iter().any(|job| job == base || of_index(job));
        (known && is_random(suffix)).then(|| format!("{base}-POD"))
    }

    /// A ReplicaSet, or a pod of one, that the server refused to store.
    fn of_unborn_set(&self, word: &str) -> Option<String> {
        let (deployment, hash) = word.rsplit_once('-')?;
        let is_hash = (SUFFIX..=LONGEST_HASH).contains(&hash.len()) && hash.chars().all(|c| ALPHABET.contains(c));
        let known = self.deployments.iter().any(|known| known == deployment);
        (known && is_hash).then(|| format!("{deployment}-HASH"))
    }
}

fn is_random(suffix: &str) -> bool {
    suffix.len() == SUFFIX && suffix.chars().all(|c| ALPHABET.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parity::samples::Samples;

    #[test]
    fn names_derived_from_hashes_are_told_apart_by_birth_and_all_others_stay() {
        let mut state = Samples::default();
        state.set("web-65bb57b6b5", "65bb57b6b5", "u1");
        state.set("web-7d6b446664", "7d6b446664", "u2");
        state.deployment("web");
        let names = Names::of(&state.state, "test-1");
        for (text, expected) in [
            ("web", "web"),
            ("web-65bb57b6b5", "web-HASH1"),
            ("web-7d6b446664-", "web-HASH2-"),
            ("Created pod: web-7d6b446664-x2k4l", "Created pod: web-HASH2-POD"),
            ("set \"web-65bb57b6b5\" from 0 to 3.", "set \"web-HASH1\" from 0 to 3."),
            ("web-65bb57b6b5-x2k4", "web-65bb57b6b5-x2k4"),
            ("web-65bb57b6b5-other", "web-65bb57b6b5-other"),
            ("web-94bcd", "web-HASH"),
            ("test-1", "NAMESPACE"),
            ("test-1-node", "NAMESPACE-node"),
            ("test-12", "test-12"),
            ("kube-api-access-x2k4l", "kube-api-access-RANDOM"),
            ("u2", "uid of ReplicaSet web-HASH2"),
            ("apps/v1", "apps/v1"),
        ] {
            assert_eq!(names.text(text), expected);
        }
        assert_eq!(names.hash("7d6b446664"), "HASH2");
        assert_eq!(names.hash("unheard"), "HASH of none");
    }

    #[test]
    fn pods_of_jobs_are_told_apart_by_their_index() {
        let mut state = Samples::default();
        state.job("work");
        let names = Names::of(&state.state, "test-1");
        for (text, expected) in [
            ("Created pod: work-x2k4l", "Created pod: work-POD"),
            ("work-17-x2k4l", "work-17-POD"),
            ("work-17", "work-17"),
            ("work-a-x2k4l", "work-a-x2k4l"),
            ("worker-x2k4l", "worker-x2k4l"),
        ] {
            assert_eq!(names.text(text), expected);
        }
    }

    #[test]
    fn a_successor_of_the_same_name_has_another_uid() {
        let mut state = Samples::default();
        state.set("web", "", "u1");
        state.gone("web", "u1");
        state.set("web", "", "u2");
        let names = Names::of(&state.state, "test-1");
        assert_eq!(names.text("u1 u2"), "uid of ReplicaSet web uid of ReplicaSet web #2");
    }
}
