//! Whatever happens between a server and a cache, in the end the cache holds what the server holds, and whoever replays its
//! deltas holds the same.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;

use super::{bookmark, event, initial_end, page, status};
use crate::cache::sample::{Thing, key, spoiled, thing};
use crate::cache::watch::frame::{Ending, Frame, Page, ServerError};
use crate::cache::watch::step::{Ask, Machine};
use crate::cache::{Delta, Progress, Store};
use crate::id::ResourceVersion;
use crate::labels::Interner;
use crate::meta::Object;

/// How many objects there can be.
const OBJECTS: u8 = 6;

/// Something that happens, to the object with this number where there is one.
#[derive(Clone, Debug)]
enum Op {
    Put(u8),
    Spoil(u8),
    Delete(u8),
    /// Deletes and creates again under the same name.
    Recreate(u8),
    /// The client takes so many lines or answers.
    Deliver(u8),
    Bookmark,
    /// The connection fails; lines on their way are lost.
    Break,
    /// The server closes the stream after what it has sent.
    Close,
    /// The server ends the stream with 410.
    Expire,
    /// The server forgets its past.
    Compact,
    Backup,
    Restore,
}

#[derive(Clone, Default)]
struct State {
    version: u64,
    objects: BTreeMap<u8, Value>,
    log: Vec<(u64, String)>,
}

#[derive(Default)]
struct Server {
    state: State,
    backup: Option<State>,
    snapshots: BTreeMap<u64, Vec<Value>>,
    forgotten: u64,
    uids: u32,
    streams: bool,
}

/// An open stream as the client sees it.
struct Connection {
    lines: VecDeque<String>,
    initial: bool,
}

struct World {
    server: Server,
    machine: Machine,
    store: Store<Thing>,
    connection: Option<Connection>,
    replayed: BTreeMap<String, String>,
}

impl Server {
    fn write(&mut self, verb: &str, number: u8, object: impl FnOnce(&str, u64) -> Value) -> String {
        let name = format!("t{number}");
        self.state.version += 1;
        let object = object(&name, self.state.version);
        if verb == "DELETED" {
            self.state.objects.remove(&number);
        } else {
            self.state.objects.insert(number, object.clone());
        }
        let line = event(verb, &object);
        self.state.log.push((self.state.version, line.clone()));
        line
    }

    fn put(&mut self, number: u8, make: fn(&str, &str, u64) -> Value) -> String {
        let known = self.state.objects.get(&number);
        let (verb, uid) = if let Some(object) = known {
            ("MODIFIED", object["metadata"]["uid"].as_str().unwrap().to_owned())
        } else {
            self.uids += 1;
            ("ADDED", format!("u{}", self.uids))
        };
        self.write(verb, number, |name, version| make(name, &uid, version))
    }

    fn delete(&mut self, number: u8) -> Option<String> {
        let mut last = self.state.objects.get(&number)?.clone();
        Some(self.write("DELETED", number, |_, version| {
            last["metadata"]["resourceVersion"] = version.to_string().into();
            last
        }))
    }

    fn page(&mut self, token: Option<String>) -> Result<String, u16> {
        let (version, offset) = match token {
            None => (self.state.version, 0),
            Some(token) => {
                let (version, offset) = token.split_once(':').unwrap();
                (version.parse().unwrap(), offset.parse::<usize>().unwrap())
            }
        };
        if version < self.forgotten {
            return Err(410);
        }
        if offset == 0 {
            let now = self.state.objects.values().cloned().collect();
            self.snapshots.insert(version, now);
        }
        let snapshot = self.snapshots.get(&version).ok_or(500_u16)?;
        let rest = &snapshot[offset..];
        let next = if rest.len() > 2 {
            format!("{version}:{}", offset + 2)
        } else {
            String::new()
        };
        Ok(page(version, &next, &rest[..rest.len().min(2)]))
    }
}

impl World {
    fn new(streams: bool) -> Self {
        let state = State {
            version: 1,
            ..State::default()
        };
        Self {
            server: Server {
                state,
                streams,
                ..Server::default()
            },
            machine: Machine::default(),
            store: Store::default(),
            connection: None,
            replayed: BTreeMap::new(),
        }
    }

    fn happen(&mut self, op: &Op) {
        match *op {
            Op::Put(number) => self.sent(|server| Some(server.put(number, thing))),
            Op::Spoil(number) => self.sent(|server| Some(server.put(number, spoiled))),
            Op::Delete(number) => self.sent(|server| server.delete(number)),
            Op::Recreate(number) => {
                self.sent(|server| server.delete(number));
                self.sent(|server| Some(server.put(number, thing)));
            }
            Op::Deliver(count) => (0..count).for_each(|_| self.advance()),
            Op::Bookmark => self.sent(|server| Some(bookmark(server.state.version))),
            Op::Break => self.end(&Ending::Broken("reset".to_owned())),
            Op::Close => self.close(),
            Op::Expire => self.end(&refused(410)),
            Op::Compact => self.server.forgotten = self.server.state.version,
            Op::Backup => self.server.backup = Some(self.server.state.clone()),
            Op::Restore => self.restore(),
        }
    }

    /// The server does something; an open stream hears of it.
    fn sent(&mut self, act: impl FnOnce(&mut Server) -> Option<String>) {
        let line = act(&mut self.server);
        if let (Some(line), Some(connection)) = (line, &mut self.connection) {
            connection.lines.push_back(line);
        }
    }

    /// The server gets its old state back and is left alone until the cache has noticed.
    fn restore(&mut self) {
        if let Some(backup) = self.server.backup.clone() {
            self.server.forgotten = self.server.forgotten.min(backup.version);
            self.server.snapshots.clear();
            self.server.state = backup;
            self.end(&Ending::Broken("reset".to_owned()));
            self.settle();
        }
    }

    /// One line, or one answer where no stream is open.
    fn advance(&mut self) {
        let Some(connection) = &mut self.connection else {
            return self.request();
        };
        if let Some(line) = connection.lines.pop_front() {
            return self.line(&line);
        }
        if connection.initial {
            connection.initial = false;
            self.line(&initial_end(self.server.state.version));
        }
    }

    fn line(&mut self, line: &str) {
        let frame = Frame::<Thing>::decode(line.as_bytes(), &Interner::default()).unwrap();
        if let Some(change) = self.machine.frame(frame) {
            let deltas = change.apply_to(&self.store);
            self.replay(deltas);
        }
    }

    fn request(&mut self) {
        match self.machine.ask() {
            Ask::Initial if !self.server.streams => self.end(&refused(422)),
            Ask::Initial => {
                let objects = self.server.state.objects.values();
                let lines = objects.map(|object| event("ADDED", object)).collect();
                self.connection = Some(Connection { lines, initial: true });
            }
            Ask::Resume(version) => {
                let version: u64 = version.as_str().parse().unwrap();
                if version < self.server.forgotten {
                    return self.end(&refused(410));
                }
                let later = self.server.state.log.iter().filter(|(at, _)| *at > version);
                let lines = later.map(|(_, line)| line.clone()).collect();
                self.connection = Some(Connection { lines, initial: false });
            }
            Ask::Page(token) => match self.server.page(token) {
                Ok(page) => {
                    let page = Page::<Thing>::decode(page.as_bytes(), &Interner::default()).unwrap();
                    for change in self.machine.page(page) {
                        let deltas = change.apply_to(&self.store);
                        self.replay(deltas);
                    }
                }
                Err(code) => self.end(&refused(code)),
            },
            Ask::Version => {
                let version = ResourceVersion::new(self.server.state.version.to_string());
                self.machine.version(&version);
            }
        }
    }

    fn end(&mut self, ending: &Ending) {
        self.connection = None;
        self.machine.ended(ending, Duration::from_secs(1), 0.0);
    }

    fn close(&mut self) {
        while self
            .connection
            .as_ref()
            .is_some_and(|open| open.initial || !open.lines.is_empty())
        {
            self.advance();
        }
        if self.connection.is_some() {
            self.end(&Ending::Closed);
        }
    }

    /// Nothing happens any more but that streams are closed in time.
    fn settle(&mut self) {
        for _ in 0..4 {
            while self.connection.is_none() {
                self.advance();
            }
            self.close();
        }
    }

    fn replay(&mut self, deltas: Vec<Delta<Thing>>) {
        for delta in deltas {
            let (before, after) = match &delta {
                Delta::Applied { old, new } => (old.as_ref(), Some(new)),
                Delta::Removed { last } => (Some(last), None),
            };
            let name = before.or(after).unwrap().meta().key.name.to_string();
            assert_eq!(self.replayed.get(&name).cloned(), before.map(|thing| thing.text()));
            match after {
                Some(thing) => self.replayed.insert(name, thing.text()),
                None => self.replayed.remove(&name),
            };
        }
    }

    fn check(&self) {
        let stored: BTreeSet<String> = self
            .store
            .in_namespace("shop")
            .iter()
            .map(|thing| thing.text())
            .collect();
        assert_eq!(
            stored,
            self.replayed.values().cloned().collect(),
            "deltas replay to the store"
        );
        for number in 0..OBJECTS {
            let stored = self.store.get(&key(&format!("t{number}")));
            match self.server.state.objects.get(&number) {
                Some(object) if object["size"].is_number() => {
                    assert_eq!(stored.map(|thing| thing.text()), Some(Thing::from_json(object).text()));
                }
                Some(unreadable) => {
                    let uid = unreadable["metadata"]["uid"].as_str().unwrap();
                    assert!(stored.is_none_or(|thing| thing.meta().uid.as_str() == uid));
                }
                None => assert_eq!(stored, None),
            }
        }
        let seen = self.store.seen().unwrap();
        assert!(seen.as_str().parse::<u64>().unwrap() <= self.server.state.version);
    }
}

fn refused(code: u16) -> Ending {
    Ending::Refused(ServerError::decode(status(code, "Reason").to_string().as_bytes()).unwrap())
}

fn op() -> impl Strategy<Value = Op> {
    let number = 0..OBJECTS;
    prop_oneof![
        6 => number.clone().prop_map(Op::Put),
        1 => number.clone().prop_map(Op::Spoil),
        3 => number.clone().prop_map(Op::Delete),
        2 => number.prop_map(Op::Recreate),
        8 => (1_u8..6).prop_map(Op::Deliver),
        1 => Just(Op::Bookmark),
        2 => Just(Op::Break),
        1 => Just(Op::Close),
        1 => Just(Op::Expire),
        1 => Just(Op::Compact),
        1 => Just(Op::Backup),
        1 => Just(Op::Restore),
    ]
}

proptest! {
    #[test]
    fn a_cache_ends_up_with_what_the_server_holds(streams: bool, ops in prop::collection::vec(op(), 0..60)) {
        let mut world = World::new(streams);
        for op in &ops {
            world.happen(op);
        }
        world.settle();
        world.check();
    }
}

/// An object that was readable once and then is not stays in the cache through a fresh list.
#[test]
fn an_object_that_became_unreadable_survives_a_fresh_list() {
    for streams in [true, false] {
        let mut world = World::new(streams);
        let ops = [
            Op::Put(1),
            Op::Put(2),
            Op::Deliver(9),
            Op::Spoil(1),
            Op::Delete(2),
            Op::Expire,
            Op::Deliver(9),
        ];
        for op in &ops {
            world.happen(op);
        }
        world.settle();
        assert_eq!(world.replayed.values().collect::<Vec<_>>(), ["t1/u1@2"]);
    }
}
