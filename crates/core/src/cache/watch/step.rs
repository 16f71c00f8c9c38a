//! The list/watch machine: which request comes next, and what an answer changes. No I/O, no clock, no chance.
//!
//! A fresh list is one stream that begins with the whole state (`sendInitialEvents`, without a version: a consistent read,
//! deployment I-3) and goes on as a watch. Servers that refuse such streams are asked for pages instead. After that only
//! changes are fetched, until the server has forgotten our version.
//!
//! Objects of a list are stored as they come: each is what the server holds. What the server no longer holds is known at
//! the end of the list; until then the old copies stay and the store's newest version does not move.
//!
//! An object that cannot be decoded does not count as deleted. If an earlier copy of it (same uid) is stored, that copy is
//! kept as last known: acting on a slightly old copy fails on its version, while acting on a supposed deletion would create
//! replacements.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::mem;
use std::time::Duration;

use super::backoff::{Backoff, End};
use super::frame::{Ending, Frame, Item, Page};
use crate::cache::{Delta, Identity, Source, Store};
use crate::id::{ObjectKey, ResourceVersion};
use crate::meta::{DecodeError, Object};

/// The state of one watch.
#[derive(Debug, Default)]
pub(super) struct Machine {
    method: Method,
    phase: Phase,
    backoff: Backoff,
    /// Up to where everything has been processed; survives until the next list ends.
    reached: Option<ResourceVersion>,
    /// Whether the current stream has delivered anything.
    heard: bool,
    /// Whether the server may have another history than the store shows.
    doubtful: bool,
}

/// How a fresh list is fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Method {
    /// As the beginning of a stream.
    #[default]
    Stream,
    /// Page by page: this server refused the stream.
    Pages,
}

impl Method {
    /// Name in logs and metrics.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Pages => "pages",
        }
    }
}

#[derive(Debug)]
enum Phase {
    Listing(Listing),
    Live,
    /// The server may have another history than before: the connection failed, or a stream ended without a word. After a
    /// restore from a backup a watch is silent until the server has reached the version we asked for. Both are normal as
    /// well, so the server is asked for its version before the watch goes on.
    Doubt,
}

/// A fresh list under way.
#[derive(Debug, Default)]
struct Listing {
    present: HashSet<ObjectKey>,
    next: Option<String>,
}

/// The next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// A stream that begins with the whole state.
    Initial,
    /// A stream of what comes after this version.
    Resume(ResourceVersion),
    /// A page of a list: the first, or the one with this token.
    Page(Option<String>),
    /// The version of the server's state, without the state.
    Version,
}

/// What to do to the store.
#[derive(Debug)]
pub(super) enum Change<T> {
    /// Take this object in.
    Present(T, Source),
    /// Take this object out.
    Absent(Identity, Source),
    /// Count it; keep an earlier copy with the same uid.
    Unreadable(Identity, Source, DecodeError),
    /// Everything up to here has been processed.
    Reached(ResourceVersion),
    /// A list is complete: what is not `present` is gone.
    Listed {
        /// Keys of all objects on the server.
        present: HashSet<ObjectKey>,
        /// Version of the list.
        version: ResourceVersion,
        /// Whether the versions of before still mean something.
        history: History,
    },
}

/// Whether a list continues what was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum History {
    /// Its version is at least that seen before, or nothing was.
    Same,
    /// Its version is lower: the server was restored from a backup.
    Another,
}

impl<T: Object> Change<T> {
    /// Carries the change out, and says what it came to.
    pub(super) fn apply_to(self, store: &Store<T>) -> Vec<Delta<T>> {
        match self {
            Self::Present(object, source) => store.apply(object, source),
            Self::Absent(gone, source) => Vec::from_iter(store.remove(&gone, source)),
            Self::Unreadable(identity, source, _) => Vec::from_iter(store.keep(&identity, source)),
            Self::Reached(version) => {
                store.advance(&version);
                Vec::new()
            }
            Self::Listed { present, version, .. } => store.finish_list(&present, version),
        }
    }
}

impl Machine {
    /// The next request.
    pub(super) fn ask(&self) -> Ask {
        match (&self.phase, self.method, &self.reached) {
            (Phase::Listing(listing), Method::Pages, _) => Ask::Page(listing.next.clone()),
            (Phase::Live, _, Some(reached)) => Ask::Resume(reached.clone()),
            (Phase::Doubt, ..) => Ask::Version,
            (Phase::Listing(_), Method::Stream, _) | (Phase::Live, _, None) => Ask::Initial,
        }
    }

    /// Begins a fresh list, whatever was going on.
    pub(super) fn restart(&mut self) {
        self.phase = Phase::default();
    }

    /// True from the failure of a watch or list, or from an answer that our version is not known, until a watch goes on from it or
    /// a list is complete: until the store shows the server's history. Not before the first list.
    pub(super) fn is_doubtful(&self) -> bool {
        self.doubtful
    }

    /// How fresh lists are fetched.
    pub(super) fn method(&self) -> Method {
        self.method
    }

    /// Takes one frame of the current stream.
    pub(super) fn frame<T: Object>(&mut self, frame: Frame<T>) -> Option<Change<T>> {
        self.heard = true;
        match (&mut self.phase, frame) {
            (Phase::Listing(listing), Frame::Present(item)) => Some(listing.take(item)),
            (Phase::Listing(listing), Frame::Absent(identity)) => {
                listing.present.remove(&identity.key);
                Some(Change::Absent(identity, Source::List))
            }
            (Phase::Listing(_), Frame::Bookmark(_)) => None,
            (Phase::Listing(listing), Frame::InitialEnd(version)) => {
                let present = mem::take(&mut listing.present);
                Some(self.listed(present, version))
            }
            (Phase::Live | Phase::Doubt, Frame::Present(item)) => {
                self.reach(item.version());
                Some(change(item, Source::Watch))
            }
            (Phase::Live | Phase::Doubt, Frame::Absent(identity)) => {
                self.reach(&identity.version);
                Some(Change::Absent(identity, Source::Watch))
            }
            (Phase::Live | Phase::Doubt, Frame::Bookmark(version) | Frame::InitialEnd(version)) => {
                self.reach(&version);
                Some(Change::Reached(version))
            }
        }
    }

    /// Takes one page.
    pub(super) fn page<T: Object>(&mut self, page: Page<T>) -> Vec<Change<T>> {
        let Phase::Listing(listing) = &mut self.phase else {
            return Vec::new();
        };
        let mut changes: Vec<Change<T>> = page.items.into_iter().map(|item| listing.take(item)).collect();
        listing.next = page.next;
        if listing.next.is_none() {
            let present = mem::take(&mut listing.present);
            changes.push(self.listed(present, page.version));
        }
        changes
    }

    /// Takes the version of the server's state: a lower one than ours means another history, so a fresh list.
    pub(super) fn version(&mut self, current: &ResourceVersion) -> History {
        if self.is_behind(current) {
            self.phase = Phase::default();
            History::Another
        } else {
            self.phase = Phase::Live;
            History::Same
        }
    }

    /// A watch goes on from our version: the server has the history that the store shows.
    pub(super) fn settle(&mut self) {
        if matches!(self.phase, Phase::Live) {
            self.doubtful = false;
        }
    }

    /// Ends an attempt that took `lasted`, and says how long to wait before the next. `chance` is between 0 and 1.
    pub(super) fn ended(&mut self, ending: &Ending, lasted: Duration, chance: f64) -> Duration {
        let silent = !mem::take(&mut self.heard);
        if self.method == Method::Stream && matches!(self.phase, Phase::Listing(_)) && ending.refuses_streams(silent) {
            self.method = Method::Pages;
            return Duration::ZERO;
        }
        let end = if ending.forgets_version() {
            self.phase = Phase::default();
            self.doubtful = self.reached.is_some();
            End::Usual
        } else {
            self.interrupted(ending, silent)
        };
        let wait = self.backoff.after(end, lasted, chance);
        wait.max(ending.retry_after().unwrap_or_default())
    }

    fn interrupted(&mut self, ending: &Ending, silent: bool) -> End {
        let end = match ending {
            Ending::Closed => End::Usual,
            Ending::Refused(_) | Ending::Cut(_) | Ending::Broken(_) => End::Failure,
        };
        // A broken stream takes the rest of its list with it. Pages go on where they were, unless the server does not want to.
        let list_is_lost = self.method == Method::Stream || !ending.is_transient();
        match self.phase {
            Phase::Listing(_) if list_is_lost => self.phase = Phase::default(),
            Phase::Live if silent || end == End::Failure => self.phase = Phase::Doubt,
            Phase::Listing(_) | Phase::Live | Phase::Doubt => {}
        }
        self.doubtful |= end == End::Failure && self.reached.is_some();
        end
    }

    fn listed<T>(&mut self, present: HashSet<ObjectKey>, version: ResourceVersion) -> Change<T> {
        let history = if self.is_behind(&version) {
            History::Another
        } else {
            History::Same
        };
        self.reached = Some(version.clone());
        self.phase = Phase::Live;
        self.doubtful = false;
        Change::Listed {
            present,
            version,
            history,
        }
    }

    fn reach(&mut self, version: &ResourceVersion) {
        if !self.is_behind(version) {
            self.reached = Some(version.clone());
        }
    }

    fn is_behind(&self, version: &ResourceVersion) -> bool {
        self.reached.as_ref().and_then(|reached| version.compare(reached)) == Some(Ordering::Less)
    }
}

impl Default for Phase {
    fn default() -> Self {
        Self::Listing(Listing::default())
    }
}

impl Listing {
    fn take<T: Object>(&mut self, item: Item<T>) -> Change<T> {
        self.present.insert(item.key().clone());
        change(item, Source::List)
    }
}

fn change<T>(item: Item<T>, source: Source) -> Change<T> {
    match item {
        Item::Readable(object) => Change::Present(object, source),
        Item::Unreadable(identity, error) => Change::Unreadable(identity, source, error),
    }
}
