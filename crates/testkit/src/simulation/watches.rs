//! Open watches: what happens on the server is shown to each of them a little later, or much later.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use serde_json::json;
use tokio::sync::mpsc;
use tower::BoxError;
use workload_core::id::Kind;

use super::clock::Moment;
use super::connection::{Frames, Life, Line};
use super::network::broken;
use super::schedule::{Lines, Plural};
use super::server::{Status, Subscription};
use super::world::{Event, World};

/// How late watches are told in good times, in milliseconds.
const TELLING: std::ops::RangeInclusive<u64> = 1..=15;
/// How often an open watch is told the newest version although nothing has happened.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// How soon a bookmark is tried again that would overtake something.
const PAUSE: Duration = Duration::from_secs(1);

/// All open watches.
#[derive(Default)]
pub(super) struct Watches {
    open: BTreeMap<u64, Watch>,
    last: u64,
    /// Up to which version each process has been shown a kind.
    seen: BTreeMap<(Life, Plural), u64>,
}

struct Watch {
    life: Life,
    channel: Line,
    kind: Kind,
    subscription: Subscription,
    frames: mpsc::UnboundedSender<Result<Bytes, BoxError>>,
    /// When the last of what is on its way arrives: nothing overtakes it.
    due: Moment,
}

/// How a watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Closed,
    Broken,
    Expired,
}

impl Watches {
    /// What a process has been shown, for people.
    pub(super) fn seen_by(&self, life: Life) -> String {
        let of_it = self.seen.range((life, "")..).take_while(|((of, _), _)| *of == life);
        let each: Vec<String> = of_it.map(|((_, kind), version)| format!("{kind} {version}")).collect();
        if each.is_empty() {
            return "has seen nothing".to_owned();
        }
        format!("has seen {}", each.join(", "))
    }

    /// Up to which version a process has been shown a kind.
    pub(super) fn version_seen(&self, life: Life, kind: Kind) -> u64 {
        self.seen.get(&(life, kind.plural)).copied().unwrap_or_default()
    }

    fn matching(&self, fits: impl Fn(&Watch) -> bool) -> Vec<u64> {
        self.open
            .iter()
            .filter(|(_, watch)| fits(watch))
            .map(|(id, _)| *id)
            .collect()
    }
}

impl World {
    /// Opens a watch. What it begins with comes at once.
    pub(super) fn open_watch(&mut self, life: Life, channel: Line, subscription: Subscription) -> Response<Frames> {
        let (frames, received) = mpsc::unbounded_channel();
        let watches = &mut self.network.watches;
        watches.last += 1;
        let id = watches.last;
        let kind = subscription.kind();
        let lifetime = subscription.lifetime;
        let due = Moment::ZERO;
        watches.open.insert(
            id,
            Watch {
                life,
                channel,
                kind,
                subscription,
                frames,
                due,
            },
        );
        self.show_later(id, self.server.version());
        if let Some(lifetime) = lifetime {
            self.later(lifetime, Event::EndWatch(id));
        }
        self.later(BOOKMARKS, Event::Bookmark(id));
        Response::new(Frames::Stream(received))
    }

    /// Something happened to a kind: all who watch it will be told.
    pub(super) fn tell_watches(&mut self, kind: Kind, version: u64) {
        for id in self.network.watches.matching(|watch| watch.kind == kind) {
            self.show_later(id, version);
        }
    }

    fn show_later(&mut self, id: u64, version: u64) {
        let now = self.now();
        let soon = self.network.stream.millis(&TELLING);
        let Some(watch) = self.network.watches.open.get_mut(&id) else {
            return;
        };
        let lags = self.network.lags.iter();
        let by = lags
            .filter(|lag| lag.until > now && lag.replica == watch.life.replica && lag.kind == watch.kind.plural)
            .map(|lag| lag.by)
            .max();
        watch.due = watch.due.max(now + soon + by.unwrap_or_default());
        self.agenda.put(watch.due, Event::Show(id, version));
    }

    /// A watch is shown what happened up to a version.
    pub(super) fn show(&mut self, id: u64, version: u64) {
        let watches = &mut self.network.watches;
        let Some(watch) = watches.open.get_mut(&id) else {
            return;
        };
        let mut heard = true;
        for frame in self.server.events(&mut watch.subscription, version) {
            heard &= watch.frames.send(Ok(frame)).is_ok();
        }
        let seen = watches.seen.entry((watch.life, watch.kind.plural)).or_default();
        *seen = version.max(*seen);
        if !heard || watch.frames.is_closed() {
            watches.open.remove(&id);
        }
    }

    /// The server tells a watch its newest version, behind all that is on its way.
    pub(super) fn bookmark(&mut self, id: u64) {
        let now = self.now();
        let version = self.server.version();
        let Some(watch) = self.network.watches.open.get_mut(&id) else {
            return;
        };
        if watch.due > now {
            self.later(PAUSE, Event::Bookmark(id));
            return;
        }
        self.show(id, version);
        if let Some(watch) = self.network.watches.open.get(&id) {
            let bookmark = watch.subscription.bookmark().map(Ok);
            let _gone = bookmark.map(|bookmark| watch.frames.send(bookmark));
            self.later(BOOKMARKS, Event::Bookmark(id));
        }
    }

    /// A watch ends as every watch does.
    pub(super) fn end_watch(&mut self, id: u64, how: End) {
        let Some(watch) = self.network.watches.open.remove(&id) else {
            return;
        };
        let last = match how {
            End::Closed => return,
            End::Broken => Err(broken()),
            End::Expired => {
                let status = Status::expired("too old resource version").body();
                Ok(format!("{}\n", json!({"type": "ERROR", "object": status})).into())
            }
        };
        let _gone = watch.frames.send(last);
    }

    /// All watches of a kind of one replica end.
    pub(super) fn end_watches_of(&mut self, replica: usize, kind: Plural, how: End) {
        let fits = |watch: &Watch| watch.life.replica == replica && watch.kind.plural == kind;
        for id in self.network.watches.matching(fits) {
            self.end_watch(id, how);
        }
    }

    /// The connections of a replica break.
    pub(super) fn break_lines(&mut self, replica: usize, lines: Lines) {
        let fits = |watch: &Watch| watch.life.replica == replica && lines.covers(watch.channel);
        for id in self.network.watches.matching(fits) {
            self.end_watch(id, End::Broken);
        }
    }

    /// A process is no more: what it watched goes with it.
    pub(super) fn forget_watches(&mut self, life: Life) {
        self.network.watches.open.retain(|_, watch| watch.life != life);
    }
}
