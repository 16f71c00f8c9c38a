//! An API server in memory: a plain, deterministic state machine without tasks, threads or a clock of its own.
//!
//! - `shape` is the list of all requests that a controller sends. Whatever is not on it is answered by 501 and remembered in
//!   [`ApiServer::unknown`]; tests on a real server prove the list complete (see [`crate::proxy`]).
//! - `create`, `update`, `delete` and `evict` are the rules of writes, `kinds` says how kinds differ, `defaults`
//!   and `validate` know what a controller or the user of a scenario can meet.
//! - `store` keeps every version of every object, `list` and `watch` show them.
//! - `collect` and `budget` stand for those controllers of kube-controller-manager that a workload needs: each call is one
//!   step, so that a schedule decides when it happens.
//!
//! Tests send random series of these requests to this server and to a real one and compare; what differs is listed in
//! `docs/simulation.md`.

mod address;
mod answer;
mod body;
mod budget;
mod collect;
mod create;
mod defaults;
mod delete;
mod evict;
mod hand;
mod job;
mod kinds;
mod list;
mod merge;
mod refusal;
mod selection;
mod shape;
mod status;
mod store;
#[cfg(test)]
mod tests;
mod update;
mod validate;
mod watch;

use std::collections::BTreeSet;

use bytes::Bytes;
use http::Request;
use workload_core::id::Kind;
use workload_core::time::Timestamp;

pub use self::answer::Reply;
pub use self::body::{DeleteOptions, Propagation};
pub use self::hand::Write;
pub use self::kinds::Resource;
pub use self::refusal::{Quota, Refusal};
pub use self::selection::Selection;
pub use self::shape::{Form, Part, Scope, Shape, Since};
pub use self::status::Status;
pub use self::watch::Subscription;

use self::kinds::Kinds;
use self::refusal::Script;
use self::store::Store;

/// An API server in memory. It carries out one request at a time, at the time that it is told.
#[derive(Debug)]
pub struct ApiServer {
    kinds: Kinds,
    store: Store,
    script: Script,
    ending: BTreeSet<String>,
    names: Names,
    /// The version at which the garbage collector had nothing to do.
    collected: u64,
    unknown: Vec<String>,
}

impl ApiServer {
    /// An empty server that knows the built-in kinds of this project and these custom ones. All that it would choose at
    /// random follows from `seed`.
    pub fn new(seed: u64, custom: &[Kind]) -> Self {
        Self {
            kinds: Kinds::with(custom),
            store: Store::default(),
            script: Script::default(),
            ending: BTreeSet::new(),
            names: Names { seed, drawn: 0 },
            collected: 0,
            unknown: Vec::new(),
        }
    }

    /// Carries out one request at this time. A request of no known shape is answered by 501 and remembered.
    pub fn call(&mut self, request: &Request<Bytes>, now: Timestamp) -> Reply {
        match Shape::of(request, self.kinds.all()) {
            Ok(shape) => self.answer(request, shape, now),
            Err(why) => {
                let asked = format!("{} {}: {why}", request.method(), request.uri());
                let refused = Status::unknown(&asked).into();
                self.unknown.push(asked);
                refused
            }
        }
    }

    /// The newest resourceVersion.
    pub fn version(&self) -> u64 {
        self.store.version()
    }

    /// Forgets what was before `version`: watches and continued lists from before it are answered by 410 Expired. Watches
    /// that are open go on.
    pub fn compact(&mut self, version: u64) {
        self.store.compact(version);
    }

    /// All requests so far that had no known shape.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// From now on namespace `name` is being deleted: nothing can be created in it.
    pub fn end_namespace(&mut self, name: &str) {
        self.ending.insert(name.to_owned());
    }
}

/// Source of uids and of the random part of generated names.
#[derive(Debug)]
struct Names {
    seed: u64,
    drawn: u64,
}

impl Names {
    /// A number that looks random (Steele, Lea & Flood: splitmix64).
    fn draw(&mut self) -> u64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        self.drawn += 1;
        let mut mixed = self.seed.wrapping_add(GOLDEN.wrapping_mul(self.drawn));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn uid(&mut self) -> String {
        let (high, low) = (self.draw(), self.draw());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff,
        )
    }

    /// The base, cut as the server cuts it, and five letters (deployment A-9).
    fn generated(&mut self, base: &str) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let drawn = self.draw();
        let letter = |place: u32| {
            let at = (drawn >> (10 * place)) % ALPHABET.len() as u64;
            char::from(ALPHABET[usize::try_from(at).expect("a small number")])
        };
        let base: String = base.chars().take(58).collect();
        (0..5).fold(base, |mut name, place| {
            name.push(letter(place));
            name
        })
    }
}
